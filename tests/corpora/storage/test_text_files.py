"""Text files: UTF-8 is accepted, whatever the block size; other bytes are reported by line."""

import codecs
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_core.corpora.storage import encodings
from transformer_core.corpora.storage.text_files import TextFiles, check_text_file
from transformer_core.errors import CorpusError


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    """Blocks of four bytes, so that every character of more than one lies across some edge."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encodings, "_BLOCK", 4)
        yield


def written(folder: Path, raw: bytes, name: str = "some.txt") -> Path:
    (folder / name).write_bytes(raw)
    return folder / name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@given(st.lists(st.sampled_from([b"a", "é".encode(), "語".encode(), "🦊".encode(), b"\n", b"\xe9", b"\xf0\x9f"])))
@settings(max_examples=50)
def test_the_first_wrong_byte_is_named(folder: Path, parts: list[bytes]):
    raw = b"x" + b"".join(parts)
    path = written(folder, raw)
    try:
        raw.decode()
    except UnicodeDecodeError as error:  # of the whole, without blocks
        line = raw[: error.start].count(b"\n") + 1
        with pytest.raises(
            CorpusError, match=rf"some.txt, line {line}: the byte 0x{raw[error.start]:02X} is not valid UTF-8"
        ):
            check_text_file(path)
    else:
        check_text_file(path)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("naïve\n".encode("latin-1"), r"line 1: the byte 0xEF .*save it as UTF-8 .*iconv -f WINDOWS-1252 -t UTF-8"),
        (b"one\ntwo\nthr\xc3", "line 3: the byte 0xC3"),  # cut off
        ("naïve".encode("utf-16"), "is UTF-16, but only UTF-8 is supported; .*iconv -f UTF-16 -t UTF-8"),
        (codecs.BOM_UTF16_BE + "naïve".encode("utf-16-be"), "is UTF-16"),
        (b"one\ntwo\n\0\0\0", "is not a text file: line 3 contains a zero byte"),
        (codecs.BOM_UTF8 + b"\r\n", "only whitespace"),
        ("\u3000\n".encode(), "only whitespace"),
    ],
)
def test_what_is_no_utf8_text(tmp_path: Path, raw: bytes, message: str):
    with pytest.raises(CorpusError, match=message):
        check_text_file(written(tmp_path, raw))


def test_equal_bytes_have_equal_fingerprints(tmp_path: Path):
    texts = {
        name: check_text_file(written(tmp_path, raw, name)) for name, raw in (("a", b"x"), ("b", b"x"), ("c", b"y"))
    }
    assert texts["a"].fingerprint == texts["b"].fingerprint != texts["c"].fingerprint
    one, same, other = (TextFiles(tmp_path, [texts[i] for i in names]).fingerprint for names in ("ac", "bc", "ca"))
    assert one == same != other
    assert len(one) == 64


def test_a_place_is_a_line_of_a_file(tmp_path: Path):
    paths = [written(tmp_path, raw, name) for name, raw in (("a.txt", b"a\nb\n"), ("b.txt", b"c\n\nd"))]
    files = TextFiles(tmp_path, [check_text_file(path) for path in paths])
    assert [files.path_and_line(i) for i in (0, 2, 3, 4, 7)] == [
        (str(tmp_path / name), line)
        for name, line in (("a.txt", 1), ("a.txt", 2), ("a.txt", 2), ("b.txt", 1), ("b.txt", 3))
    ]


@pytest.mark.parametrize("change", ["longer", "later", "gone"])
def test_a_file_that_changes_while_it_is_in_use_is_noticed(tmp_path: Path, change: str):
    path = written(tmp_path, b"some text")
    files = TextFiles(path, [check_text_file(path)])
    if change == "gone":
        path.unlink()
    else:
        path.write_bytes(b"some texts" if change == "longer" else b"next text")
        os.utime(path, ns=(0, files.files[0].written + (change == "later")))
    with pytest.raises(
        CorpusError, match="there is no file" if change == "gone" else "was changed while it was in use"
    ):
        list(files.read(np.array([[0, 4]])))
