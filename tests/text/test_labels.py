"""Labels lose nothing of a text, show letters whole, and never disturb what is around them."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from transformer_core.text.labels import Token, byte_level_text, labels

SIGNS = {"·": " ", "↵": "\n", "⇥": "\t", "◌": ""}
TURNS_TEXT_AROUND = set("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

PILE_OF_ACCENTS = "e" + "\u0301" * 40
LETTERS = (  # one grapheme each
    *("e\u0301", "a\u0323\u0302", "👩‍🚒", "👩🏽‍❤️‍💋‍👨🏽", "👍🏿", "🇫🇷", "1\ufe0f\u20e3"),
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    *("각", "\u1100\u1161\u11a8", "กำ", "שׁ", "日", "é", "ß"),
)
PLAIN = st.characters(exclude_categories=["Cs"], exclude_characters="<>·↵⇥◌")  # no sign that labels themselves use
ANY_TEXT = st.lists(
    PLAIN | st.sampled_from([*LETTERS, " ", "\r\n", "1/2", "\u200d", "\u0301", "\u0600", "\ufffd"])
).map("".join)


@st.composite
def cut_texts(draw: st.DrawFn) -> tuple[str, list[bytes]]:
    """A text, and its bytes cut anywhere; pieces may be empty."""
    text = draw(ANY_TEXT)
    data = text.encode()
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=len(data) + 2)))
    return text, [data[start:end] for start, end in pairwise([0, *cuts, len(data)])]


def read_back(shown: list[str]) -> str:
    """The text that labels were made from: a letter in parts counts at its first part, and the parts are in order."""
    text, expected_part = "", 1
    for label in shown:
        steps = [] if label == "<empty>" else label.split(" ")
        while steps:
            content, *steps = steps
            if steps and (part := re.fullmatch(r"(\d+)/(\d+)", steps[0])):
                number, n_parts = int(part[1]), int(part[2])
                assert number == expected_part <= n_parts
                expected_part = 1 if number == n_parts else number + 1
                steps = steps[1:]
                content = content if number == 1 else ""
            else:
                assert expected_part == 1, "something whole stands between the parts of a letter"
            text += content
    assert expected_part == 1
    return re.sub("<([^<>]+)>", lambda name: character(name[1]), "".join(SIGNS.get(sign, sign) for sign in text))


def character(name: str) -> str:
    return chr(int(name[2:], 16)) if name.startswith("U+") else unicodedata.lookup(name)


def disturbs(label: str) -> bool:
    """Whether a label would break or turn what is around it, or shows nothing."""
    return (
        not label
        or any(sign != " " and (sign.isspace() or unicodedata.category(sign) in ("Cc", "Cs", "Co")) for sign in label)
        or bool(TURNS_TEXT_AROUND & set(label))
        or label != " ".join(label.split(" ")).strip()
    )


@given(cut_texts())
@example(("e\u0301", [b"e", b"\xcc", b"\x81"]))
@example((PILE_OF_ACCENTS, [bytes([byte]) for byte in PILE_OF_ACCENTS.encode()]))
@example((" \u0301", [b" ", b"\xcc\x81"]))
@example(("\u0600 \u0301", ["\u0600 \u0301".encode()]))
def test_labels_give_the_text_back(cut_text: tuple[str, list[bytes]]):
    text, pieces = cut_text
    shown = labels([Token(text=piece) for piece in pieces])
    assert len(shown) == len(pieces)
    assert read_back(shown) == text
    assert not any(map(disturbs, shown))
    assert "\ufffd" in text or not any("\ufffd" in label for label in shown)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        *((b"   cat", "···cat"), (b"\r\n", "<CR>↵"), (b"\t\tx", "⇥⇥x"), (b"\0", "<NUL>"), (b"a\x1b[0m", "a<ESC>[0m")),
        *(("\u00a0!".encode(), "<NBSP>!"), ("\u3000".encode(), "<U+3000>"), ("\u202eabc".encode(), "<RLO>abc")),
        *(("\u200b\u2060\ufeff".encode(), "<ZWSP><WJ><BOM>"), ("\u0301".encode(), "◌\u0301")),
        (" \u0301".encode(), "·◌\u0301"),
        ("\ue000\uffff".encode(), "<U+E000><U+FFFF>"),
        (b"a\xf0\x9f", "a<0xF0><0x9F>"),  # the beginning of an emoji, and no more yet
        (b"\xed\xa0\x80", "<0xED><0xA0><0x80>"),  # half of a pair, which UTF-8 has not
        ("می‌خواهم".encode(), "می‌خواهم"),  # right to left, with a joiner inside
        (b"", "<empty>"),
    ],
)
def test_how_a_token_looks(text: bytes, label: str):
    assert labels([Token(text=text)]) == [label]


def test_what_stands_between_letters_keeps_them_apart():
    first, second = Token(text=b"\xc3"), Token(text=b"\xa9")
    assert labels([first, second]) == ["é 1/2", "é 2/2"]
    assert labels([first, Token(name="<eos>"), second]) == ["<0xC3>", "<eos>", "<0xA9>"]
    assert labels([first, Token(text=b"\xa9", starts_anew=True)]) == ["<0xC3>", "<0xA9>"]
    assert labels([first, Token(), second]) == ["é 1/2", "<empty>", "é 2/2"]
    assert labels([]) == []
    assert labels([Token(name="<a b>"), Token(name="\n")]) == ["<a·b>", "↵"]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_byte_level_text_is_that_of_the_library(text: str):
    pieces = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text)
    assert b"".join(byte_level_text(piece) for piece, _ in pieces) == text.encode()
    assert byte_level_text("日" + text) == ("日" + text).encode()  # not written byte by byte
