"""Checkpoints as zip files or uploads: write them, and import them safely, as they may come from untrusted sources."""

import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from io import SEEK_END, BufferedIOBase, BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any, get_args

from transformer_core.checkpoints.bring_in import WriteUnsupported, card_of
from transformer_core.checkpoints.checkpoint import (
    CARD,
    CONFIG,
    WEIGHTS,
    existing,
    is_foreign,
    read_json,
    reading_folder,
    write_parts,
)
from transformer_core.checkpoints.convert import family_of
from transformer_core.checkpoints.file_kinds import N_BYTES, FileKind, kind_by_ending, kind_in, other_kind
from transformer_core.checkpoints.folder import replacing
from transformer_core.checkpoints.foreign import open_foreign
from transformer_core.checkpoints.load import load
from transformer_core.checkpoints.location import ModelLocation
from transformer_core.checkpoints.tensor_files import OnProgress, TensorFiles
from transformer_core.config import ModelConfig
from transformer_core.devices import in_words
from transformer_core.errors import CheckpointError, ConfigError, HeadlightError, Message, UnsupportedModelError
from transformer_core.reasons import reason
from transformer_core.text.ids import META

MAX_FILES = 60  # per model; large models have several weight files
MAX_BYTES = 2 * 2**30  # total size of a model's files, unpacked
MAX_JSON_BYTES = {CONFIG: 2**20, CARD: 2**20}  # these are read often
MAX_READ_WHOLE = 2**26  # bytes of any other file except weights; such files are read into memory whole

_DENSE = ".safetensors"  # deflate hardly reduces its size
_SUFFIXES = (".json", ".yaml", _DENSE, ".txt", ".model", ".spm")  # files of a model; ours have no pickles
_ZIP = b"PK"  # the first bytes of zip files, including those of torch.save
_MAX_LISTED = 1000  # most files of an archive whose formats are checked
_MAX_READ = 2**20  # bytes; only the directory of an archive with very many files needs a larger read
_PIECE = 2**16  # bytes unpacked at a time
_THIS = Message("this model")
_TOO_LARGE = Message("this file is larger than {most}; import it by its path instead")
_LARGER = Message("{name} is larger when unpacked than this file declares; zip the model's folder again")


def pack(folder: Path, file: IO[bytes] | BufferedIOBase) -> None:
    """Write a checkpoint folder to an empty, seekable file as a zip archive with a folder of the same name.

    Raises:
        CheckpointError: the folder is not a model, or cannot be read.
    """

    def read(place: Path) -> None:
        if not (place / CONFIG).is_file():
            raise CheckpointError("there is no longer a model in {folder}; choose another", folder=folder)
        file.seek(0)
        file.truncate()
        with zipfile.ZipFile(file, "w", strict_timestamps=False) as archive:
            for path in sorted(place.iterdir()):
                if path.is_file() and path.suffix in _SUFFIXES:
                    kind = zipfile.ZIP_STORED if path.suffix == _DENSE else zipfile.ZIP_DEFLATED
                    archive.write(path, f"{folder.name}/{path.name}", kind)

    reading_folder(folder, read)


Files = BufferedIOBase | Mapping[str, BufferedIOBase]
"""A zip file, a file of weights, or the files of a model by their names; all seekable."""


def unpack(
    files: Files,
    folder: Path,
    *,
    max_bytes: int = MAX_BYTES,
    options: Mapping[str, Any] | None = None,
    on_progress: OnProgress | None = None,
    otherwise: WriteUnsupported | None = None,
) -> None:
    """Load the model in some files and save it as a new checkpoint folder; Hugging Face folders are converted.

    The list of files is checked first: only kinds of files that models have, no links, no paths outside the folder, at
    most `max_bytes` in total. Other files are ignored, and torch.save files are used only if there are no safetensors.
    Declared sizes are not trusted while unpacking.

    Args:
        files: of the model.
        folder: the folder to create. Its name becomes the title of a model without a card.
        max_bytes: limit on the total unpacked size of all files.
        options: as for `load`.
        on_progress: called with bytes done, total bytes, and a description.
        otherwise: as for `bring_in`.

    Raises:
        UndecidedError: as from `load`.
        UnknownLayoutError: as from `load`.
        CheckpointError: not a zip file, not a model, too large, or damaged; nothing is left behind.
    """
    if folder.exists():
        raise CheckpointError("there is a folder {name!r} already; give the model another name", name=folder.name)
    with _explained(), replacing(folder) as new:
        unpacked = new / "unpacked"
        unpacked.mkdir()
        place = _put(files, unpacked, folder.name, max_bytes)
        with _without_path(unpacked):
            try:
                _take_in(unpacked, new, folder.name, place, options, on_progress)
            except UnsupportedModelError as error:
                if otherwise is None or place != unpacked:
                    raise
                otherwise(unpacked, new, folder.name, error)
        shutil.rmtree(unpacked)


def put(files: Files, folder: Path, *, max_bytes: int = MAX_BYTES) -> ModelLocation:
    """Write the files of a model into an empty folder, without loading it, and return its location.

    Raises:
        CheckpointError: as from `unpack`.
    """
    with _explained():
        return ModelLocation(_put(files, folder, "model", max_bytes), _THIS)


@contextmanager
def _explained() -> Iterator[None]:
    """Raise the errors of zip files and of the disk as CheckpointError."""
    try:
        yield
    except HeadlightError:
        raise
    except (EOFError, NotImplementedError, RuntimeError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise CheckpointError(
            "this zip file cannot be read ({error}); zip the model's folder again", error=reason(error)
        ) from error
    except OSError as error:
        raise CheckpointError(
            "the model cannot be saved ({error}); free some disk space, then try again", error=reason(error)
        ) from error


@contextmanager
def _without_path(folder: Path) -> Iterator[None]:
    """Raise errors as CheckpointError that does not name a temporary folder."""
    try:
        yield
    except HeadlightError as error:
        renamed = error.replaced(f"{folder}/", "").replaced(str(folder), _THIS)
        raise (renamed if isinstance(renamed, CheckpointError) else CheckpointError(renamed.message)) from error


def _put(files: Files, folder: Path, name: str, max_bytes: int) -> Path:
    """Write the files of a model into one folder; return the folder, or the file of this name if there is only one."""
    if isinstance(files, Mapping) and len(files) != 1:
        _extract(_Uploads(files), folder, max_bytes)
        return folder
    given, file = next(iter(files.items())) if isinstance(files, Mapping) else ("", files)
    file.seek(0)
    head = file.read(N_BYTES)
    file.seek(0)
    ending = PurePosixPath(given).suffix
    is_zip = head.startswith(_ZIP) or (ending.lower() in ("", ".zip") and not other_kind(head))
    if kind_in(BytesIO(head)) or not is_zip:
        path = folder / f"{name.removesuffix(ending)}{ending}"
        _copy(file, path, max_bytes, Message(_TOO_LARGE, most=in_words(max_bytes)))
        return path
    with zipfile.ZipFile(_Careful(file)) as archive:
        _extract(archive, folder, max_bytes)
    return folder


def _extract(archive: "zipfile.ZipFile | _Uploads", folder: Path, n_left: int) -> None:
    """Unpack the files of a model into one folder."""
    for member in _chosen(archive, n_left):
        name = PurePosixPath(member.filename).name
        with archive.open(member) as packed:
            n_left -= _copy(packed, folder / name, min(n_left, member.file_size), Message(_LARGER, name=name))


def _take_in(
    unpacked: Path,
    new: Path,
    name: str,
    place: Path,
    options: Mapping[str, Any] | None,
    on_progress: OnProgress | None,
) -> None:
    """Load the unpacked model, a folder or a file, and write it as a checkpoint of ours; no original file is kept."""
    try:
        _refuse_boundless(place, options)
        notes: list[Message] = []
        model, tokenizer = load(
            ModelLocation(place, _THIS), options=options, on_progress=on_progress, on_note=notes.append
        )
        write_parts(new, model, tokenizer, card_of(unpacked, model, tokenizer, name=name, notes=notes, options=options))
    except HeadlightError:
        raise
    except (MemoryError, RuntimeError) as error:  # from torch, for absurd sizes
        raise CheckpointError(
            "{what} cannot be loaded ({error:.150}); choose another",
            what=_THIS,
            error=str(error).splitlines()[0],
        ) from error


def _refuse_boundless(folder: Path, options: Mapping[str, Any] | None) -> None:
    """Check, before building a model, that its configuration has no more layers than there are weight tensors."""
    if is_foreign(folder):
        opened = open_foreign(folder, where=_THIS, options=options)
        config = family_of(opened.values, where=_THIS).config(opened.values, where=CONFIG)
        n_tensors = len(opened.files)
    else:
        try:
            config = ModelConfig.from_dict(read_json(folder, CONFIG))
        except (AttributeError, ConfigError, TypeError) as error:
            raise CheckpointError("{config} does not describe a model: {error}", config=CONFIG, error=error) from error
        n_tensors = len(TensorFiles([existing(folder, WEIGHTS)]))
    n_layers = config.n_encoder_layers + config.n_decoder_layers
    if n_layers > n_tensors:
        raise CheckpointError(
            "{config} specifies {n_layers:,} layers, but there are only {n_tensors:,} weight tensors; the two files "
            "do not match",
            config=CONFIG,
            n_layers=n_layers,
            n_tensors=n_tensors,
        )


def _chosen(archive: "zipfile.ZipFile | _Uploads", max_bytes: int) -> list[zipfile.ZipInfo]:
    """Return the files to unpack: those of the topmost folder with a configuration."""
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
            kind == weights if kind else path.suffix in _SUFFIXES or path.name == META
        ):
            chosen.append(info)
    _refuse_bad_members(chosen, kinds)
    if not any(kinds.get(info.filename) for info in chosen):
        raise CheckpointError(
            "this file does not contain weights ({ending}); zip the whole folder of the model", ending=_DENSE
        )
    n_bytes = sum(info.file_size for info in chosen)
    if n_bytes > max_bytes:
        raise CheckpointError(
            "this model takes {size} when unpacked, more than the {most} allowed; import it from its folder instead",
            size=in_words(n_bytes),
            most=in_words(max_bytes),
        )
    return chosen


def _kind_of(archive: "zipfile.ZipFile | _Uploads", info: zipfile.ZipInfo) -> FileKind | None:
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


def _copy(source: IO[bytes] | BufferedIOBase, path: Path, room: int, too_large: Message) -> int:
    """Write a file in pieces, and return its size; raise `too_large` if it is larger than `room`."""
    n_bytes = 0
    with path.open("wb") as copy:
        while part := source.read(_PIECE):
            n_bytes += len(part)
            if n_bytes > room:
                raise CheckpointError(too_large)
            copy.write(part)
    return n_bytes


class _Careful:
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


class _Uploads:
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
