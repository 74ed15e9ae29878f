"""GPT-2's real tokenizer, against transformers and its published ids."""

import re
from pathlib import Path

import pytest

from tests.text.hub_folders import theirs
from transformer_core.errors import TextError
from transformer_core.text.interface import Tokenizer
from transformer_core.text.load import load_foreign
from transformer_core.text.words import word_labels, word_places


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "tokenizers" / "gpt2"


@pytest.fixture(scope="module")
def gpt2(folder: Path) -> Tokenizer:
    return load_foreign(folder)


def test_ids_are_those_of_transformers_and_labels_show_every_character(gpt2: Tokenizer, folder: Path):
    text = "The café’s naïve cat 👩‍🚒 said:\n\t“日本語 שלום”  <|endoftext|> 🇫🇷 e\u0301"
    assert gpt2.encode_for(text, "decoder_only") == theirs(folder)(text)["input_ids"]
    assert gpt2.vocab_size == 50257
    labels = gpt2.labels_for(text, "decoder_only")
    assert labels[:6] == ["The", "·café", "’ 1/2", "’ 2/2", "s", "·naïve"]
    assert "<|endoftext|>" in labels and "↵" in labels and "⇥" in labels
    assert "<" not in re.sub(r"<\|endoftext\|>", "", "".join(labels))


def test_pieces_are_grouped_to_words(gpt2: Tokenizer):
    ids = gpt2.encode("I didn't find it unbelievable: naïveté.<|endoftext|>", bos=True)
    assert {"·didn", "'t", "·na", "ï"} < {*gpt2.labels(ids)}
    words = ("<|endoftext|>", "I", "didn't", "find", "it", "unbelievable", ":", "naïveté", ".", "<|endoftext|>")
    assert word_labels(gpt2.labels(ids), word_places(gpt2, ids)) == words


def test_every_token_can_be_typed_as_its_label_shows_it_or_in_its_place(gpt2: Tokenizer):
    (spaced,), (bare,) = gpt2.encode(" Paul"), gpt2.encode("Paul")
    assert gpt2.labels([spaced]) == ["·Paul"] and gpt2.token_of("·Paul", instead_of=bare) == spaced
    assert [gpt2.token_of("Paul", instead_of=each) for each in (bare, spaced)] == [bare, spaced]
    assert [[gpt2.token_of(sign)] for sign in "↵⇥·"] == [gpt2.encode(space) for space in ("\n", "\t", " ")]
    assert len(gpt2.encode(" ://")) > 1  # there is only the one without a space
    assert [gpt2.token_of("://", instead_of=spaced)] == gpt2.encode("://")
    with pytest.raises(TextError, match="“·Paulus” has 2 tokens"):
        gpt2.token_of("·Paulus")
