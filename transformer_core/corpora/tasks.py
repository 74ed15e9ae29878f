"""The simplest sequence tasks: repeat the letters, or turn them round.

Each letter of the output depends on one letter of the input, so it is known beforehand where attention ought to look:
`copy` along the diagonal, `reverse` along the anti-diagonal.
"""

import random
from collections.abc import Callable

from transformer_core.corpora.corpus import Corpus, Pair

LETTERS = "abcdefghijklmnop"
MIN_LETTERS, MAX_LETTERS = 3, 12  # of one sequence
N_TRAIN, N_HELD_OUT = 20_000, 1_000  # pairs


def copy(*, seed: int = 0) -> Corpus:
    """Letters that come out as they went in: "dacb" gives "dacb"."""
    return _corpus("copy", "Letters that come out in the order in which they went in.", lambda text: text, seed)


def reverse(*, seed: int = 0) -> Corpus:
    """Letters that come out in the opposite order: "dacb" gives "bcad"."""
    return _corpus("reverse", "Letters that come out in the opposite order.", lambda text: text[::-1], seed)


def _corpus(name: str, description: str, rule: Callable[[str], str], seed: int) -> Corpus:
    rng = random.Random(seed)
    sources: dict[str, None] = {}  # in the order in which they were drawn, each once
    while len(sources) < N_TRAIN + N_HELD_OUT:
        sources["".join(rng.choices(LETTERS, k=rng.randint(MIN_LETTERS, MAX_LETTERS)))] = None
    pairs = tuple(Pair(source, rule(source)) for source in sources)
    return Corpus(
        name=name,
        title=name.capitalize(),
        description=description,
        train=pairs[N_HELD_OUT:],
        held_out=pairs[:N_HELD_OUT],
        examples=("dacb", "cabbage", "abababab", "mnop", "abcdefghijkl"),
        tokenizer_kind="character",  # the word kind writes a capital in front, which is not in the task
    )
