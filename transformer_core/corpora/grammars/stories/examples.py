"""Beginnings to type, and texts with gaps."""

import re

EXAMPLES = (
    "One sunny morning, Mia took her red ball to the park.",
    "It was dark, and Tom could not sleep. Then he heard a soft scratching in the attic.",
    "Leo had left the gate open, and in the morning his aunt's white goat was gone.",
    "One windy morning, Nora took her yellow kite to the meadow.",
    "Once there was a boy named Ben who lived by the sea.",
    "One evening Ida put six pears on the windowsill, but in the morning",
)

# Sentences such as the tales have; the words in brackets are the ones that the rest determines.
TEXTS_WITH_GAPS = (
    "One fine day, Mia took her red ball to the park. At home she noticed that the [ball] was gone.",
    "Every evening Rosa sat in her room and knitted a pair of red mittens. On the morning of the birthday, she gave "
    "the [mittens] to [her] uncle.",
    "Leo was walking by the river when he found a white cat between the rocks. The [cat] followed him all the way "
    "home, and his aunt let it stay.",
    "Tom had a wooden whistle, but he was tired of it. At the market he met Nora, who had a red kite. "
    '"Shall we swap?" Tom asked, and she gave him the [kite].',
    "One day Ella was bringing a fresh cake to her grandfather. "
    '"You came all this way in the snow!" cried her grandfather when she gave him the [cake].',
    "Mia took her red ball to the park. But when her friends called, she ran to them and left the [ball] behind the "
    "fence.",
)
FILL_IN_EXAMPLES = tuple(re.sub(r"\[\w+\]", "____", text) for text in TEXTS_WITH_GAPS)
