"""Beginnings to type, and tales with gaps."""

import re

EXAMPLES = (
    "One sunny morning, Mia took her red ball to the park.",
    "It was dark, and Tom could not sleep. Then he heard a soft scratching in the attic.",
    "Leo had left the gate open, and in the morning his aunt's white goat was gone.",
    "One windy morning, Nora took her yellow kite to the meadow.",
    "Once there was a boy named Ben who lived by the sea.",
    "One evening Ida put six pears on the windowsill, but in the morning",
)

# Whole tales; the words in brackets are the ones that the rest of the tale determines.
TALES_WITH_GAPS = (
    "One fine day, Mia took her red ball to the park. But when her friends called, she ran to them and left the ball "
    "behind the fence. Only at home did she notice that the [ball] was gone. Then Mia remembered the [fence]. She "
    "hurried back to the park and found it behind the fence.",
    "Leo was walking by the river when he found a white cat between the rocks. He ran home and came back with a little "
    "fish. Leo put the [fish] on the ground, and the cat ate everything. The cat followed [him] all the way home, and "
    "his aunt let it stay.",
    "Tom had a wooden whistle, but he was tired of it. At the market he met his friend Nora, who had a red kite. And "
    'she had always wanted a [whistle]. "Shall we swap?" Tom asked, and she nodded. Tom gave her the whistle, and she '
    "gave him the [kite].",
    "It was dark, and Ida could not sleep. Then she heard a soft scratching in the attic. She was sure that it was a "
    "bear. At last she lit a lantern and went up to the [attic], step by step. There was no [bear] at all, for behind "
    "an old box sat a grey mouse.",
    "One evening Sam put six pears on a low shelf, but in the morning only three were left. Sam was sure that his "
    "sister Anna had eaten them. But [she] had not done it and said that they should wait for the thief. That night "
    "Sam and [Anna] hid behind the door and waited.",
    "Rosa's uncle always had cold hands, and that made her think. Soon it was his birthday, but Rosa had no money for "
    "a present. Every evening she sat in her room and knitted a pair of red mittens. On the morning of the birthday, "
    "she gave the [mittens] to [her] uncle.",
)
FILL_IN_EXAMPLES = tuple(re.sub(r"\[\w+\]", "____", tale) for tale in TALES_WITH_GAPS)
