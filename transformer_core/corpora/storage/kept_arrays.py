"""Arrays that are costly to make and large to hold: made once, kept in the cache folder, read from the disk.

A set of arrays is a folder: one file of raw numbers for each, and contents.json, which says how many there are and
their checksums. It is filled under another name and renamed when it is whole; should it be damaged all the same, it is
made again. What is no array, such as the JSON of a tokenizer, is kept as one of bytes. The cache folder is
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
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, BinaryIO, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from transformer_core.errors import CorpusError, Message
from transformer_core.reasons import reason

_MOST_IN_MEMORY = 256 * 2**20  # bytes of an array; what is larger needs the folder
_BLOCK = 2**20  # bytes that are read at a time
_OURS = re.compile(r"\.?[a-z]+-[0-9a-f]{32}(\.\w+)?")  # names of sets; nothing else in the cache folder is ever deleted
_ATTEMPTS = 3  # to replace a damaged set, while other processes try the same
_UNUSED_DAYS = 60.0  # after so long, a set is deleted when another one is written

Dtypes = Mapping[str, np.dtype[Any]]
"""The names of some arrays, and what numbers they hold."""

_ONE_OF_BYTES: Dtypes = {"bytes": np.dtype(np.uint8)}


@runtime_checkable
class Sink(Protocol):
    """What takes an array piece by piece."""

    def append(self, numbers: NDArray[Any]) -> None:
        """Take the next numbers."""
        ...


Fill = Callable[[Mapping[str, Sink]], None]
"""Makes arrays from their beginnings to their ends, into the sink of each; it may be called a second time."""


def kept_arrays(
    kind: str, made_from: Sequence[str], dtypes: Dtypes, fill: Fill, *, keep: bool = True
) -> dict[str, NDArray[Any]]:
    """Return the arrays that were made from something; where they are missing or damaged, they are made.

    Args:
        kind: a word for what they are.
        made_from: all that they depend on: fingerprints, versions, settings.
        dtypes: what there is to make.
        fill: makes it. An `OSError` that comes out of it is taken for one of the cache folder.
        keep: False for what is faster to make than to look up: it is made in memory.

    Returns:
        Arrays of one axis, not to be written, read from the disk where they are looked at. Where the cache folder
        cannot be written, arrays of up to 256 MiB each are made in memory instead.

    Raises:
        CorpusError: they are larger, and the folder cannot be written.
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
    """Return the bytes that were made from something; where they are missing or damaged, they are made.

    Args:
        kind: a word for what they are.
        made_from: all that they depend on.
        make: makes them.
    """
    make_once = cache(make)  # should the disk turn out to be full, it is asked twice
    arrays = kept_arrays(
        kind, made_from, _ONE_OF_BYTES, lambda sinks: sinks["bytes"].append(np.frombuffer(make_once(), np.uint8))
    )
    return arrays["bytes"].tobytes()


def found_bytes(kind: str, made_from: Sequence[str]) -> bytes | None:
    """Return the bytes that `kept_bytes` kept, or None where they are missing or damaged; nothing is made."""
    try:
        return _read(_folder_of(kind, made_from), _ONE_OF_BYTES)["bytes"].tobytes()
    except OSError:
        return None


def arrays_in_memory(dtypes: Dtypes, fill: Fill) -> dict[str, NDArray[Any]]:
    """Return the arrays, made anew and kept nowhere."""
    sinks = {name: _MemorySink(dtype) for name, dtype in dtypes.items()}
    fill(sinks)
    return {name: np.concatenate(sink.pieces) for name, sink in sinks.items()}


def cache_folder() -> Path:
    """Return the folder for what can be made again; it may not exist yet.

    Raises:
        OSError: the system does not say where the home folder is.
    """
    try:
        return Path(_chosen_folder()).expanduser()
    except RuntimeError as error:
        raise OSError(Message("there is no home folder for it")) from error


def _chosen_folder() -> str:
    return os.environ.get("HEADLIGHT_CACHE") or "~/.cache/headlight"


def _folder_of(kind: str, made_from: Sequence[str]) -> Path:
    """Return the folder of a set of arrays; it may not exist yet.

    Raises:
        OSError: the system does not say where the home folder is.
    """
    return cache_folder() / f"{kind}-{blake2b(json.dumps(made_from).encode(), digest_size=16).hexdigest()}"


class _TooLargeError(Exception):
    """An array is larger than it may be in memory."""


class _MemorySink:
    """Collects an array."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.pieces: list[NDArray[Any]] = [np.empty(0, dtype)]
        self.n_bytes = 0

    def append(self, numbers: NDArray[Any]) -> None:
        self.pieces.append(numbers.astype(self.pieces[0].dtype))
        self.n_bytes += self.pieces[-1].nbytes
        if self.n_bytes > _MOST_IN_MEMORY:
            raise _TooLargeError


class _FileSink:
    """Writes an array to a file."""

    def __init__(self, file: BinaryIO, dtype: np.dtype[Any]) -> None:
        self.file, self.dtype = file, dtype
        self.n_bytes, self.checksum = 0, 0

    def append(self, numbers: NDArray[Any]) -> None:
        raw = numbers.astype(self.dtype).tobytes()
        self.file.write(raw)
        self.n_bytes += len(raw)
        self.checksum = zlib.crc32(raw, self.checksum)


def _write(folder: Path, dtypes: Dtypes, fill: Fill) -> None:
    """Make the arrays in a new folder, then rename that; where another process was faster, its folder stands."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    _delete_unused(folder.parent)
    new = Path(mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        with ExitStack() as files:
            sinks = {
                name: _FileSink(files.enter_context(open(new / name, "wb")), dtype) for name, dtype in dtypes.items()
            }
            fill(sinks)
        contents = {name: {"bytes": sink.n_bytes, "crc32": sink.checksum} for name, sink in sinks.items()}
        (new / "contents.json").write_text(json.dumps(contents), encoding="utf-8")
        _rename(new, folder, dtypes)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _rename(new: Path, folder: Path, dtypes: Dtypes) -> None:
    """Give a new folder its name, unless another process was faster; a damaged one that stands there is removed."""
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
    """Compare a file with what is known of it, without mapping it: mapped pages would count as memory of ours."""
    crc = 0
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            crc = zlib.crc32(block, crc)
    if (path.stat().st_size, crc) != (n_bytes, checksum):
        raise ValueError(f"{path} is not as it was written")


def _mapped(path: Path, dtype: np.dtype[Any]) -> NDArray[Any]:
    if not path.stat().st_size:  # nothing cannot be mapped
        return np.empty(0, dtype)
    return np.memmap(path, dtype, mode="r").view(np.ndarray)


def _delete_unused(cache: Path) -> None:
    """Delete what was not used for a long time: whole sets, and those that a process did not live to finish."""
    for folder in cache.iterdir():
        if _OURS.fullmatch(folder.name):
            mark = folder / "contents.json" if (folder / "contents.json").exists() else folder
            with suppress(OSError):
                if time.time() - mark.stat().st_mtime > _UNUSED_DAYS * 24 * 3600:
                    shutil.rmtree(folder, ignore_errors=True)
