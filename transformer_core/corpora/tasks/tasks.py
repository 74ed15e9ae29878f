"""The simplest sequence tasks: copy the letters, reverse them, sort them.

Each letter of the output is one letter of the input, so it is known in advance where attention should be: `copy` along
the diagonal, `reverse` along the anti-diagonal, `sort` at the position of the letter.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.corpora.generated import GeneratedCorpus, draw_distinct
from transformer_core.errors import Message

LETTERS = "abcdefghijklmnop"
MIN_LETTERS, MAX_LETTERS = 3, 12  # of one sequence
N_TRAIN, N_HELD_OUT = 20_000, 1_000  # pairs


def _as_given(letters: str) -> Sequence[int]:
    return range(len(letters))


def _backwards(letters: str) -> Sequence[int]:
    return range(len(letters))[::-1]


def _by_alphabet(letters: str) -> Sequence[int]:
    """Equal letters keep their order; the alignment has the letter itself, not those that it was compared with."""
    return sorted(range(len(letters)), key=letters.__getitem__)  # stable


ORDERS: Mapping[str, Callable[[str], Sequence[int]]] = MappingProxyType(
    {"copy": _as_given, "reverse": _backwards, "sort": _by_alphabet}
)
"""By task: the positions of the source in the order of the target."""


def pair_of(task: str, letters: str) -> Pair:
    """Return any letters with the output of a task.

    Args:
        task: a name in `ORDERS`.
        letters: the source.
    """
    places = ORDERS[task](letters)
    return Pair(letters, "".join(letters[i] for i in places), tuple((i,) for i in places))


def _pairs(task: str, seed: int) -> tuple[list[Pair], list[Pair]]:
    rng = random.Random(seed)

    def draw() -> str:
        return "".join(rng.choices(LETTERS, k=rng.randint(MIN_LETTERS, MAX_LETTERS)))

    pairs = [pair_of(task, source) for source in draw_distinct(draw, N_TRAIN + N_HELD_OUT, key=str)]
    return pairs[N_HELD_OUT:], pairs[:N_HELD_OUT]


def _task(name: str, description: Message) -> GeneratedCorpus:
    return GeneratedCorpus(
        about=Corpus(
            name=name,
            title=name.capitalize(),
            description=description,
            examples=("dacb", "cabbage", "abababab", "mnop", "abcdefghijkl"),
            tokenizer_kind="character",  # the word kind adds a capital letter
        ),
        draw=partial(_pairs, name),
    )


copy = _task("copy", Message("Copy a sequence of letters."))
reverse = _task("reverse", Message("Reverse a sequence of letters."))
sort = _task("sort", Message("Sort a sequence of letters alphabetically."))
