"""White space that a tokenizer ignores, and that it does not."""

import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import normalizers

from tests.text.test_tokenizer import KINDS, TOKENIZERS
from transformer_core.text.foreign import ROLES, ForeignTokenizer
from transformer_core.text.interface import Tokenizer
from transformer_core.text.tokenizer import OwnTokenizer, TokenizerKind
from transformer_core.text.white_space import is_ignored

TEXTS = ("a  b", "a\tb", "a\n\nb", " a", "a ", "\n", "   ", "\u00a0", "\r\n", "a\u2003b", "a\v")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", KINDS)
def test_words_ignore_it_and_bytes_and_characters_do_not(kind: TokenizerKind, text: str):
    tokenizer = TOKENIZERS[kind]
    assert is_ignored(tokenizer, text) == is_ignored(tokenizer, ("a", text)) == (kind == "word")
    assert not is_ignored(tokenizer, "a b") and not is_ignored(tokenizer, "")
    assert tokenizer.decode(tokenizer.encode(text)) == text or kind != "byte_bpe"


def some_is_ignored(replaced: str, by: str) -> Tokenizer:
    """A byte-level tokenizer that reads one kind of white space as something else."""
    own = TOKENIZERS["byte_bpe"]
    assert isinstance(own, OwnTokenizer)
    backend = Backend.from_str(own._backend.to_str())
    backend.normalizer = normalizers.Replace(replaced, by)
    return ForeignTokenizer(backend, dict.fromkeys(ROLES))


def test_a_tokenizer_may_ignore_some_of_it() -> None:
    for replaced, by, ignored, kept in (
        ("\n", " ", ("a\nb", "x  a\nb", "\n"), ("a  b", "a\tb", " a")),
        ("\t", " ", ("\ta", "a\tb"), ("a\nb", "a  b")),
        ("\u200b", "", ("a\u200bb",), ("a  b", "a ")),
    ):
        tokenizer = some_is_ignored(replaced, by)
        assert all(is_ignored(tokenizer, text) for text in ignored)
        assert not any(is_ignored(tokenizer, text) for text in kept)
