"""How the word tokenizer cuts sentences, and writes them again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.text.tokenizer import train_tokenizer

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
        ("l' animal", ["l", "'", "animal"]),  # no elision without a word behind it
        ("(a,b)...", ["(", "a", ",", "b", ")", ".", ".", "."]),
        (" \t\n\u00a0", []),
        ("42 x2", ["42", "x2"]),
    ],
)
def test_words(text: str, words: list[str]):
    tokenizer = train_tokenizer([text], kind="word")
    assert tokenizer.tokens(tokenizer.encode(text)) == words
