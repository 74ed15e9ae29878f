"""The tokenizer of a corpus: what training one gives, made once."""

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.corpora.test_corpus import corpus
from transformer_core.config import Architecture
from transformer_core.corpora import Corpus, Text, prepare
from transformer_core.corpora.corpus import TokenizerKind
from transformer_core.corpora.prepare import tokenizer_of
from transformer_core.text.tokenizer import Tokenizer, train_tokenizer

pytestmark = pytest.mark.usefixtures("cache")

TALES = [f"The {size} fox said “Voilà, {i} eggs!”\nand ran." for i, size in enumerate(["red", "small", "old"] * 4)]


def tales(kind: TokenizerKind, *texts: str) -> Corpus:
    return corpus(
        train=(*map(Text, TALES), *map(Text, texts)), held_out=(Text("No fox."),), tokenizer_kind=kind, vocab_size=300
    )


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """Trains tokenizers, and counts how often."""
    train = Mock(wraps=train_tokenizer)
    monkeypatch.setattr(prepare, "train_tokenizer", train)
    return train


def saved(tokenizer: Tokenizer, folder: Path) -> str:
    tokenizer.save(folder / "tokenizer.json")
    return (folder / "tokenizer.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "architecture"),
    [("word", "encoder_decoder"), ("character", "decoder_only"), ("byte_bpe", "encoder_only")],
)
def test_the_kept_one_is_the_one_that_was_trained(
    tmp_path: Path, trained: Mock, kind: TokenizerKind, architecture: Architecture
):
    is_encoder = architecture == "encoder_only"
    expected = train_tokenizer(TALES, kind=kind, vocab_size=300, mask=is_encoder)
    for _ in range(3):
        tokenizer = tokenizer_of(tales(kind), architecture)
        assert saved(tokenizer, tmp_path) == saved(expected, tmp_path)
        assert tokenizer.kind == kind and (tokenizer.mask_id is None) != is_encoder
    assert trained.call_count == 1


def test_what_it_depends_on_tells_them_apart(trained: Mock, monkeypatch: pytest.MonkeyPatch):
    first = tales("byte_bpe")
    for other in (
        first,
        replace(first, tokenizer_kind="word"),
        replace(first, vocab_size=280),
        tales("byte_bpe", "One more."),
    ):
        for architecture in ("decoder_only", "encoder_only"):
            tokenizer_of(other, architecture)
    assert trained.call_count == 8
    tokenizer_of(first, "encoder_decoder")  # as for a decoder
    assert trained.call_count == 8
    monkeypatch.setattr(prepare, "CODE_OF_TEXT", "0" * 64)
    tokenizer_of(first, "decoder_only")
    monkeypatch.setattr(prepare, "version", lambda package: "99.0")
    tokenizer_of(first, "decoder_only")
    assert trained.call_count == 10
