"""Labels: plain text, short enough, and kept apart from the words around them."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.figures import isolate
from headlight.figures.labels import escape, shorten, text_width


@pytest.mark.parametrize("token", ["\u05e9\u05dc\u05d5\u05dd", "<unk> \u0645\u0631\u062d\u0628\u0627"])
def test_a_right_to_left_token_does_not_turn_the_words_beside_it(token: str):
    """First strong isolate, the token, pop isolate: Unicode Standard Annex #9, sec. 2.4."""
    assert isolate(token) == f"\u2068{token}\u2069"
    assert isolate("<unk> \u732b") == "<unk> \u732b"


@given(st.text(max_size=40))
def test_an_escaped_token_is_no_markup_and_reads_as_it_was(token: str):
    assert not set("<>") & set(escape(token))
    assert html.unescape(escape(token.replace("&", ""))) == token.replace("&", "")


@given(st.text(max_size=40), st.integers(1, 30))
def test_a_shortened_token_begins_as_the_token_does(token: str, length: int):
    short = shorten(token, length)
    assert len(short) <= max(length, 0)
    assert short == token if len(token) <= length else short.endswith("…") and token.startswith(short[:-1])


def test_wide_letters_count_twice():
    assert text_width("猫") == 2 * text_width("c") == text_width("ca")
