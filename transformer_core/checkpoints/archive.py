"""Checkpoints as zip files or uploads: write them, and import them safely, as they may come from untrusted sources."""

import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedIOBase, BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any

from transformer_core.checkpoints.archive_files import DENSE, SUFFIXES, CarefulZip, Uploads, files_of_model
from transformer_core.checkpoints.bring_in import WriteUnsupported, card_of
from transformer_core.checkpoints.checkpoint import (
    CONFIG,
    WEIGHTS,
    existing,
    is_foreign,
    read_json,
    reading_folder,
    write_parts,
)
from transformer_core.checkpoints.convert import family_of
from transformer_core.checkpoints.file_kinds import N_BYTES, kind_in, other_kind
from transformer_core.checkpoints.folder import replacing
from transformer_core.checkpoints.foreign import open_foreign
from transformer_core.checkpoints.load import load
from transformer_core.checkpoints.location import ModelLocation
from transformer_core.checkpoints.tensor_files import OnProgress, TensorFiles
from transformer_core.config import ModelConfig
from transformer_core.devices import in_words
from transformer_core.errors import CheckpointError, ConfigError, HeadlightError, Message, UnsupportedModelError
from transformer_core.reasons import reason

MAX_BYTES = 2 * 2**30  # total size of a model's files, unpacked

_ZIP = b"PK"  # the first bytes of zip files, including those of torch.save
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
                if path.is_file() and path.suffix in SUFFIXES:
                    kind = zipfile.ZIP_STORED if path.suffix == DENSE else zipfile.ZIP_DEFLATED
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
        _extract(Uploads(files), folder, max_bytes)
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
    with zipfile.ZipFile(CarefulZip(file)) as archive:
        _extract(archive, folder, max_bytes)
    return folder


def _extract(archive: zipfile.ZipFile | Uploads, folder: Path, n_left: int) -> None:
    """Unpack the files of a model into one folder."""
    for member in files_of_model(archive, n_left):
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
