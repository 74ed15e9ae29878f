"""Each architecture gets the batches that it learns from, or a sentence that says which corpus it needs."""

from pathlib import Path
from typing import Any, get_args

import pytest

from transformer_core.config import Architecture
from transformer_core.corpora.batching import (
    Batches,
    MaskedBatches,
    NextTokenBatches,
    PairBatches,
    batches_for,
    refuse_stride,
)
from transformer_core.corpora.corpus import Pair, Text
from transformer_core.corpora.reading import CorpusReading
from transformer_core.corpora.storage.files import open_corpus
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import Tokenizer, train_tokenizer

TEXTS = [Text(text) for text in ("a b", "b c a", "c")]
PAIRS = [Pair("a", "b"), Pair("b c", "a")]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(["a b c"], kind="word", mask=True)


def get(items: list[Text] | list[Pair], tokenizer: Tokenizer, architecture: Architecture) -> Batches:
    return batches_for(items, tokenizer, architecture, max_seq_len=8, batch_size=2, seed=0)


def test_each_architecture_has_its_own(tokenizer: Tokenizer):
    assert type(get(PAIRS, tokenizer, "encoder_decoder")) is PairBatches
    assert type(get(TEXTS, tokenizer, "decoder_only")) is NextTokenBatches
    assert type(get(TEXTS, tokenizer, "encoder_only")) is MaskedBatches


def test_a_stride_is_at_most_as_long_as_a_window(tmp_path: Path):
    (tmp_path / "one.txt").write_text("A running text. " * 100)
    running = open_corpus(tmp_path / "one.txt", CorpusReading(division="stream")).train
    for stride in (None, 1, 8):
        refuse_stride(stride, running, max_seq_len=8)
    with pytest.raises(CorpusError, match=r"stride \(9\) must be at most max_seq_len \(8\)"):
        refuse_stride(9, running, max_seq_len=8)
    with pytest.raises(CorpusError, match="stride only applies to windows"):
        refuse_stride(8, TEXTS, max_seq_len=8)


@pytest.mark.parametrize(
    ("items", "architecture", "message"),
    [
        (PAIRS, "decoder_only", r"consists of pairs, but a decoder .* choose an encoder-decoder"),
        (PAIRS, "encoder_only", r"consists of pairs, but a decoder or an encoder .* text file"),
        (TEXTS, "encoder_decoder", r"consists of texts, .* choose a decoder or an encoder.*a \.tsv file"),
        *(([], architecture, "at least one pair or text") for architecture in get_args(Architecture)),
    ],
)
def test_what_a_model_cannot_learn_from(tokenizer: Tokenizer, items: Any, architecture: Architecture, message: str):
    with pytest.raises(CorpusError, match=message):
        get(items, tokenizer, architecture)
