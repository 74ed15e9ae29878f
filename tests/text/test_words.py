"""How the word tokenizer cuts sentences, and writes them again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import normalizers

from tests.text.test_tokenizer import KINDS, TOKENIZERS
from transformer_core.config import TokenizerKind
from transformer_core.text.foreign import ROLES, ForeignTokenizer
from transformer_core.text.interface import Tokenizer
from transformer_core.text.tokenizer import OwnTokenizer, train_tokenizer
from transformer_core.text.words import is_ignored

WORDS = "the didn't l'animal n'a qu'il jusqu'à aujourd'hui s'ils quelqu'un où été c'est".split()
SENTENCES = train_tokenizer([*WORDS, "( ) , : ? . !"], kind="word")
A_WORD = st.tuples(st.sampled_from(WORDS), st.booleans(), st.sampled_from(["", "", "", ",", ":", "?"]))


@given(st.lists(A_WORD, min_size=1), st.sampled_from([".", "!", ""]))
def test_sentences_come_back(words: list[tuple[str, bool, str]], end: str):
    """The spelling that `decode` writes: a capital in front, signs joined to what they follow, elisions to the next."""
    text = " ".join((f"({word})" if in_brackets else word) + sign for word, in_brackets, sign in words) + end
    text = text[0].upper() + text[1:]
    assert SENTENCES.decode(SENTENCES.encode(text, bos=True, eos=True)) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Can't, WON'T", ["can't", ",", "won't"]),
        ("qu'il jusqu'à puisqu'elle", ["qu'", "il", "jusqu'", "à", "puisqu'", "elle"]),
        ("Quelqu'un aujourd'hui", ["quelqu'", "un", "aujourd'hui"]),
        ("L’animal didn’t", ["l'", "animal", "didn't"]),  # curly apostrophes
        ("e\u0301te\u0301", ["été"]),  # decomposed accents
        ("the cat's", ["the", "cat", "'", "s"]),  # English clitics other than n't fall apart
        ("l' animal", ["l", "'", "animal"]),  # no elision without a word after it
        ("(a,b)...", ["(", "a", ",", "b", ")", ".", ".", "."]),
        (" \t\n\u00a0", []),
        ("42 x2", ["42", "x2"]),
    ],
)
def test_words(text: str, words: list[str]):
    tokenizer = train_tokenizer([text], kind="word")
    assert tokenizer.tokens(tokenizer.encode(text)) == words


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
