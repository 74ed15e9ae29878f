"""Atomic writing of files and folders: write next to the destination, sync, then rename."""

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

Content = TypeVar("Content")


@contextmanager
def replacing(folder: Path, *, is_durable: bool = True) -> Iterator[Path]:
    """Yield a new, empty folder, which replaces `folder` after it has been filled.

    After an exception `folder` is unchanged. If the process dies between the two renames, the old folder has its
    `.former` name, which `settle` and `reading` know. Only one process at a time may replace a folder.

    Args:
        folder: to replace, or to create. A link is followed.
        is_durable: sync the new folder before the old one is deleted, so that even a power failure cannot destroy both;
            this may take tenths of a second.
    """
    folder = real_path(folder)
    settle(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = folder.with_name(f".{folder.name}.{uuid4().hex}.new")
    new.mkdir()
    try:
        yield new
        if is_durable:
            for path in new.iterdir():
                _sync(path)
            _sync(new)
        if folder.exists():
            folder.rename(_former(folder))
        new.rename(folder)
        if is_durable:
            _sync(folder.parent)
    finally:
        settle(folder)


def reading(folder: Path, read: Callable[[Path], Content]) -> Content:
    """Return `read(folder)` from one consistent version of a folder that may be replaced at any time.

    `read` is called again if the folder was replaced meanwhile. Between the two renames of a replacement, also if the
    process died there, `read` gets the former folder.
    """
    while True:
        version = _version(folder)
        try:
            content = read(version[0])
        except Exception:
            if _version(folder) == version:
                raise
        else:
            if _version(folder) == version:
                return content


def settle(folder: Path) -> None:
    """Restore a folder whose replacement was interrupted between its two renames, and delete leftovers."""
    former = _former(folder)
    if former.exists():
        if folder.exists():
            shutil.rmtree(former, ignore_errors=True)
        else:
            former.rename(folder)
    for left_over in folder.parent.glob(f".{escape(folder.name)}.{'[0-9a-f]' * 32}.new"):
        shutil.rmtree(left_over, ignore_errors=True)


def write_json(path: Path, values: dict[str, Any], *, is_durable: bool = True) -> None:
    """Write a JSON object atomically."""
    text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
    new = path.with_name(f".{path.name}.{uuid4().hex}.new")
    try:
        new.write_text(text, encoding="utf-8", errors="backslashreplace")  # writes a lone surrogate as JSON's \ud800
        if is_durable:
            _sync(new)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _former(folder: Path) -> Path:
    """Return the path that the old folder has while it is being replaced."""
    folder = real_path(folder)
    return folder.parent / f".{folder.name}.former"


def real_path(folder: Path) -> Path:
    """Return the path with symbolic links resolved; a loop of links is left unresolved.

    Raises:
        OSError: the path contains invalid characters.
    """
    try:
        return Path(os.path.realpath(folder))
    except ValueError as error:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL)) from error


def _version(folder: Path) -> tuple[Path, tuple[int, ...]]:
    """Return the folder to read now, and numbers that change with every replacement."""
    former = _former(folder)
    place = former if not folder.exists() and former.exists() else folder
    try:
        status = place.stat()
    except FileNotFoundError:
        return place, ()
    return place, (status.st_dev, status.st_ino, status.st_ctime_ns)


def _sync(path: Path) -> None:
    """Sync a file, or the entries of a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
