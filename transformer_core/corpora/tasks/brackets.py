"""Closing brackets: "([]{" gives "})"."""

import random

from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.corpora.generated import GeneratedCorpus, draw_distinct
from transformer_core.errors import Message

CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
MAX_OPEN, MAX_LENGTH = 8, 16  # simultaneously open brackets, characters of a source
N_TRAIN, N_HELD_OUT = 20_000, 1_000  # pairs


def close(source: str) -> Pair:
    """Return open brackets with the closing ones; each closing bracket is aligned with its opening one."""
    still_open: list[int] = []  # places
    for place, bracket in enumerate(source):
        if bracket in CLOSING:
            still_open.append(place)
        else:
            still_open.pop()
    places = still_open[::-1]
    return Pair(source, "".join(CLOSING[source[place]] for place in places), tuple((place,) for place in places))


def _draw(seed: int) -> tuple[list[Pair], list[Pair]]:
    """Draw sequences with open brackets, and the brackets that close them, the last opened first."""
    rng = random.Random(seed)
    sources = draw_distinct(lambda: _draw_source(rng), N_TRAIN + N_HELD_OUT, key=str)
    rng.shuffle(sources)  # short ones come first, but belong in both parts
    pairs = [close(source) for source in sources]
    return pairs[N_HELD_OUT:], pairs[:N_HELD_OUT]


def _draw_source(rng: random.Random) -> str:
    """Draw 1 to 16 brackets of which 1 to 8 are left open."""
    length = rng.randint(1, MAX_LENGTH)
    source, still_open = "", ""
    for place in range(length):
        may_close = len(still_open) > (1 if place == length - 1 else 0)  # one stays open at the end
        if may_close and (len(still_open) == MAX_OPEN or rng.random() < 0.45):
            source, still_open = source + CLOSING[still_open[-1]], still_open[:-1]
        else:
            bracket = rng.choice(tuple(CLOSING))
            source, still_open = source + bracket, still_open + bracket
    return source


brackets = GeneratedCorpus(
    about=Corpus(
        name="brackets",
        title="Brackets",
        description=Message("Close the open brackets in a sequence of four bracket types."),
        examples=("([{<", "([]{", "{<>}(", "<<[()]{", "((((", "[{}](<{}>"),
        tokenizer_kind="character",
    ),
    draw=_draw,
)
