"""The losses of plain guesses: against counting in dictionaries, and against the targets that a model has."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headlight.corpora import analysis as module
from headlight.corpora.analysis import Targets, baselines
from transformer_core.corpora.storage.token_store import TokenStore
from transformer_core.errors import CorpusError

VOCAB_SIZE = 9
rows = st.lists(st.integers(0, VOCAB_SIZE - 1), min_size=2, max_size=8)
texts = st.lists(st.tuples(rows, st.booleans()), min_size=1, max_size=9)

Steps = list[tuple[int, int]]


def store_of(texts: Sequence[Sequence[int]]) -> TokenStore:
    starts = np.cumsum([0, *map(len, texts)])
    return TokenStore(np.array([token for text in texts for token in text], np.uint16), starts)


def steps_by_hand(texts: list[tuple[list[int], bool]], n_given: int) -> Steps:
    """Each target beside the token in front of it."""
    return [
        (row[place - 1], row[place]) for row, is_target in texts if is_target for place in range(1, len(row) - n_given)
    ]


def losses_by_hand(train: Steps, held_out: Steps, vocab_size: int) -> tuple[float, float]:
    n_of = Counter(target for _, target in train)
    n_after: dict[int, Counter[int]] = defaultdict(Counter)
    for before, target in train:
        n_after[before][target] += 1

    def unigram(target: int) -> float:
        return (n_of[target] + 1) / (len(train) + vocab_size)

    def bigram(before: int, target: int) -> float:
        after = n_after[before]
        if not after:
            return unigram(target)
        return (after[target] + len(after) * unigram(target)) / (after.total() + len(after))

    for before in range(vocab_size):
        assert sum(bigram(before, target) for target in range(vocab_size)) == pytest.approx(1)
    return (
        -sum(math.log(unigram(target)) for _, target in held_out) / len(held_out),
        -sum(math.log(bigram(*step)) for step in held_out) / len(held_out),
    )


@given(texts, texts, st.integers(0, 1), st.integers(1, 7))
@settings(max_examples=40)
def test_the_losses_are_those_of_counting_by_hand(
    train: list[tuple[list[int], bool]], held_out: list[tuple[list[int], bool]], n_given: int, together: int
):
    parts = [
        Targets(store_of([row for row, _ in part]), np.array([is_target for _, is_target in part]), n_given=n_given)
        for part in (train, held_out)
    ]
    counted, judged = (steps_by_hand(part, n_given) for part in (train, held_out))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TOGETHER", together)
        if not counted or not judged:
            with pytest.raises(CorpusError, match="add more text"):
                baselines(*parts, vocab_size=VOCAB_SIZE)
            return
        losses = baselines(*parts, vocab_size=VOCAB_SIZE)
    assert (losses.unigram_loss, losses.bigram_loss) == pytest.approx(losses_by_hand(counted, judged, VOCAB_SIZE))
    assert (losses.n_counted, losses.n_judged) == (len(counted), len(judged))


def test_of_very_many_some_blocks_are_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_TOGETHER", 10)
    monkeypatch.setattr(module, "_MOST_COUNTED", 100)
    monkeypatch.setattr(module, "_MOST_JUDGED", 50)
    part = Targets(store_of([[*range(2, 9)] * 100]), np.array([True]), n_given=0)
    losses = baselines(part, part, vocab_size=9)
    assert 50 < losses.n_counted <= 100 and 20 < losses.n_judged <= 50
    assert losses.bigram_loss < 0.2 < 1.9 < losses.unigram_loss  # seven tokens in turn: log 7 is 1.95
