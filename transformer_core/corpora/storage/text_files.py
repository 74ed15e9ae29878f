"""Text files: validated once as UTF-8, then read in stretches; and the files that a path names."""

import codecs
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from transformer_core.corpora.corpus import BETWEEN
from transformer_core.corpora.storage.encodings import (
    MARKS,
    NotTextError,
    first_not_utf8,
    line_and_byte,
    refuse_known,
)
from transformer_core.errors import CorpusError, Message
from transformer_core.reasons import reason

LARGE = 2**24  # bytes of text; above this, caching results saves time

_BLOCK = 2**20  # bytes read at a time
_TOGETHER = 2**12  # spans converted at a time
_READ_AHEAD = 2**16  # bytes


class NoTextError(CorpusError):
    """A file without text, which is allowed among the files of a folder."""


@dataclass(frozen=True, kw_only=True)
class TextFile:
    """A file of UTF-8 text that is not only white space."""

    path: Path
    start: int  # bytes before the text: those of a byte order mark, or 0
    size: int  # bytes
    written: int  # modification time, nanoseconds since 1970
    fingerprint: str  # of all its bytes


def check_text_file(path: Path) -> TextFile:
    """Read and validate a whole file, using little memory.

    Raises:
        NoTextError: the file is empty, or only white space.
        NotTextError: it is binary.
        CorpusError: it cannot be read, or is not UTF-8; the message names the line and the byte.
    """
    digest, has_text = blake2b(digest_size=32), False
    with opened(path) as file:
        status = path.stat()
        beginning = file.read(_READ_AHEAD)
        _refuse_utf16(path, beginning)
        try:
            bad = first_not_utf8(file, shown(path))
        except NotTextError:
            refuse_known(beginning, shown(path))
            raise
        if bad is not None:
            refuse_known(beginning, shown(path))
            line, byte = line_and_byte(file, bad)
            raise CorpusError(
                "{path}, line {line:,}: the byte 0x{byte} is not valid UTF-8; if the text is "
                "Windows-1252 or Latin-1, save it as UTF-8 in an editor, or with iconv -f WINDOWS-1252 "
                "-t UTF-8",
                path=shown(path),
                line=line,
                byte=f"{byte:02X}",
            )
        while block := file.read(_BLOCK):
            digest.update(block)
            has_text = has_text or bool(block.decode("utf-8", "ignore").removeprefix("\ufeff").strip())
        size = file.tell()
    if not size:
        raise NoTextError("{path} is empty", path=shown(path))
    if not has_text:
        raise NoTextError("{path} contains only whitespace", path=shown(path))
    return TextFile(
        path=path,
        start=len(codecs.BOM_UTF8) if beginning.startswith(codecs.BOM_UTF8) else 0,
        size=size,
        written=status.st_mtime_ns,
        fingerprint=digest.hexdigest(),
    )


class TextFiles:
    """Files end to end: every byte has one address, counted from 0.

    Args:
        path: the folder, or the one file itself.
        files: in their order.
    """

    def __init__(self, path: Path, files: Sequence[TextFile]) -> None:
        self.path = path
        self.files = tuple(files)
        self.ends = np.cumsum([file.size for file in self.files])  # the address after each file

    @property
    def size(self) -> int:
        """The total size of the files, in bytes."""
        return int(self.ends[-1])

    @property
    def is_large(self) -> bool:
        """Whether the text is so large that caching results saves time."""
        return self.size >= LARGE

    @property
    def fingerprint(self) -> str:
        """A hash of 64 hexadecimal digits that depends only on the contents, not on file names."""
        return blake2b("".join(file.fingerprint for file in self.files).encode(), digest_size=32).hexdigest()

    def read(self, spans: NDArray[np.int64]) -> Iterator[bytes]:
        """Yield the bytes of each span, [span, 2], both ends in one file.

        Raises:
            CorpusError: a file has been deleted, or has changed since it was checked.
        """
        with ExitStack() as open_files:
            handle, first, after = None, 0, 0
            blocks = (spans[i : i + _TOGETHER].tolist() for i in range(0, len(spans), _TOGETHER))
            for start, end in chain.from_iterable(blocks):  # plain numbers, which are faster one by one
                if handle is None or not first <= start < after:
                    open_files.close()
                    file, first = self._file_of(start)
                    after = first + file.size
                    handle = open_files.enter_context(opened(file.path))
                    status = file.path.stat()
                    if (status.st_size, status.st_mtime_ns) != (file.size, file.written):
                        raise CorpusError("{path} was changed while it was in use; start again", path=shown(file.path))
                handle.seek(start - first)
                yield handle.read(end - start)

    def _file_of(self, address: int) -> tuple[TextFile, int]:
        """Return the file that contains an address, and the address of its first byte."""
        number = int(np.searchsorted(self.ends, address, side="right"))
        file = self.files[number]
        return file, int(self.ends[number]) - file.size

    def path_and_line(self, address: int) -> tuple[str, int]:
        """Return the displayed path and the line, counted from 1, of an address."""
        file, first = self._file_of(address)
        with opened(file.path) as handle:
            return shown(file.path), line_and_byte(handle, address - first)[0]


def places_of(path: str | os.PathLike[str]) -> tuple[Path, list[Path]]:
    """Return the first path of a corpus, and all files at its paths, including those in folders.

    Raises:
        CorpusError: there is nothing to read.
    """
    places = [Path(part) for part in os.fspath(path).split(BETWEEN)] if not os.path.exists(path) else [Path(path)]
    for place in places:
        if os.path.exists(place) and not os.path.isfile(place) and not os.path.isdir(place):
            raise CorpusError("{path} is neither a file nor a folder", path=shown(place))
    return places[0], [file for place in places for file in (_files_of(place) if os.path.isdir(place) else [place])]


def _files_of(folder: Path) -> list[Path]:
    """Return all files of a folder and its subfolders by name, without hidden ones."""

    def refuse(error: OSError) -> None:
        raise CorpusError(
            "the folder {path} cannot be read ({error}); change its permissions",
            path=error.filename,
            error=reason(error),
        )

    paths = []
    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [Path(place, name) for name in names if not name.startswith(".")]
    return sorted((path for path in paths if os.path.isfile(path)), key=lambda path: path.relative_to(folder).parts)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading.

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
    """Return the first bytes of a file, which identify its format.

    Raises:
        CorpusError: it cannot be read.
    """
    with opened(path) as file:
        return file.read(_READ_AHEAD)


def first_of(first: Iterable[str | Message], n_more: int, *, separator: str = "; ") -> Message:
    """Return the first of several names or sentences, and the number of others, as a message."""
    joined = Message.joined(separator, first)
    return Message("{first}; and {n:,} more", first=joined, n=n_more) if n_more > 0 else joined


def shown(path: Path) -> str:
    """Return a path as text for the screen; names may contain bytes that are not text."""
    return str(path).encode("utf-8", "replace").decode()


def _refuse_utf16(path: Path, beginning: bytes) -> None:
    """Refuse a file that begins with the byte order mark of UTF-16 or UTF-32."""
    for mark, _, encoding in MARKS:
        if encoding and beginning.startswith(mark):
            raise CorpusError(
                "{path} is {encoding}, but only UTF-8 is supported; save it as UTF-8 in an editor, or "
                "with iconv -f {encoding} -t UTF-8",
                path=shown(path),
                encoding=encoding,
            )
