"""Spans of texts, against a plain reading of the whole file; and which texts are held out."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from transformer_core.corpora.storage import file_spans, text_files
from transformer_core.corpora.storage.file_spans import Division, divided
from transformer_core.corpora.storage.text_files import TextFiles, check_text_file

LONGEST = 9
Sides = tuple[list[bytes], list[bytes]]

lines = st.text(st.sampled_from(["a", "b", "é", "語", " ", "\t", "\r", "\x0c"]), max_size=6)
documents = st.lists(lines, min_size=1, max_size=30).map("\n".join)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spans")


@pytest.fixture(scope="module", autouse=True)
def keep_nothing(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def some_files(folder: Path, *texts: str | bytes) -> TextFiles:
    paths = [folder / f"{i}.txt" for i in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return TextFiles(paths[0] if len(paths) == 1 else folder, [check_text_file(path) for path in paths])


def read(files: TextFiles, division: Division) -> Sides:
    train, held_out = (list(files.read(spans)) for spans in divided(files, division))
    return train, held_out


def by_hand(text: str, division: Division) -> list[bytes]:
    """The texts of a file, with blanks around them, by splitting the whole."""
    if division == "files":
        return [text.strip().encode()]
    rows = text.split("\n")
    if division == "lines":
        return [row.encode() for row in rows if row.encode().strip()]
    texts: list[list[str]] = [[]]
    for row in rows:
        if row.encode().strip():
            texts[-1].append(row)
        else:
            texts.append([])
    return ["\n".join(text).encode() for text in texts if text]


@given(documents, st.sampled_from(["stretches", "lines"]), st.integers(1, 40))
@settings(max_examples=50)
def test_every_text_is_found_whatever_the_blocks(folder: Path, text: str, division: Division, block: int):
    text += "\nZ\n\nY\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_spans, "_BLOCK", block)
        train, held_out = read(some_files(folder, text), division)
    expected = Counter(raw.strip() for raw in by_hand(text, division))
    actual = Counter(raw.strip() for raw in train)
    assert len(held_out) == 1
    assert actual + Counter({held_out[0].strip(): expected[held_out[0].strip()]}) == expected


def found_spans(files: TextFiles, division: Division, block: int) -> NDArray[np.int64]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_spans, "LONGEST_TEXT", LONGEST)
        patch.setattr(file_spans, "_BLOCK", block)
        return np.concatenate(list(file_spans._span_blocks(files, division)))[:, :2]


@given(
    st.lists(st.sampled_from(["a", "é", "語", "🦊", " ", "\n", "\n\n", "ab ", "b\r\n"]), max_size=60).map("".join),
    st.sampled_from(["stretches", "lines", "files"]),
    st.integers(1, 30),
)
@example(text="aé🦊ab ", division="stretches", block=7)  # nine bytes, and a space is left
@example(text="a語🦊b\r\n", division="stretches", block=7)  # nine bytes, and half of a line's end
@settings(max_examples=50)
def test_long_texts_are_cut_and_nothing_is_lost(folder: Path, text: str, division: Division, block: int):
    files = some_files(folder, text + "\n\nZ\n\nY", "X")
    spans = found_spans(files, division, block)
    pieces = [piece.decode() for piece in files.read(spans)]  # each is UTF-8
    assert re.sub(r"\s", "", "".join(pieces)) == re.sub(r"\s", "", text + "ZYX")
    assert all(len(piece.strip()) > 0 and len(piece.rstrip().encode()) <= LONGEST for piece in pieces)
    assert (spans[1:, 0] >= spans[:-1, 1]).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("123456789", ["123456789"]),
        ("123 56 8901 345", ["123 56 ", "8901 345"]),  # after a word
        ("12\n45 78 0 2", ["12\n", "45 78 0 2"]),  # a line's end is better than a word's
        ("12\n\n5678901", ["12\n\n", "5678901"]),
        ("a語語語語", ["a語語", "語語"]),  # not inside a character
    ],
)
def test_where_long_texts_are_cut(folder: Path, text: str, expected: list[str]):
    files = some_files(folder, text)
    for block in (1, 2, 5, 100):
        assert [raw.decode() for raw in files.read(found_spans(files, "files", block))] == expected


def test_who_is_held_out_depends_on_the_text_alone(folder: Path):
    texts = [f"line {i}" for i in range(200)]
    _, held_out = read(some_files(folder, "\n".join(texts)), "lines")
    assert len(held_out) == 10
    np.random.default_rng(0).shuffle(texts)
    _, shuffled = read(some_files(folder, "\r\n".join(texts * 3)), "lines")
    assert {raw.strip() for raw in shuffled} == set(held_out)
    _, spread = read(some_files(folder, *(f"{text}\n" for text in texts)), "files")
    assert {raw.strip() for raw in spread} == set(held_out)


def test_the_choice_is_even(folder: Path):
    """Of lines that differ in a number alone, none is likelier than another: first and last halves, even and odd."""
    train, held_out = read(some_files(folder, "\n".join(str(i) for i in range(40_100))), "lines")
    assert (len(train), len(held_out)) == (38_100, 2_000)  # never more
    numbers = np.array([int(raw) for raw in held_out])
    for half in (numbers < 20_000, numbers % 2 == 0, numbers // 100 % 2 == 0):
        assert abs(half.mean() - 0.5) < 0.06  # five standard deviations


def test_what_was_found_in_a_large_file_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(file_spans, "LARGE", 10)
    monkeypatch.setattr(text_files, "LARGE", 10)
    files = some_files(folder, "one\ntwo\nthree\nfour\nfive\n")
    first = divided(files, "lines")
    monkeypatch.setattr(file_spans, "_span_blocks", None)  # so nothing can be searched
    for actual, expected in zip(divided(files, "lines"), first, strict=True):
        np.testing.assert_array_equal(actual, expected)
