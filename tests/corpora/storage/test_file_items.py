"""Items of files behave like a tuple of them; a running text is complete and cut where tokens end."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpora.storage.test_file_spans import some_files
from transformer_core.config import TokenizerKind
from transformer_core.corpora.corpus import Text
from transformer_core.corpora.storage import file_items as module
from transformer_core.corpora.storage.file_items import FileItems, RunningText, as_text, running_text
from transformer_core.corpora.storage.text_files import TextFiles, check_text_file
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import train_tokenizer

TEXTS = ("one", "zwei Wörter", "три", "四\nand another line", "five")


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> FileItems:
    """The texts in two files."""
    folder = tmp_path_factory.mktemp("items")
    files, spans, address = [], [], 0
    for number, texts in enumerate((TEXTS[:2], TEXTS[2:])):
        raws = [text.encode() for text in texts]
        path = folder / f"{number}.txt"
        path.write_bytes(b"|".join(raws))
        files.append(check_text_file(path))
        for raw in raws:
            spans.append((address, address + len(raw)))
            address += len(raw) + 1
        address -= 1
    return FileItems(TextFiles(folder, files), np.array(spans), as_text, fingerprint="all of it")


@given(st.slices(5), st.integers(-5, 4))
@settings(max_examples=30)
def test_some_of_them(items: FileItems, some: slice, one: int):
    expected = tuple(Text(text) for text in TEXTS)
    assert tuple(items) == expected and len(items) == 5
    assert tuple(items[some]) == expected[some]
    assert items[one] == expected[one]
    assert items[some].fingerprint == ""  # it was that of the whole


@pytest.mark.parametrize(
    ("raw", "text"), [(b"a\r\nb\r\n\r\n", "a\nb"), (b"  a\t\n", "  a\t"), ("é\u2028è".encode(), "é\u2028è")]
)
def test_a_text_as_it_is_read(raw: bytes, text: str):
    assert [*as_text(raw)] == [text]


def test_places(items: FileItems):
    assert [Path(items.path_and_line(i)[0]).name for i in (0, 3, 4)] == ["0.txt", "1.txt", "1.txt"]
    assert [items.path_and_line(i)[1] for i in (0, 3, 4)] == [1, 1, 2]


pieces = st.sampled_from(
    ["a", "bc", "dön't", "語言", "🐟", " ", "  ", "\n", "\r\n", "\t", "\n\n \n", "\r", ".", "l'eau"]
)
KINDS: tuple[TokenizerKind, ...] = ("word", "character", "byte_bpe")
TOKENIZERS = {
    kind: train_tokenizer(["a bc dön't 語言 l'eau so. and\n\nabc"], kind=kind, vocab_size=300) for kind in KINDS
}
documents = st.lists(pieces, min_size=20, max_size=200).map("".join).filter(str.strip)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("running")


@pytest.fixture
def small() -> Iterator[None]:
    """Stretches and blocks of a few bytes, so that short texts have many."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in [("_STRETCH", 16), ("_LONGEST_WAIT", 8), ("_BLOCK", 64), ("FEWEST_BYTES", 1)]:
            patch.setattr(module, name, value)
        yield


def read(files: TextFiles) -> tuple[list[str], list[str]]:
    parts: Sequence[Sequence[Any]] = running_text(files, fingerprint="f")
    train, held_out = ([text.text for text in part] for part in parts)
    return train, held_out


def whole(text: str) -> str:
    return text.replace("\r\n", "\n")


@given(documents)
@settings(max_examples=30)
@pytest.mark.usefixtures("small")
def test_the_stretches_are_the_text_and_the_last_tenth_is_held_out(folder: Path, text: str):
    """The cut is at nine tenths of the bytes, or before the character or the line break that lies there."""
    raw = text.encode()
    files = some_files(folder, raw)
    train, held_out = running_text(files, fingerprint="f")
    assert "".join(chain(*read(files))) == whole(text)
    spans = np.concatenate([train.spans, held_out.spans])
    assert spans[0, 0] == 0 and spans[-1, 1] == len(raw)
    np.testing.assert_array_equal(spans[1:, 0], spans[:-1, 1])
    cuts = [n for n in range(len(raw) * 9 // 10 + 1) if is_between_characters(raw, n)]
    assert held_out.spans[0, 0] == cuts[-1]


def is_between_characters(raw: bytes, place: int) -> bool:
    try:
        raw[:place].decode()
    except UnicodeDecodeError:
        return False
    return raw[place - 1 : place + 1] != b"\r\n"


@given(documents, st.sampled_from(KINDS))
@settings(max_examples=30)
@pytest.mark.usefixtures("small")
def test_tokens_are_those_of_the_whole_text(folder: Path, text: str, kind: TokenizerKind):
    """Where there is white space often enough, no stretch ends inside a token, or where two would be one."""
    words = " and\n" + " so ".join(text.split("🐟"))
    tokenizer = TOKENIZERS[kind]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LONGEST_WAIT", 10_000)
        train, held_out = read(some_files(folder, words.encode()))
    for part in (train, held_out):
        one_by_one = [token for stretch in part for token in tokenizer.encode(stretch)]
        assert one_by_one == tokenizer.encode("".join(part))


@given(st.lists(documents, min_size=1, max_size=4), st.lists(st.booleans(), min_size=4, max_size=4))
@settings(max_examples=30)
@pytest.mark.usefixtures("small")
def test_several_files_are_one_text(folder: Path, texts: list[str], marks: list[bool]):
    raws = [b"\xef\xbb\xbf" * mark + text.encode() for text, mark in zip(texts, marks, strict=False)]
    train, held_out = read(some_files(folder, *raws))
    assert "".join(train + held_out) == "".join(map(whole, texts))
    n_bytes = sum(len(text.encode()) for text in texts)
    n_held_out = len("".join(held_out).encode())
    assert n_held_out <= n_bytes - n_bytes * 9 // 10 + 4


def test_a_slice_knows_which_stretches_go_on(folder: Path):
    train, held_out = running_text(some_files(folder, b"some words " * 3_000), fingerprint="f")
    assert train.moves and not held_out.moves
    assert train.begins.tolist() == [True] + [False] * (len(train) - 1)
    assert not train[2:5].moves and train[2:5].begins.tolist() == [True, False, False]
    assert train[::2].begins.all()
    assert train[::2][1:3].begins.all()
    assert list(train[2:5]) == [train[i] for i in (2, 3, 4)]
    assert isinstance(train[2:5], RunningText)
    assert train.fingerprint != held_out.fingerprint and train[2:5].fingerprint == ""


def test_a_short_text_is_refused(folder: Path):
    with pytest.raises(
        CorpusError, match=r"is too short to hold out its last 10%: it has 199 bytes, and at least 200 are"
    ):
        running_text(some_files(folder, b"x" * 199), fingerprint="f")
    train, held_out = read(some_files(folder, b"x" * 200))
    assert (len("".join(train)), len("".join(held_out))) == (180, 20)
