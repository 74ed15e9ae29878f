"""Encodings: files are decoded correctly, or refused with the place of the error."""

import codecs
import gzip
import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.corpora.storage import encodings as module
from transformer_core.corpora.storage.encodings import decoded, encoding_of
from transformer_core.errors import CorpusError

FRENCH = "L'été, le garçon mangea une glace à l'ombre.\nŒuvre naïve « là-bas » — où ?\n"
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)


def read(raw: bytes, name: str = "a.txt") -> tuple[str, str, str]:
    file = io.BytesIO(raw)
    codec, remark = encoding_of(file, name)
    assert file.tell() == 0
    return "".join(decoded(file, codec, name)), codec, str(remark)


def with_plain_breaks(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


@given(texts, st.integers(1, 9))
def test_utf_8_comes_out_as_it_is(text: str, block: int):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", block)
        raw = text.encode()
        if raw.startswith(tuple(begins for begins, *_ in module._NO_TEXT)):
            return
        assert read(raw) == (with_plain_breaks(text.removeprefix("\ufeff")), read(raw)[1], "")


@given(texts.filter(bool), st.sampled_from(["utf-16", "utf-32"]), st.booleans(), st.integers(4, 9))
def test_a_mark_says_what_the_rest_is(text: str, codec: str, is_big: bool, block: int):
    mark = {
        ("utf-16", False): codecs.BOM_UTF16_LE,
        ("utf-16", True): codecs.BOM_UTF16_BE,
        ("utf-32", False): codecs.BOM_UTF32_LE,
        ("utf-32", True): codecs.BOM_UTF32_BE,
    }[codec, is_big]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", block)
        actual = read(mark + text.encode(f"{codec}-{'be' if is_big else 'le'}"))
    assert actual == (with_plain_breaks(text), codec, f"a.txt was {codec.upper()} and is stored as UTF-8.")


@pytest.mark.parametrize("block", [1, 5, 1000])
def test_western_text_is_read_as_what_it_is(monkeypatch: pytest.MonkeyPatch, block: int):
    monkeypatch.setattr(module, "_BLOCK", block)
    actual, used, remark = read(FRENCH.encode("cp1252"))
    assert (actual, used) == (FRENCH, "cp1252")
    assert remark == "a.txt was not UTF-8 and was read as Windows-1252 (Latin-1); it is stored as UTF-8."


NEITHER = "neither valid UTF-8 nor Windows-1252"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (FRENCH.encode() + b"\xff\n", "a.txt, line 3: the byte 0xFF is not valid UTF-8, but the rest of the text"),
        ((FRENCH + "é").encode()[:-1], "a.txt, line 3: the byte 0xC3 is not valid UTF-8, but the rest"),
        ("a\nПривет, мир\n".encode("cp1251"), f"a.txt, line 2: the byte 0xCF .* {NEITHER}; save"),
        (b"good\nb\xe9d \x81\n" + b"x" * 99, f"line 2: the byte 0xE9 .* {NEITHER}"),
        (b"one\ntwo\n\x03\xe9\x04\x01 four", "line 3: the byte 0xE9 .* control characters next to it"),
        (b"one\ntwo\0", "a.txt is not a text file: line 2 contains a zero byte, as in binary files"),
        ("one\ntwo\n".encode("utf-16-le"), "UTF-16 text without a byte order mark; .* iconv -f UTF-16LE"),
        ("one\ntwo\n".encode("utf-16-be"), "UTF-16 text without a byte order mark; .* iconv -f UTF-16BE"),
        (b"\1\0\2\0\3\0a\0", "line 1 contains a zero byte"),  # numbers of 16 bits
        (b"\xff\xfe" + "one\ntwo\n".encode("utf-16-le")[:-1], r"a.txt, line 2: .* damaged \(truncated data\)"),
        (b"\xff\xfe" + "one\n\ud800x\n".encode("utf-16-le", "surrogatepass"), r"a.txt, line 2: .* damaged"),
        (b"\xff\xfea\0\0\0b\0", "line 1 contains a zero byte"),
        (b"\xef\xbb\xbfone\n\xff", "a.txt, line 2: the text is damaged"),
    ],
)
@pytest.mark.parametrize("block", [7, 2**20])
def test_what_cannot_be_read_is_refused_with_the_place(
    monkeypatch: pytest.MonkeyPatch, block: int, raw: bytes, message: str
):
    if "without a byte order mark" not in message:  # which shows in many bytes only
        monkeypatch.setattr(module, "_BLOCK", block)
    with pytest.raises(CorpusError, match=message):
        read(raw)


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "a")
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "raw", "what"),
    [
        ("essay.docx", zipped(), "essay.docx is a Word document, not plain text; save it as plain text"),
        ("pairs.xlsx", zipped(), r"is an Excel workbook, not plain text; save the sheet as .csv"),
        ("texts.zip", zipped(), "is a ZIP archive, not plain text; unpack it, and use"),
        ("paper.txt", b"%PDF-1.7\n...", "paper.txt is a PDF"),
        ("letter.rtf", rb"{\rtf1\ansi Dear}", r"is a formatted text \(RTF\)"),
        ("a.txt.gz", gzip.compress(b"text", mtime=0), "is a gzip archive"),
        ("a.gif", b"GIF89a\x10\0\x10\0", r"is an image \(GIF\)"),
    ],
    ids=lambda value: "raw" if isinstance(value, bytes) else None,  # archives tell the time
)
def test_what_is_no_text_is_called_by_its_name(name: str, raw: bytes, what: str):
    with pytest.raises(CorpusError, match=what):
        read(raw, name)


def test_a_text_that_begins_as_another_kind_of_file_is_a_text():
    for text in ("BZh is no word.\n", "GIF89a is a format of pictures.\n"):
        assert read(text.encode())[0] == text
