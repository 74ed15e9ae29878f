"""Random words, repeated: the second copy can be predicted from the first.

The first copy is unpredictable. In the second copy, the next word is the one that followed the current word before; a
head that attends there is an induction head (Olsson et al. 2022). The words are random, and the copies begin anywhere
and are of any length, so neither words nor positions alone help.
"""

import random

from transformer_core.corpora.corpus import Alignment, Corpus, Text
from transformer_core.corpora.generated import GeneratedCorpus, draw_distinct
from transformer_core.errors import Message

WORDS = tuple(
    """
    acorn apple arrow basket bee bell berry boat book bread bridge brook button candle castle cat cherry clock cloud
    clover coat cup daisy dog door dove drum duck feather fern fire fish flute forest fox frog garden gate goose hat
    hill horse house ink island kite lake lamp leaf lemon letter lily lion map meadow milk mirror moon moss nest nut oak
    orange owl peach pear pebble piano pond poppy rabbit rain ribbon river robin rose sail salt shell ship sky snow song
    spoon star stone swan table tea tiger tower tree tulip violin wheel willow window
    """.split()
)
MAX_WORDS = 60  # of one text
MAX_AHEAD = 8  # words before the first copy, never repeated
MIN_REPEATED = 4  # words of a copy
N_TRAIN, N_HELD_OUT = 20_000, 1_000  # texts


def align_repetition(words: list[str]) -> Alignment:
    """Return, for each word, the earlier positions that it is copied from.

    The word at position t is copied from a position p before t if p has the same word, and p - 1 has the word at t - 1:
    it is what followed last time. A word of the second copy has one such position, of the third copy two. The first
    occurrence of a word has none, nor has the first word of the second copy, whose begin is unpredictable. To predict
    the word at t, a model at t - 1 attends to the positions of t.

    Args:
        words: of one text, all of one copy different.
    """
    places: dict[str, list[int]] = {}
    alignment: list[tuple[int, ...]] = []
    for place, word in enumerate(words):
        before = words[place - 1] if place else None
        alignment.append(tuple(i for i in places.get(word, ()) if i and words[i - 1] == before))
        places.setdefault(word, []).append(place)
    return tuple(alignment)


def up_to_the_repetition(text: Text) -> str:
    """Return the text through the first two words of the second copy: the rest is predictable."""
    words = text.text.split()
    begin = next(place for place, word in enumerate(words) if word in words[:place])
    return " ".join(words[: begin + 2])


def continued(text: Text, output: str) -> bool:
    """Return True if a continuation of `up_to_the_repetition` matches the second copy to its end."""
    words, known = text.text.split(), len(up_to_the_repetition(text).split())
    begin = known - 2  # of the second copy
    end = 2 * begin - words.index(words[begin])
    expected = words[known:end]
    return output.lower().split()[: len(expected)] == expected


def _draw(seed: int) -> tuple[list[Text], list[Text]]:
    rng = random.Random(seed)
    drawn = draw_distinct(lambda: _draw_text(rng), N_TRAIN + N_HELD_OUT, key=lambda text: text.text)
    return drawn[N_HELD_OUT:], drawn[:N_HELD_OUT]


def _draw_text(rng: random.Random) -> Text:
    """Draw some words, all different; those after the first few are repeated once or twice."""
    n_copies = rng.choice((2, 2, 3))
    n_ahead = rng.randint(0, MAX_AHEAD)
    n_repeated = rng.randint(MIN_REPEATED, (MAX_WORDS - n_ahead) // n_copies)
    drawn = rng.sample(WORDS, n_ahead + n_repeated)
    words = drawn + drawn[n_ahead:] * (n_copies - 1)
    return Text(" ".join(words), align_repetition(words))


induction = GeneratedCorpus(
    about=Corpus(
        name="induction",
        title="Induction",
        description=Message("Random words, repeated: in the second half, each word can be predicted by looking back."),
        examples=(
            "moon basket river owl candle fern moon basket river",
            "fox lamp cherry stone boat lily swan fox lamp cherry",
            "hat bell snow tiger oak song pear drum kite bell snow tiger oak",
            "tea door cloud rose tea door cloud rose tea door",
        ),
        tokenizer_kind="word",
        text_measures={"continued": continued},
        prompt_of=up_to_the_repetition,
    ),
    draw=_draw,
)
