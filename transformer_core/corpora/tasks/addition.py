"""Adding two numbers, digit by digit: "473+58" gives "531"."""

import random

from transformer_core.corpora.corpus import Alignment, Corpus, Pair
from transformer_core.corpora.generated import GeneratedCorpus, draw_distinct
from transformer_core.errors import Message

MAX_DIGITS = 4  # of each of the two numbers
N_TRAIN, N_HELD_OUT = 40_000, 2_000  # pairs
LONG_CARRIES = 0.2  # share of sums drawn with a long carry, which is rare by chance


def add(first: int, second: int) -> Pair:
    """Return the sum of two numbers as a pair; see `align_sum` for its alignment."""
    source, target = f"{first}+{second}", str(first + second)
    return Pair(source, target, align_sum(source, target))


def align_sum(source: str, target: str) -> Alignment:
    """Return, for each digit of a sum, the digits of the two numbers that it truly depends on.

    Those are the one or two digits of the same column, and those of each column to the right that contributes a carry:
    the next one if it carries, the one after if that carry came from there, and so on. A column whose digits alone make
    10 or more carries in any case, and ends the chain. That a column does *not* carry is not counted.

    Args:
        source: two numbers with "+" between them.
        target: their sum.
    """
    plus = source.index("+")
    sources: list[tuple[int, ...]] = []
    came_from: list[int] = []  # the digits that cause the carry into a column; empty: no carry
    for column in range(len(target)):  # from the right
        first, second = plus - 1 - column, len(source) - 1 - column
        own = [place for place, begin in ((first, 0), (second, plus + 1)) if place >= begin]
        sources.append(tuple(sorted(own + came_from)))
        total = sum(int(source[place]) for place in own)
        carries = total + bool(came_from) >= 10
        came_from = [] if not carries else own if total >= 10 else own + came_from
    return tuple(reversed(sources))


def _draw(seed: int) -> tuple[list[Pair], list[Pair]]:
    """Draw sums of two numbers of 1 to 4 digits, only one of "12+7" and "7+12"."""
    rng = random.Random(seed)
    drawn = draw_distinct(lambda: _draw_numbers(rng), N_TRAIN + N_HELD_OUT, key=lambda numbers: tuple(sorted(numbers)))
    rng.shuffle(drawn)  # small numbers come first, but belong in both parts
    pairs = [add(first, second) for first, second in drawn]
    return pairs[N_HELD_OUT:], pairs[:N_HELD_OUT]


def _draw_numbers(rng: random.Random) -> tuple[int, int]:
    """Draw two numbers; each number of digits is equally likely."""
    first = _number(rng, MAX_DIGITS)
    if rng.random() >= LONG_CARRIES:
        return first, _number(rng, MAX_DIGITS)
    n_columns = rng.randint(1, MAX_DIGITS)  # the carry begins in the lowest and runs through the others
    unit = 10**n_columns
    return first, unit * _number(rng, MAX_DIGITS - n_columns) + (rng.randrange(10) - first) % unit


def _number(rng: random.Random, max_digits: int) -> int:
    """Draw a number of at most `max_digits` digits; of none: 0."""
    n_digits = rng.randint(min(1, max_digits), max_digits)
    return rng.randrange(10 ** (n_digits - 1) if n_digits > 1 else 0, 10**n_digits)


addition = GeneratedCorpus(
    about=Corpus(
        name="addition",
        title="Addition",
        description=Message("Add two numbers of up to four digits, digit by digit."),
        examples=("473+58", "999+1", "12+34", "1234+5678", "7+8", "4505+495"),
        tokenizer_kind="character",
    ),
    draw=_draw,
)
