"""Files and folders that are never seen half written: made beside their place, synced, then renamed."""

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
    """Give a new folder to fill; when that is done it takes the place of `folder`, whole.

    After an exception `folder` is as it was. A process that dies between the two renames leaves the former folder
    under its `.former` name, where `settle` and `reading` find it. Only one process at a time may replace a folder.

    Args:
        folder: the place; it may exist or not. A link is followed.
        is_durable: whether the disk has it all before the former folder goes, so that not even a power failure can
            take both; syncing may take tenths of a second.

    Yields:
        an empty folder beside it.
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
    """Return `read(folder)`, all of it from one version of a folder that may be replaced at any moment.

    Between the two renames of a replacement, and after a process that died there, the former folder is read.

    Args:
        folder: the place.
        read: reads the files of the folder that it is given; called again if that was replaced meanwhile.
    """
    while True:
        standing = _standing(folder)
        try:
            content = read(standing[0])
        except Exception:
            if _standing(folder) == standing:
                raise
        else:
            if _standing(folder) == standing:
                return content


def settle(folder: Path) -> None:
    """Bring back a folder whose replacement was cut off between its two renames, and drop what a cut-off left over."""
    former = _former(folder)
    if former.exists():
        if folder.exists():
            shutil.rmtree(former, ignore_errors=True)
        else:
            former.rename(folder)
    for left_over in folder.parent.glob(f".{escape(folder.name)}.{'[0-9a-f]' * 32}.new"):
        shutil.rmtree(left_over, ignore_errors=True)


def write_json(path: Path, values: dict[str, Any], *, is_durable: bool = True) -> None:
    """Write a JSON object; readers see the former file or the new one, never a part."""
    text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
    new = path.with_name(f".{path.name}.{uuid4().hex}.new")
    try:
        new.write_text(text, encoding="utf-8", errors="backslashreplace")  # a lone surrogate as JSON's \ud800
        if is_durable:
            _sync(new)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _former(folder: Path) -> Path:
    """Return where a folder waits while the new one takes its place."""
    folder = real_path(folder)
    return folder.parent / f".{folder.name}.former"


def real_path(folder: Path) -> Path:
    """Return the folder that a link leads to; one of a loop of links as it is.

    Raises:
        OSError: no path has such characters.
    """
    try:
        return Path(os.path.realpath(folder))
    except ValueError as error:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL)) from error


def _standing(folder: Path) -> tuple[Path, tuple[int, ...]]:
    """Return where the folder is to be read now, and numbers that differ after every replacement."""
    former = _former(folder)
    place = former if not folder.exists() and former.exists() else folder
    try:
        status = place.stat()
    except FileNotFoundError:
        return place, ()
    return place, (status.st_dev, status.st_ino, status.st_ctime_ns)


def _sync(path: Path) -> None:
    """Ask the system to put a file, or a folder's list of names, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
