"""The files of an archive, or of an upload, that belong to a model; its list of files is checked first."""

import stat
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from io import SEEK_END, BufferedIOBase
from pathlib import PurePosixPath
from typing import Any, get_args

from transformer_core.checkpoints.checkpoint import CARD, CONFIG
from transformer_core.checkpoints.file_kinds import FileKind, kind_by_ending, kind_in
from transformer_core.devices import in_words
from transformer_core.errors import CheckpointError
from transformer_core.text.ids import META

MAX_FILES = 60  # per model; large models have several weight files
MAX_JSON_BYTES = {CONFIG: 2**20, CARD: 2**20}  # these are read often
MAX_READ_WHOLE = 2**26  # bytes of any other file except weights; such files are read into memory whole
DENSE = ".safetensors"  # deflate hardly reduces its size
SUFFIXES = (".json", ".yaml", DENSE, ".txt", ".model", ".spm")  # files of a model; ours have no pickles
_MAX_LISTED = 1000  # most files of an archive whose formats are checked
_MAX_READ = 2**20  # bytes; only the directory of an archive with very many files needs a larger read


class CarefulZip:
    """A zip file that refuses large reads, which only the directory of an archive with very many files would need."""

    def __init__(self, file: BufferedIOBase) -> None:
        self.seek, self.tell, self._read = file.seek, file.tell, file.read

    def seekable(self) -> bool:
        """Return True: zip files are read from their end."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, at most `_MAX_READ`."""
        part = self._read(size if 0 <= size <= _MAX_READ else _MAX_READ + 1)
        if len(part) > _MAX_READ:
            raise CheckpointError("this file contains far more files than a model has; zip only the model's folder")
        return part


class Uploads:
    """Files by name, with the interface of a zip file."""

    def __init__(self, files: Mapping[str, BufferedIOBase]) -> None:
        self._files = files

    def infolist(self) -> list[zipfile.ZipInfo]:
        """Return the names and sizes of the files."""
        members = [zipfile.ZipInfo(name) for name in self._files]
        for member in members:
            member.file_size = self._files[member.filename].seek(0, SEEK_END)
        return members

    def open(self, member: zipfile.ZipInfo) -> AbstractContextManager[Any]:
        """Return a file at its beginning; it stays open."""
        file = self._files[member.filename]
        file.seek(0)
        return nullcontext(file)


def files_of_model(archive: zipfile.ZipFile | Uploads, max_bytes: int) -> list[zipfile.ZipInfo]:
    """Return the files to unpack: those of the topmost folder with a configuration.

    Raises:
        CheckpointError: it has no model, one of more than `max_bytes`, or files that cannot be unpacked safely.
    """
    files = [info for info in archive.infolist() if not info.is_dir()]
    for info in files:
        path = PurePosixPath(info.filename)
        if path.is_absolute() or ".." in path.parts or "\\" in info.filename or ":" in info.filename:
            raise CheckpointError(
                "this file contains {name!r}, a path outside its folder, so it was not imported; zip the "
                "files of one model",
                name=info.filename[:60],
            )
    places = [PurePosixPath(info.filename).parent for info in files if PurePosixPath(info.filename).name == CONFIG]
    kinds = {info.filename: _kind_of(archive, info) for info in files[:_MAX_LISTED]}
    places = places or [PurePosixPath(info.filename).parent for info in files if kinds.get(info.filename)]
    if not places:
        raise CheckpointError(
            "this is not a model: it contains neither {config} nor weights; choose the files of a model, or zip "
            "its folder",
            config=CONFIG,
        )
    place = min(places, key=lambda place: len(place.parts))
    siblings = [info for info in files if PurePosixPath(info.filename).parent == place]
    in_place = {kinds.get(info.filename) for info in siblings}
    weights = next((kind for kind in get_args(FileKind) if kind in in_place), None)
    chosen = []
    for info in siblings:
        path, kind = PurePosixPath(info.filename), kinds.get(info.filename)
        if not path.name.startswith(".") and (
            kind == weights if kind else path.suffix in SUFFIXES or path.name == META
        ):
            chosen.append(info)
    _refuse_bad_members(chosen, kinds)
    if not any(kinds.get(info.filename) for info in chosen):
        raise CheckpointError(
            "this file does not contain weights ({ending}); zip the whole folder of the model", ending=DENSE
        )
    n_bytes = sum(info.file_size for info in chosen)
    if n_bytes > max_bytes:
        raise CheckpointError(
            "this model takes {size} when unpacked, more than the {most} allowed; import it from its folder instead",
            size=in_words(n_bytes),
            most=in_words(max_bytes),
        )
    return chosen


def _kind_of(archive: zipfile.ZipFile | Uploads, info: zipfile.ZipInfo) -> FileKind | None:
    """Return the format of a weight file, determined from its content, or from its ending if that is unreadable."""
    is_readable = not info.flag_bits & 1 and info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if is_readable:
        with archive.open(info) as packed:
            if kind := kind_in(packed):
                return kind
    return kind_by_ending(PurePosixPath(info.filename))


def _refuse_bad_members(members: Sequence[zipfile.ZipInfo], kinds: Mapping[str, FileKind | None]) -> None:
    """Check that all files can be unpacked into one folder."""
    if len(members) > MAX_FILES:
        raise CheckpointError(
            "this file contains {n:,} files apart from {config}, but a model has at most {most}",
            n=len(members),
            config=CONFIG,
            most=MAX_FILES,
        )
    names = [PurePosixPath(info.filename).name.lower() for info in members]  # as on case-insensitive systems
    for info, name in zip(members, names, strict=True):
        if stat.S_ISLNK(info.external_attr >> 16):
            raise CheckpointError(
                "{name} is a symbolic link in this file; zip the files themselves (zip without --symlinks)", name=name
            )
        if info.flag_bits & 1:
            raise CheckpointError("this file is password-protected; zip the model's folder without a password")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise CheckpointError(
                "{name} uses an unsupported compression method; create an ordinary zip file", name=name
            )
        if names.count(name) > 1:
            raise CheckpointError("this file contains {name} twice; zip the model's folder again", name=name)
        is_read_whole = kinds.get(info.filename) is None
        if is_read_whole and info.file_size > MAX_JSON_BYTES.get(name, MAX_READ_WHOLE):
            raise CheckpointError(
                "{name} takes {size}, too much for this file of a model; check that it is the right file",
                name=name,
                size=in_words(info.file_size),
            )
