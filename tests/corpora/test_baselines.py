"""The losses of plain guesses: against counting in dictionaries, and against the very targets that a model has."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_core.config import Architecture
from transformer_core.corpora import baselines as module
from transformer_core.corpora.analysis import targets_of
from transformer_core.corpora.baselines import Targets, baselines
from transformer_core.corpora.batch_order import IGNORED
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.corpus import Pair, Text
from transformer_core.corpora.storage.token_store import TokenStore, tokenize
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import Tokenizer, train_tokenizer

VOCAB_SIZE = 9
rows = st.lists(st.integers(0, VOCAB_SIZE - 1), min_size=2, max_size=8)
texts = st.lists(st.tuples(rows, st.booleans()), min_size=1, max_size=9)

Steps = list[tuple[int, int]]


def store_of(texts: Sequence[Sequence[int]]) -> TokenStore:
    starts = np.cumsum([0, *map(len, texts)])
    return TokenStore(np.array([token for text in texts for token in text], np.uint16), starts)


def steps_by_hand(texts: list[tuple[list[int], bool]], n_silent: int) -> Steps:
    """Each target beside the token in front of it."""
    return [
        (row[place - 1], row[place]) for row, is_said in texts if is_said for place in range(1, len(row) - n_silent)
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
    train: list[tuple[list[int], bool]], held_out: list[tuple[list[int], bool]], n_silent: int, together: int
):
    parts = [
        Targets(store_of([row for row, _ in part]), np.array([is_said for _, is_said in part]), n_silent=n_silent)
        for part in (train, held_out)
    ]
    counted, judged = (steps_by_hand(part, n_silent) for part in (train, held_out))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TOGETHER", together)
        if not counted or not judged:
            with pytest.raises(CorpusError, match="add more text"):
                baselines(*parts, vocab_size=VOCAB_SIZE)
            return
        found = baselines(*parts, vocab_size=VOCAB_SIZE)
    assert (found.unigram_loss, found.bigram_loss) == pytest.approx(losses_by_hand(counted, judged, VOCAB_SIZE))
    assert (found.n_counted, found.n_judged) == (len(counted), len(judged))


def test_of_very_many_some_blocks_are_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_TOGETHER", 10)
    monkeypatch.setattr(module, "_MOST_COUNTED", 100)
    monkeypatch.setattr(module, "_MOST_JUDGED", 50)
    part = Targets(store_of([[*range(2, 9)] * 100]), np.array([True]), n_silent=0)
    found = baselines(part, part, vocab_size=9)
    assert 50 < found.n_counted <= 100 and 20 < found.n_judged <= 50
    assert found.bigram_loss < 0.2 < 1.9 < found.unigram_loss  # seven tokens in turn: log 7 is 1.95


WORDS = "the cat sat on a mat and saw the dog on the mat".split()
SENTENCES = [" ".join(WORDS[i % 7 : i % 7 + 2 + i % 5]) + f" {WORDS[i % 13]}" for i in range(60)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(SENTENCES, kind="word", mask=True)


def guesses(items: Sequence[Pair] | Sequence[Text], tokenizer: Tokenizer, architecture: Architecture) -> Steps:
    """The targets that count of one epoch of batches, each beside the input token in front of it."""
    batches = batches_for(items, tokenizer, architecture, max_seq_len=8, batch_size=4, seed=0)
    steps = []
    for _ in range(batches.batches_per_epoch):
        batch = next(batches)
        for row, targets in zip(batch.inputs[-1].tolist(), batch.targets.tolist(), strict=True):
            steps += [(before, target) for before, target in zip(row, targets, strict=True) if target != IGNORED]
    return steps


@pytest.mark.parametrize("architecture", ["encoder_decoder", "decoder_only"])
def test_they_rest_on_the_targets_of_batches(tokenizer: Tokenizer, architecture: Architecture):
    """The loss of evaluate.py is the mean over the same targets, whatever pieces they come in."""
    items: list[Pair] | list[Text] = [Text(text) for text in SENTENCES]
    if architecture == "encoder_decoder":
        items = [Pair(text[::-1], text) for text in SENTENCES]
    parts = items[10:], items[:10]
    train, held_out = (guesses(part, tokenizer, architecture) for part in parts)
    found = baselines(
        *(targets_of(part, tokenize(part, tokenizer), architecture) for part in parts), vocab_size=tokenizer.vocab_size
    )
    assert (found.n_counted, found.n_judged) == (len(train), len(held_out))
    assert (found.unigram_loss, found.bigram_loss) == pytest.approx(
        losses_by_hand(train, held_out, tokenizer.vocab_size)
    )


def test_an_encoder_guesses_the_words_and_not_the_end(tokenizer: Tokenizer):
    parts = [[Text(text) for text in part] for part in (SENTENCES[10:], SENTENCES[:10])]
    targets = [targets_of(part, tokenize(part, tokenizer), "encoder_only") for part in parts]
    found = baselines(*targets, vocab_size=tokenizer.vocab_size)
    counts = [Counter(i for text in part for i in tokenizer.encode(text.text)) for part in parts]
    n = counts[0].total() + tokenizer.vocab_size
    expected = -sum(k * math.log((counts[0][i] + 1) / n) for i, k in counts[1].items()) / counts[1].total()
    assert found.unigram_loss == pytest.approx(expected)
    assert found.n_judged == counts[1].total()
