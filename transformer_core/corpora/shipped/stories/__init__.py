"""Short stories from a grammar: with characters, places, things, cause and consequence.

world.py reads the words from words.txt and the possible events from deeds.txt; wording.py defines the notation for
wordings. reading.py, with references.py, judges the stories that a model writes.
`grammars.stories` plans and tells stories.
"""

import re

from transformer_core.corpora.corpus import Corpus, Text
from transformer_core.corpora.generated import GeneratedCorpus
from transformer_core.corpora.shipped.items import shipped
from transformer_core.corpora.shipped.stories.wording import sentences
from transformer_core.errors import Message

EXAMPLES = (
    "One sunny morning, Mia took her red ball to the park.",
    "It was dark, and Tom could not sleep. Then he heard a soft scratching in the attic.",
    "Leo had left the gate open, and in the morning his aunt's white goat was gone.",
    "One windy morning, Nora took her yellow kite to the meadow.",
    "Once there was a boy named Ben who lived by the sea.",
    "One evening Ida put six pears on the windowsill, but in the morning",
)

# Sentences as in the stories; the words in brackets are determined by the rest.
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


def opening(text: Text) -> str:
    """Return the first sentence of a story, which a model is to continue."""
    return sentences(text.text)[0]


def coherent(text: Text, output: str) -> bool:
    """Return True if the opening of a story and the output of a model are coherent; see `reading.faults`."""
    from transformer_core.corpora.shipped.stories.reading import faults  # slow to import: it reads all words and deeds

    return not faults(_joined(text, output))


def grammatical(text: Text, output: str) -> bool:
    """Return True if the grammar can produce each sentence of the output, whether or not the story makes sense."""
    from transformer_core.corpora.shipped.stories.reading import is_grammatical

    return is_grammatical(_joined(text, output))


def _joined(text: Text, output: str) -> str:
    return f"{opening(text)} {output.strip()}"


stories = GeneratedCorpus(
    about=Corpus(
        name="stories",
        title="Stories",
        description=Message(
            "Short stories generated from a grammar: someone loses, breaks, finds, lends or guesses something."
        ),
        examples=EXAMPLES,
        fill_in_examples=FILL_IN_EXAMPLES,
        tokenizer_kind="byte_bpe",
        vocab_size=1_000,  # enough for most words to be one token
        text_measures={"coherent": coherent, "grammatical": grammatical},
        prompt_of=opening,
    ),
    draw=shipped("stories"),
)
