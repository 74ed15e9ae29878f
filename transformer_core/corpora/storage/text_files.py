"""Text files: read through once, to know that they are UTF-8, then a stretch at a time where it is asked for."""

import codecs
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from transformer_core.corpora.storage.encodings import MARKS, refuse_known
from transformer_core.errors import CorpusError
from transformer_core.reasons import reason

LARGE = 2**24  # bytes of text; from here on it saves time to keep what was worked out from it

_BLOCK = 2**20  # bytes that are read at a time
_TOGETHER = 2**12  # stretches whose places are looked up at a time
_READ_AHEAD = 2**16  # bytes, where stretches are read one after another


class NoTextError(CorpusError):
    """A file with no text in it, which a folder may hold beside others."""


@dataclass(frozen=True, kw_only=True)
class TextFile:
    """A file that is UTF-8 from end to end, and more than white space."""

    path: Path
    start: int  # bytes before the text: those of a byte order mark, or 0
    size: int  # bytes
    written: int  # when, nanoseconds since 1970
    fingerprint: str  # of all its bytes


def check_text_file(path: Path) -> TextFile:
    """Read a file through, in little memory.

    Raises:
        NoTextError: it is empty, holds white space alone, or is binary.
        NotTextError: it is binary, and known by how it begins.
        CorpusError: it cannot be read, or is not UTF-8; the message names the line and the byte.
    """
    digest, decoder = blake2b(digest_size=32), codecs.getincrementaldecoder("utf-8")()
    n_read, has_text, has_mark = 0, False, False
    with opened(path) as file:
        status = path.stat()
        while block := file.read(_BLOCK):
            if not n_read:
                _refuse_utf16(path, block)
                has_mark = block.startswith(codecs.BOM_UTF8)
            if b"\0" in block:
                refuse_known(beginning_of(path), shown(path))
                line = _line(path, n_read + block.index(b"\0"))
                raise NoTextError(
                    "{path} is not a text file: line {line:,} contains a zero byte, as in binary files",
                    path=shown(path),
                    line=line,
                )
            n_waiting = len(decoder.getstate()[0])  # bytes of a character that the block before began
            try:
                text = decoder.decode(block)
            except UnicodeDecodeError as error:
                refuse_known(beginning_of(path), shown(path))
                raise _not_utf8(path, n_read - n_waiting + error.start, error.object[error.start]) from error
            n_read += len(block)
            digest.update(block)
            has_text = has_text or bool(text.removeprefix("\ufeff").strip())
        if waiting := decoder.getstate()[0]:
            raise _not_utf8(path, n_read - len(waiting), waiting[0])
    if not n_read:
        raise NoTextError("{path} is empty", path=shown(path))
    if not has_text:
        raise NoTextError("{path} contains only whitespace", path=shown(path))
    return TextFile(
        path=path,
        start=len(codecs.BOM_UTF8) if has_mark else 0,
        size=n_read,
        written=status.st_mtime_ns,
        fingerprint=digest.hexdigest(),
    )


class TextFiles:
    """Some files end to end, so that every byte of them has one address, counted from 0."""

    def __init__(self, path: Path, files: Sequence[TextFile]) -> None:
        """Join the files of a path, which is a folder or the one file itself."""
        self.path = path
        self.files = tuple(files)
        self.ends = np.cumsum([file.size for file in self.files])  # the address after each file

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return int(self.ends[-1])

    @property
    def is_large(self) -> bool:
        """Whether it saves time to keep what was worked out from the text."""
        return self.size >= LARGE

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits, equal for equal bytes in equal files; their names do not count."""
        return blake2b("".join(file.fingerprint for file in self.files).encode(), digest_size=32).hexdigest()

    def read(self, spans: NDArray[np.int64]) -> Iterator[bytes]:
        """Yield the bytes of each stretch, one after another.

        Args:
            spans: [stretch, 2], the addresses of its first byte and of the byte after its last, both in one file.

        Raises:
            CorpusError: a file is gone, or was written since it was checked.
        """
        with ExitStack() as open_files:
            handle, first, behind = None, 0, 0
            blocks = (spans[i : i + _TOGETHER].tolist() for i in range(0, len(spans), _TOGETHER))
            for start, end in chain.from_iterable(blocks):  # plain numbers, which are faster one by one
                if handle is None or not first <= start < behind:
                    open_files.close()
                    file, first = self.file_of(start)
                    behind = first + file.size
                    handle = open_files.enter_context(opened(file.path))
                    status = file.path.stat()
                    if (status.st_size, status.st_mtime_ns) != (file.size, file.written):
                        raise CorpusError("{path} was changed while it was in use; start again", path=shown(file.path))
                handle.seek(start - first)
                yield handle.read(end - start)

    def file_of(self, address: int) -> tuple[TextFile, int]:
        """Return the file that an address lies in, and the address of its first byte."""
        number = int(np.searchsorted(self.ends, address, side="right"))
        file = self.files[number]
        return file, int(self.ends[number]) - file.size

    def path_and_line(self, address: int) -> tuple[str, int]:
        """Return the file of an address, as a message names it, and its line, counted from 1."""
        file, first = self.file_of(address)
        return shown(file.path), _line(file.path, address - first)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, for as long as the context lasts.

    Raises:
        CorpusError: it cannot be opened or read.
    """
    try:
        with open(path, "rb", buffering=_READ_AHEAD) as file:
            yield file
    except FileNotFoundError as error:
        raise CorpusError("there is no file or folder {path}", path=shown(path)) from error
    except PermissionError as error:
        raise CorpusError(
            "you do not have permission to read {path}; change its permissions, or copy it", path=shown(path)
        ) from error
    except OSError as error:
        raise CorpusError("{path} cannot be read ({error})", path=shown(path), error=reason(error)) from error


def beginning_of(path: Path) -> bytes:
    """Return the bytes by which a file is recognised.

    Raises:
        CorpusError: it cannot be read.
    """
    with opened(path) as file:
        return file.read(_READ_AHEAD)


def shown(path: Path) -> str:
    """Return the name of a path for the screen, where a name can hold bytes that are no text."""
    return str(path).encode("utf-8", "replace").decode()


def _refuse_utf16(path: Path, beginning: bytes) -> None:
    """Say what a file is that begins with the byte order mark of UTF-16 or UTF-32."""
    for mark, _, encoding in MARKS:
        if encoding and beginning.startswith(mark):
            raise CorpusError(
                "{path} is {encoding}, but only UTF-8 is supported; save it as UTF-8 in an editor, or "
                "with iconv -f {encoding} -t UTF-8",
                path=shown(path),
                encoding=encoding,
            )


def _not_utf8(path: Path, n_before: int, byte: int) -> CorpusError:
    """Return the error for the first byte that cannot be where it is."""
    return CorpusError(
        "{path}, line {line:,}: the byte 0x{byte} is not valid UTF-8; if the text is "
        "Windows-1252 or Latin-1, save it as UTF-8 in an editor, or with iconv -f WINDOWS-1252 "
        "-t UTF-8",
        path=shown(path),
        line=_line(path, n_before),
        byte=f"{byte:02X}",
    )


def _line(path: Path, n_bytes: int) -> int:
    """Return the line, counted from 1, of the byte that has so many before it."""
    line = 1
    with opened(path) as file:
        while n_bytes > 0 and (block := file.read(min(n_bytes, _BLOCK))):
            line += block.count(b"\n")
            n_bytes -= len(block)
    return line
