"""Batches of texts with labels: each row as it is by hand, and every row once an epoch."""

from collections import Counter

import pytest
import torch

from transformer_core.config import Architecture
from transformer_core.corpora.batch_order import IGNORED
from transformer_core.corpora.batching import batches_for
from transformer_core.corpora.corpus import Labelled
from transformer_core.corpora.labelled_batches import LabelledBatches, Row
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import word_tokenizer

TOKENIZER = word_tokenizer(["a", "b", "1/2", "yes"])
PAD, BOS, EOS, A, B, HALF, YES = 0, 1, 2, 4, 5, 6, 7
TEXTS = [
    Labelled("a b", labels=("1/2", "yes")),
    Labelled("b", labels=("a",)),
    Labelled("b b a", labels=("a", "b", "a")),
]
DECODED = {
    ((BOS, A, B), (IGNORED, HALF, YES)),
    ((BOS, B), (IGNORED, A)),
    ((BOS, B, B, A), (IGNORED, A, B, A)),
}


def rows(batches: LabelledBatches) -> Counter[Row]:
    """The rows of an epoch without padding, and how often each came."""
    actual = Counter[Row]()
    for _ in range(batches.batches_per_epoch):
        (tokens,), targets, _ = next(batches)
        assert tokens.dtype == targets.dtype == torch.int64
        assert (tokens != PAD).any(dim=0).all(), "a batch is as long as its longest text"
        for row, wanted in zip(tokens, targets, strict=True):
            is_text = row != PAD
            assert (wanted[~is_text] == IGNORED).all()
            actual[tuple(row[is_text].tolist()), tuple(wanted[is_text].tolist())] += 1
    return actual


@pytest.mark.parametrize("architecture", ["decoder_only", "encoder_only"])
@pytest.mark.parametrize("batch_size", [1, 2, 3])
def test_each_epoch_has_every_row_once(architecture: Architecture, batch_size: int):
    batches = batches_for(TEXTS, TOKENIZER, architecture, max_seq_len=5, batch_size=batch_size, seed=0)
    assert isinstance(batches, LabelledBatches)
    expected = {
        ((*tokens, EOS), (*targets, IGNORED)) if architecture == "encoder_only" else (tokens, targets)
        for tokens, targets in DECODED
    }
    for _ in range(2):
        assert rows(batches) == dict.fromkeys(expected, 1)


def test_what_does_not_fit_is_said():
    with pytest.raises(CorpusError, match=r"the longest input has 5 tokens.*set max_seq_len=5"):
        batches_for(TEXTS, TOKENIZER, "encoder_only", max_seq_len=4, batch_size=2, seed=0)
    with pytest.raises(CorpusError, match="one token for each of its labels"):
        batches_for([Labelled("a b", labels=("a",))], TOKENIZER, "decoder_only", max_seq_len=9, batch_size=2, seed=0)
    with pytest.raises(CorpusError, match="needs pairs"):
        batches_for(TEXTS, TOKENIZER, "encoder_decoder", max_seq_len=9, batch_size=2, seed=0)
