"""A running text: complete, cut where tokens end, with its last tenth held out."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpora.storage.test_file_spans import some_files
from transformer_core.corpora.corpus import TokenizerKind
from transformer_core.corpora.storage import running_text as module
from transformer_core.corpora.storage.running_text import RunningText, running_text
from transformer_core.corpora.storage.text_files import TextFiles
from transformer_core.errors import CorpusError
from transformer_core.text.tokenizer import train_tokenizer

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
