"""What the bytes of a file are: text in UTF-8, text that can be turned into it, or no text at all."""

import codecs
import io
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from transformer_core.errors import CorpusError

_BLOCK = 2**20  # bytes that are read at a time
_MARKS = (  # byte order marks; that of UTF-32 begins as that of UTF-16 does
    (codecs.BOM_UTF8, "utf-8-sig", ""),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
_SAVE = "open it, save it as plain text (.txt, UTF-8), and give that file"
_UNPACK = "unpack it, and give the text files that are in it"
_NO_TEXT = (  # how a file begins, what it is, and what to do
    (b"%PDF-", "a PDF", "copy the text out of it into a text file, and give that"),
    (b"{\\rtf", "a formatted text (RTF)", _SAVE),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Office document of the older kind", _SAVE),
    (b"\x1f\x8b", "a gzip archive", _UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"\xfd7zXZ\0", "an xz archive", _UNPACK),
    (b"BZh", "a bzip2 archive", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", _UNPACK),
    (b"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (b"\x89PNG\r\n\x1a\n", "a picture (PNG)", "give a file with text in it"),
    (b"\xff\xd8\xff", "a picture (JPEG)", "give a file with text in it"),
    (b"GIF8", "a picture (GIF)", "give a file with text in it"),
    (b"SQLite format 3\0", "a database (SQLite)", "export its texts to a text file, and give that"),
    (b"PAR1", "a Parquet file", "export its texts to a text file, and give that"),
)
_ZIPPED = {  # what a ZIP archive is that has this ending
    ".docx": ("a Word document", _SAVE),
    ".odt": ("an OpenDocument text", _SAVE),
    ".xlsx": ("an Excel workbook", "save the sheet as .csv, and give that file"),
    ".ods": ("an OpenDocument sheet", "save the sheet as .csv, and give that file"),
    ".pptx": ("a PowerPoint presentation", _SAVE),
    ".epub": ("an electronic book (EPUB)", "convert it to plain text (.txt), and give that file"),
}
_BEGINS_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_CONTROL = [*{*range(1, 32)} - {*b" \t\n\r\f\v\x1a\x1b"}]  # DOS ended texts with 1A; colours of a terminal are 1B
_UNDEFINED = [byte for byte in range(256) if bytes([byte]).decode("cp1252", "replace") == "\ufffd"]
# Of each byte: how many go on with the character beyond ASCII that it begins in UTF-8; 0 if it begins none.
_FOLLOWING = np.repeat(np.array([0, 1, 2, 3, 0], np.uint8), np.diff([0, 0xC2, 0xE0, 0xF0, 0xF5, 0x100]))
_MOST_BEYOND_ASCII = 0.3  # share of bytes that are no ASCII, beyond that in any language that Windows-1252 is for


class Encoding(NamedTuple):
    """How a file is decoded, and what to tell a person of that."""

    codec: str  # as Python names it
    remark: str  # a sentence; "" for UTF-8


def encoding_of(file: BufferedIOBase, name: str) -> Encoding:
    """Read a file through, in little memory, and say how to decode it; it is left at its beginning.

    What has no byte order mark and is not UTF-8 is taken for Windows-1252, which Latin-1 is a part of: if all its bytes
    have a meaning there, most are ASCII, and it is no UTF-8 text with a few damaged places.

    Args:
        file: can be read from its beginning again.
        name: of the file, for messages.

    Raises:
        CorpusError: it is no text, or in an encoding that is not known; the message names the place.
    """
    beginning = file.read(_BLOCK)
    file.seek(0)
    for mark, codec, written in _MARKS:
        if beginning.startswith(mark):
            return Encoding(codec, f"{name} was {written} text, and is kept as UTF-8." if written else "")
    _refuse_known(beginning, name)
    bad = _first_not_utf8(file, name)
    if bad is None:
        return Encoding("utf-8", "")
    line, byte = _line_and_byte(file, bad)
    _refuse_other_than_western(file, f"{name}, line {line:,}: the byte 0x{byte:02X}")
    return Encoding("cp1252", f"{name} was not UTF-8 and was read as Windows-1252 (Latin-1); it is kept as UTF-8.")


def decoded(file: BufferedIOBase, codec: str, name: str) -> Iterator[str]:
    """Yield the text of a file, some at a time, each line break as one character.

    Args:
        file: read from where it is.
        codec: from `encoding_of`.
        name: of the file, for messages.

    Raises:
        CorpusError: it is damaged, or no text; the message names the line.
    """
    decoder = codecs.getincrementaldecoder(codec)()
    breaks = io.IncrementalNewlineDecoder(None, translate=True)
    line, is_last = 1, False
    while not is_last:
        block = file.read(_BLOCK)
        is_last = not block
        try:
            text = breaks.decode(decoder.decode(block, is_last), is_last)
        except UnicodeDecodeError as error:
            line += error.object[: error.start].decode(error.encoding, "ignore").count("\n")
            raise CorpusError(
                f"{name}, line {line:,}: the text is damaged there ({error.reason}); save it anew as UTF-8"
            ) from error
        if "\0" in text:
            raise _binary(name, line + text[: text.index("\0")].count("\n"))
        line += text.count("\n")
        yield text


def _refuse_known(beginning: bytes, name: str) -> None:
    """Say what a file is that begins as files of another kind do."""
    if beginning.startswith(_BEGINS_ZIP):
        what, way_out = _ZIPPED.get(PurePath(name).suffix.lower(), ("a ZIP archive", _UNPACK))
        raise CorpusError(f"{name} is {what}, not plain text; {way_out}")
    for begins, what, way_out in _NO_TEXT:
        if beginning.startswith(begins):
            raise CorpusError(f"{name} is {what}, not plain text; {way_out}")
    nulls = [beginning[i::2].count(0) for i in (0, 1)]
    if min(nulls) == 0 and max(nulls) > len(beginning) / 8:
        raise CorpusError(
            f"{name} seems to be UTF-16 text without the mark that says so; save it as UTF-8 in an editor, or with "
            f"iconv -f UTF-16LE -t UTF-8"
        )


def _binary(name: str, line: int) -> CorpusError:
    return CorpusError(
        f"{name} is no text: line {line:,} holds a zero byte, as binary files do; give a file with text in it"
    )


def _first_not_utf8(file: BufferedIOBase, name: str) -> int | None:
    """Return how many bytes lie before the first one that is not UTF-8 where it is; None: all are. Refuse zeros."""
    decoder, n_read, bad, line = codecs.getincrementaldecoder("utf-8")(), 0, None, 1
    while True:
        block = file.read(_BLOCK)
        if b"\0" in block:
            raise _binary(name, line + block[: block.index(b"\0")].count(b"\n"))
        if bad is None:
            n_waiting = len(decoder.getstate()[0])  # bytes of a character that the block before began
            try:
                decoder.decode(block, not block)
            except UnicodeDecodeError as error:
                bad = n_read - n_waiting + error.start
        if not block:
            file.seek(0)
            return bad
        n_read += len(block)
        line += block.count(b"\n")


def _refuse_other_than_western(file: BufferedIOBase, place: str) -> None:
    """Check that text which is not UTF-8 can be Windows-1252."""
    n_of, n_characters = np.zeros(256, np.int64), 0  # of each byte; of UTF-8 beyond ASCII
    while block := file.read(_BLOCK):
        n_of += np.bincount(np.frombuffer(block, np.uint8), minlength=256)
        n_characters += _utf8_characters(block)
    n_beyond = n_of[0x80:].sum()
    file.seek(0)
    if n_of[_CONTROL].any():
        raise CorpusError(
            f"{place} is not UTF-8 there, and beside it are control characters, as in binary files; give a file with "
            f"text in it"
        )
    if n_characters > n_beyond / 4:  # of the bytes that are no ASCII, about two make such a character
        raise CorpusError(
            f"{place} is not UTF-8 there, though the rest of the text is; mend that place, or save the text anew as "
            f"UTF-8"
        )
    if n_of[_UNDEFINED].any() or n_beyond > _MOST_BEYOND_ASCII * n_of.sum():
        raise CorpusError(
            f"{place} is not UTF-8 there, and the text is not Windows-1252 either; save it as UTF-8 in an editor that "
            f"shows it right, or with iconv -f ITS-ENCODING -t UTF-8"
        )


def _utf8_characters(block: bytes) -> int:
    """Count what would be UTF-8 for a character beyond ASCII: a byte that begins one, and all that go on with it."""
    codes = np.frombuffer(block, np.uint8)
    goes_on = np.append(codes & 0xC0 == 0x80, [False] * 3)
    n_following = _FOLLOWING[codes]
    is_whole = n_following > 0
    for n in (1, 2, 3):
        is_whole &= (n_following < n) | goes_on[n:][: len(codes)]
    return int(is_whole.sum())


def _line_and_byte(file: BufferedIOBase, n_before: int) -> tuple[int, int]:
    """Return the line, counted from 1, and the value of the byte that has so many before it."""
    line = 1
    while n_before >= 0 and (block := file.read(_BLOCK)):
        line += block[:n_before].count(b"\n") if n_before < len(block) else block.count(b"\n")
        if n_before < len(block):
            file.seek(0)
            return line, block[n_before]
        n_before -= len(block)
    raise EOFError("there is no such byte")
