"""A cache of large arrays on disk: computed once, then memory-mapped.

A set of arrays is a folder with one file of raw numbers per array, and contents.json with their sizes and checksums. It
is written under another name and renamed when complete; a damaged set is made again. The cache folder is
`$HEADLIGHT_CACHE`, or ~/.cache/headlight; it may be emptied at any time.
"""

import json
import os
import re
import shutil
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from transformer_core.errors import CorpusError, Message
from transformer_core.reasons import reason

_MOST_IN_MEMORY = 256 * 2**20  # bytes per array; larger ones need the cache folder
_BLOCK = 2**20  # bytes read at a time
_OURS = re.compile(r"\.?[a-z]+-[0-9a-f]{32}(\.\w+)?")  # names of sets; nothing else in the cache folder is ever deleted
_ATTEMPTS = 3  # to replace a damaged set, in case other processes are doing the same
_UNUSED_DAYS = 60.0  # a set unused for longer is deleted when another one is written

Dtypes = Mapping[str, np.dtype[Any]]
"""The arrays of a set by name, with their types."""

_ONE_OF_BYTES: Dtypes = {"bytes": np.dtype(np.uint8)}


class _TooLargeError(Exception):
    """An array exceeds the size limit for memory."""


class Sink:
    """Writes one array to a file, piece by piece.

    Args:
        file: takes the numbers.
        dtype: of the array; pieces are converted to it.
        is_in_memory: whether the file is memory, whose size is limited.
    """

    def __init__(self, file: BinaryIO, dtype: np.dtype[Any], *, is_in_memory: bool) -> None:
        self.file, self.dtype, self.is_in_memory = file, dtype, is_in_memory
        self.n_bytes, self.checksum = 0, 0

    def append(self, numbers: NDArray[Any]) -> None:
        """Write the next numbers."""
        raw = numbers.astype(self.dtype).tobytes()
        self.n_bytes += len(raw)
        if self.is_in_memory and self.n_bytes > _MOST_IN_MEMORY:
            raise _TooLargeError
        self.file.write(raw)
        self.checksum = zlib.crc32(raw, self.checksum)


Fill = Callable[[Mapping[str, Sink]], None]
"""Writes all arrays of a set, from beginning to end, into their sinks; it may be called a second time."""


def kept_arrays(
    kind: str, made_from: Sequence[str], dtypes: Dtypes, fill: Fill, *, keep: bool = True
) -> dict[str, NDArray[Any]]:
    """Return a set of arrays from the cache; compute it if it is missing or damaged.

    Args:
        kind: prefix of the folder's name.
        made_from: everything that the arrays depend on: fingerprints, versions, settings.
        dtypes: the names and types of the arrays.
        fill: computes them. An `OSError` that it raises is treated as a failure of the cache folder.
        keep: False for arrays that are faster to compute than to look up; these stay in memory.

    Returns:
        One-dimensional, read-only, memory-mapped arrays. If the cache folder cannot be written, arrays of up to 256 MiB
        each are made in memory instead.

    Raises:
        CorpusError: an array is larger, and the folder cannot be written.
    """
    if not keep:
        return arrays_in_memory(dtypes, fill)
    try:
        folder = _folder_of(kind, made_from)
        with suppress(OSError):
            return _read(folder, dtypes)
        _write(folder, dtypes, fill)
        return _read(folder, dtypes)
    except OSError as error:
        try:
            return arrays_in_memory(dtypes, fill)
        except _TooLargeError:
            raise CorpusError(
                "the cache folder {folder} cannot be written ({error}), and this corpus is too large to "
                "work without it; free some space there, or set HEADLIGHT_CACHE to another folder",
                folder=_chosen_folder(),
                error=reason(error),
            ) from error


def kept_bytes(kind: str, made_from: Sequence[str], make: Callable[[], bytes]) -> bytes:
    """Return bytes from the cache, as `kept_arrays` does; missing or damaged ones come from `make`."""
    make_once = cache(make)  # `fill` is called again if the disk is full
    arrays = kept_arrays(
        kind, made_from, _ONE_OF_BYTES, lambda sinks: sinks["bytes"].append(np.frombuffer(make_once(), np.uint8))
    )
    return arrays["bytes"].tobytes()


def found_bytes(kind: str, made_from: Sequence[str]) -> bytes | None:
    """Return the bytes that `kept_bytes` cached, or None if they are missing or damaged; nothing is made."""
    try:
        return _read(_folder_of(kind, made_from), _ONE_OF_BYTES)["bytes"].tobytes()
    except OSError:
        return None


def arrays_in_memory(dtypes: Dtypes, fill: Fill) -> dict[str, NDArray[Any]]:
    """Return new arrays that are not cached."""
    files = {name: BytesIO() for name in dtypes}
    fill({name: Sink(files[name], dtype, is_in_memory=True) for name, dtype in dtypes.items()})
    return {name: np.frombuffer(files[name].getbuffer(), dtype) for name, dtype in dtypes.items()}


def cache_folder() -> Path:
    """Return the cache folder, which may not exist yet.

    Raises:
        OSError: there is no home folder.
    """
    try:
        return Path(_chosen_folder()).expanduser()
    except RuntimeError as error:
        raise OSError(Message("there is no home folder for it")) from error


def _chosen_folder() -> str:
    return os.environ.get("HEADLIGHT_CACHE") or "~/.cache/headlight"


def _folder_of(kind: str, made_from: Sequence[str]) -> Path:
    return cache_folder() / f"{kind}-{blake2b(json.dumps(made_from).encode(), digest_size=16).hexdigest()}"


def _write(folder: Path, dtypes: Dtypes, fill: Fill) -> None:
    """Make the arrays in a new folder, then rename it, unless another process was faster."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    _delete_unused(folder.parent)
    new = Path(mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        with ExitStack() as files:
            sinks = {
                name: Sink(files.enter_context(open(new / name, "wb")), dtype, is_in_memory=False)
                for name, dtype in dtypes.items()
            }
            fill(sinks)
        contents = {name: {"bytes": sink.n_bytes, "crc32": sink.checksum} for name, sink in sinks.items()}
        (new / "contents.json").write_text(json.dumps(contents), encoding="utf-8")
        _rename(new, folder, dtypes)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _rename(new: Path, folder: Path, dtypes: Dtypes) -> None:
    """Rename a new folder unless another process was faster; a damaged one in its place is removed."""
    for _ in range(_ATTEMPTS):
        try:
            new.rename(folder)
            return
        except OSError:
            if not folder.exists():
                raise
        with suppress(OSError):
            _read(folder, dtypes)
            return
        shutil.rmtree(folder, ignore_errors=True)
    raise OSError(Message("{folder} is damaged and cannot be removed", folder=folder))


def _read(folder: Path, dtypes: Dtypes) -> dict[str, NDArray[Any]]:
    """Check the arrays of a folder and map them.

    Raises:
        OSError: they are missing or damaged.
    """
    try:
        contents = json.loads((folder / "contents.json").read_text(encoding="utf-8"))
        for name in dtypes:
            _check(folder / name, n_bytes=contents[name]["bytes"], checksum=contents[name]["crc32"])
    except (ValueError, LookupError, TypeError) as error:
        raise OSError(Message("{folder} is damaged", folder=folder)) from error
    with suppress(OSError):
        os.utime(folder / "contents.json")  # it was used today
    return {name: _mapped(folder / name, dtype) for name, dtype in dtypes.items()}


def _check(path: Path, *, n_bytes: int, checksum: int) -> None:
    """Check a file's size and checksum without mapping it: mapped pages would count as this process's memory."""
    crc = 0
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            crc = zlib.crc32(block, crc)
    if (path.stat().st_size, crc) != (n_bytes, checksum):
        raise ValueError(f"{path} has changed since it was written")


def _mapped(path: Path, dtype: np.dtype[Any]) -> NDArray[Any]:
    if not path.stat().st_size:  # an empty file cannot be mapped
        return np.empty(0, dtype)
    return np.memmap(path, dtype, mode="r").view(np.ndarray)


def _delete_unused(cache: Path) -> None:
    """Delete sets that have not been used for a long time, including unfinished ones."""
    for folder in cache.iterdir():
        if _OURS.fullmatch(folder.name):
            mark = folder / "contents.json" if (folder / "contents.json").exists() else folder
            with suppress(OSError):
                if time.time() - mark.stat().st_mtime > _UNUSED_DAYS * 24 * 3600:
                    shutil.rmtree(folder, ignore_errors=True)
