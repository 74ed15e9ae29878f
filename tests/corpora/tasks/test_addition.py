"""The corpus of sums."""

from collections.abc import Callable

import pytest

from transformer_core.corpora import Corpus
from transformer_core.corpora.tasks.addition import add


def sum_of(source: str) -> int:
    return sum(map(int, source.split("+")))


def test_every_sum_is_right(sample: Callable[[str], Corpus]) -> None:
    for pair in sample("addition").held_out:
        assert int(pair.target) == sum_of(pair.source)
        assert all(str(int(number)) == number and len(number) <= 4 for number in pair.source.split("+"))


def test_no_sum_is_held_out_that_is_trained_on_the_other_way_round(sample: Callable[[str], Corpus]) -> None:
    train, held_out = (
        {frozenset(pair.source.split("+")) for pair in part}
        for part in (sample("addition").train, sample("addition").held_out)
    )
    assert not train & held_out


def test_numbers_of_all_lengths_and_long_carries_are_frequent(sample: Callable[[str], Corpus]) -> None:
    pairs = sample("addition").train
    lengths = {tuple(map(len, pair.source.split("+"))) for pair in pairs}
    assert lengths == {(i, j) for i in range(1, 5) for j in range(1, 5)}
    depends_on = [max(map(len, pair.alignment)) for pair in pairs]
    assert 0.1 < sum(n > 4 for n in depends_on) / len(pairs) < 0.35  # two columns and more send their carry


@pytest.mark.parametrize(
    ("first", "second", "alignment"),
    [
        (473, 58, ((0, 1, 4), (1, 2, 4, 5), (2, 5))),  # 531: 7 + 5 carries anyway
        (999, 1, ((0, 1, 2, 4), (0, 1, 2, 4), (1, 2, 4), (2, 4))),  # 1000
        (12, 34, ((0, 3), (1, 4))),  # 46
        (7, 8, ((0, 2), (0, 2))),  # 15
        (0, 0, ((0, 2),)),
        (45, 55, ((0, 1, 3, 4), (0, 1, 3, 4), (1, 4))),  # 100: 4 + 5 carries only because 5 + 5 does
        (55, 55, ((0, 3), (0, 1, 3, 4), (1, 4))),  # 110: 5 + 5 carries anyway
        (9007, 3, ((0,), (1,), (2, 3, 5), (3, 5))),  # 9010
    ],
)
def test_the_alignment_by_hand(first: int, second: int, alignment: tuple[tuple[int, ...], ...]) -> None:
    pair = add(first, second)
    assert (pair.source, pair.target) == (f"{first}+{second}", str(first + second))
    assert pair.alignment == alignment
