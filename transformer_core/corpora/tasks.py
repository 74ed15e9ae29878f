"""The simplest sequence tasks: repeat the letters, turn them round, put them into order.

Each letter of the output is one letter of the input, so it is known beforehand where attention ought to look: `copy`
along the diagonal, `reverse` along the anti-diagonal, `sort` wherever the letter stands.
"""

import random
from collections.abc import Callable, Sequence

from transformer_core.corpora.corpus import Corpus, Pair
from transformer_core.corpora.draws import draw_distinct

LETTERS = "abcdefghijklmnop"
MIN_LETTERS, MAX_LETTERS = 3, 12  # of one sequence
N_TRAIN, N_HELD_OUT = 20_000, 1_000  # pairs


def copy(*, seed: int = 0) -> Corpus:
    """Letters that come out as they went in: "dacb" gives "dacb"."""
    return _corpus("copy", "Letters that come out in the order in which they went in.", seed, _as_given)


def reverse(*, seed: int = 0) -> Corpus:
    """Letters that come out in the opposite order: "dacb" gives "bcad"."""
    return _corpus("reverse", "Letters that come out in the opposite order.", seed, _backwards)


def sort(*, seed: int = 0) -> Corpus:
    """Letters that come out in the order of the alphabet: "dacb" gives "abcd".

    Equal letters keep their order: the first "a" that comes out is the first "a" that went in. The alignment names the
    letter itself, not those that it was compared with.
    """
    return _corpus("sort", "Letters that come out in the order of the alphabet.", seed, _by_alphabet)


def _as_given(letters: str) -> Sequence[int]:
    return range(len(letters))


def _backwards(letters: str) -> Sequence[int]:
    return range(len(letters))[::-1]


def _by_alphabet(letters: str) -> Sequence[int]:
    return sorted(range(len(letters)), key=letters.__getitem__)  # stable


def _corpus(name: str, description: str, seed: int, order: Callable[[str], Sequence[int]]) -> Corpus:
    """Make a corpus of letters; `order` gives the places of a source in the order in which they come out."""
    rng = random.Random(seed)

    def draw() -> str:
        return "".join(rng.choices(LETTERS, k=rng.randint(MIN_LETTERS, MAX_LETTERS)))

    pairs = []
    for source in draw_distinct(draw, N_TRAIN + N_HELD_OUT, key=str):
        places = order(source)
        pairs.append(Pair(source, "".join(source[i] for i in places), tuple((i,) for i in places)))
    return Corpus(
        name=name,
        title=name.capitalize(),
        description=description,
        train=tuple(pairs[N_HELD_OUT:]),
        held_out=tuple(pairs[:N_HELD_OUT]),
        examples=("dacb", "cabbage", "abababab", "mnop", "abcdefghijkl"),
        tokenizer_kind="character",  # the word kind writes a capital in front, which is not in the task
    )
