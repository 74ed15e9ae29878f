"""Tensors of one or several safetensors files, read on demand, and the search for a model's weight files."""

import ctypes
import json
import mmap
import re
import struct
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from transformer_core.cached_property import cached_property
from transformer_core.checkpoints.file_kinds import FileKind, kind_by_ending, kind_elsewhere, kind_of
from transformer_core.checkpoints.wrappers import LazyTensors
from transformer_core.devices import in_words
from transformer_core.errors import NO_MESSAGE, CheckpointError, Message
from transformer_core.reasons import reason

ADAPTER = "adapter_config.json"  # written by PEFT
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"

OnProgress = Callable[[int, int, Message], None]
"""Called with bytes done, total bytes, and a description, in the calling thread."""

_DTYPES = {  # by their names in the format
    **{"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16},
    **{"I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8},
    **{"BOOL": torch.bool, "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2},
}
MAX_HEADER = 2**23  # bytes; the largest models need a twentieth of this
_PICKLED, _PICKLED_INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
_NO_WEIGHTS = re.compile(  # of trainers, nanochat and LitGPT
    r"(optim_\d+\w*|optimizer|scheduler|scaler|rng_state.*|training_args|adapter_model|vocab.*|token_bytes)\.[a-z]+"
    r"|.+\.lora"
)
_SHARD = re.compile(r"(?P<stem>.+)-(?P<i>\d{5})-of-(?P<n>\d{5})(?P<ending>\.\w+)")
_PARALLEL = "consolidated.[0-9][0-9].pth"  # Meta's Llama, cut for several GPUs
_STEP = re.compile(r"checkpoint-(\d{1,12})")  # folders written by the `transformers` Trainer
_MOST_LISTED = 1000  # most files checked per folder


class TensorFiles(LazyTensors):
    """The tensors of some safetensors files by their keys.

    Each tensor is a view of its memory-mapped file, which the system reads on access. After the next one is read, its
    pages no longer count as memory, so that loading a model takes little more than its weights.
    """

    def __init__(
        self, paths: Sequence[Path], *, on_progress: OnProgress | None = None, what: Message = NO_MESSAGE
    ) -> None:
        """Open the files.

        Args:
            paths: the files, which may be replaced but not modified while their tensors are in use.
            on_progress: called after each tensor.
            what: the description in `on_progress`.

        Raises:
            CheckpointError: a file is missing, truncated or damaged, or a key occurs twice.
        """
        self._files: dict[str, tuple[Path, Any]] = {}
        self._keys = self._files
        self._sizes: dict[str, int] = {}
        self._mapped: set[int] = set()
        self._last: tuple[int, int] = (0, 0)  # address and bytes of the tensor that was read last
        self._on_progress, self._what = on_progress, what
        for path in paths:
            _refuse_long_header(path)
            try:
                file = safe_open(path, framework="pt")
                keys = file.keys()
            except (OSError, SafetensorError, ValueError) as error:
                if not path.is_file():
                    raise CheckpointError("{path} is missing; copy or download the model again", path=path) from error
                refuse_unreadable(path)
                raise _damaged(path, error) from error
            for key in keys:
                if key in self._files:
                    raise CheckpointError(
                        "{path} contains {name!r}, which is also in {other}",
                        path=path,
                        name=key,
                        other=self._files[key][0].name,
                    )
                self._files[key] = path, file
                self._sizes[key] = self.shape(key).numel() * self.dtype(key).itemsize
        self._unread = dict(self._sizes)
        self._n_read = 0  # bytes

    def __getitem__(self, key: str) -> Tensor:
        """Return a tensor on the CPU.

        Raises:
            KeyError: there is no such tensor.
            CheckpointError: its file is damaged.
        """
        path, file = self._files[key]
        try:
            tensor: Tensor = file.get_tensor(key)
        except (OSError, SafetensorError, ValueError) as error:
            raise _damaged(path, error) from error
        self._mapped.add(tensor.untyped_storage().data_ptr())
        _drop_pages(*self._last)
        self._last = tensor.data_ptr(), tensor.nbytes
        if (n_bytes := self._unread.pop(key, 0)) and self._on_progress is not None:
            self._n_read += n_bytes
            self._on_progress(self._n_read, self.n_bytes, self._what)
        return tensor

    @cached_property
    def n_bytes(self) -> int:
        """Total size of the tensors in bytes."""
        return sum(self._sizes.values())

    def shape(self, key: str) -> torch.Size:
        """Return a tensor's shape, without reading it."""
        return torch.Size(self._files[key][1].get_slice(key).get_shape())

    def dtype(self, key: str) -> torch.dtype:
        """Return a tensor's dtype, without reading it.

        Raises:
            CheckpointError: it is unsupported.
        """
        path, file = self._files[key]
        name = file.get_slice(key).get_dtype()
        if name not in _DTYPES:
            raise CheckpointError(
                "{path}: {key!r} has type {name}, which is not supported; choose another version",
                path=path,
                key=key,
                name=name,
            )
        return _DTYPES[name]

    def is_view(self, tensor: Tensor) -> bool:
        """Return whether a tensor is a view of one of these files."""
        return tensor.untyped_storage().data_ptr() in self._mapped


def _drop_pages(address: int, n_bytes: int) -> None:
    """Drop the pages of a mapped file from this process; the system reads them again on access."""
    first = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
    n_whole = (address + n_bytes - first) // mmap.PAGESIZE * mmap.PAGESIZE
    if sys.platform == "linux" and n_whole > 0:
        ctypes.CDLL(None).madvise(ctypes.c_void_p(first), ctypes.c_size_t(n_whole), mmap.MADV_DONTNEED)


def _refuse_long_header(path: Path) -> None:
    """Check the length of a file's header before reading it: a header of a million tensors would take minutes."""
    try:
        with path.open("rb") as file:
            (n_bytes,) = struct.unpack("<Q", file.read(8).ljust(8, b"\0"))
    except OSError:
        return  # opening the file will report the problem
    if MAX_HEADER < n_bytes < path.stat().st_size:  # a header longer than its file is damaged
        raise CheckpointError(
            "the header of {path} takes {size}, but that of a model is at most {most}; it describes too many tensors",
            path=path,
            size=in_words(n_bytes),
            most=in_words(MAX_HEADER),
        )


def find_tensor_files(folder: Path, *, where: str | Message) -> list[Path]:
    """Return the weight files of a model folder: a single file, or the parts that an index lists or their names show.

    Safetensors files take precedence over those of torch.save.

    Args:
        folder: the model's folder, which may contain other files.
        where: name of the folder in messages.

    Raises:
        CheckpointError: no weights, several candidates, a damaged index, or a missing part.
    """
    for weights, index in ((WEIGHTS, INDEX), (_PICKLED, _PICKLED_INDEX)):
        if (folder / weights).is_file():
            return [folder / weights]
        if (folder / index).is_file():
            return [folder / name for name in _parts(folder / index)]
    by_kind: dict[FileKind, list[Path]] = {kind: [] for kind in get_args(FileKind)}
    files = weight_files(folder)
    for path in [path for path in files if kind_of(path)] or files:  # an ending alone means little
        by_kind[kind_of(path) or kind_by_ending(path) or "torch"].append(path)
    for paths in by_kind.values():
        if paths and with_other_parts(paths[0]) == paths:
            return paths
        if paths:
            raise CheckpointError(
                "{where} has several weight files, {files}; give the path of one of them",
                where=where,
                files=", ".join(path.name for path in paths[:4]),
            )
    if inside := folders_with_weights(folder):
        raise CheckpointError(
            "{where} has no weights itself, but its folder {inside} has; give the path of that",
            where=where,
            inside=Message.joined(Message(" or "), inside[:4]),
        )
    for path in sorted(islice(folder.glob("[!.]*.*"), _MOST_LISTED)):
        if path.is_file() and (what := kind_elsewhere(path)):
            raise CheckpointError("{path} does not contain weights that can be read here: {what}", path=path, what=what)
    raise CheckpointError("{where} has no weights ({file}); copy the whole model", where=where, file=WEIGHTS)


def weight_files(folder: Path) -> list[Path]:
    """Return the weight files in a folder, recognized by content or ending."""
    return sorted(
        path
        for path in islice(folder.glob("[!.]*"), _MOST_LISTED)
        if path.is_file() and not _NO_WEIGHTS.fullmatch(path.name) and (kind_of(path) or kind_by_ending(path))
    )


def folders_with_weights(folder: Path) -> list[str]:
    """Return the names of the subfolders that contain weights, out of the first hundred."""
    places = sorted(islice((place for place in folder.glob("[!.]*") if place.is_dir()), 100))
    return [place.name for place in places if weight_files(place)]


def newest_of_training(folder: Path) -> Path:
    """Return the latest of a training's folders checkpoint-500, checkpoint-1000, ...

    A folder that contains weights or no such folders is returned unchanged, as is any other path.
    """
    if not folder.is_dir() or weight_files(folder) or (folder / ADAPTER).is_file():
        return folder
    steps = {int(match[1]): place for place in folder.iterdir() if (match := _STEP.fullmatch(place.name))}
    return steps[max(steps)] if steps else folder


def with_other_parts(path: Path) -> list[Path]:
    """Return a weight file, together with the other parts if its name marks it as one of several.

    Raises:
        CheckpointError: a part is missing, or the parts contain pieces of tensors.
    """
    match = _SHARD.fullmatch(path.name)
    if match is None:
        _refuse_pieces(path)
        return [path]
    names = [f"{match['stem']}-{i:05}-of-{match['n']}{match['ending']}" for i in range(1, int(match["n"]) + 1)]
    _refuse_missing(path.parent, names)
    return [path.with_name(name) for name in names]


def _refuse_pieces(path: Path) -> None:
    """Check that a file does not contain pieces of tensors, whose others are in the files next to it."""
    names = sorted(other.name for other in islice(path.parent.glob(_PARALLEL), _MOST_LISTED))
    if path.name in names and len(names) > 1:
        raise CheckpointError(
            "{folder} contains one model cut into {n} files for as many GPUs, {files}, which are not joined here; "
            "choose the version of this model for the transformers library",
            folder=path.parent,
            n=len(names),
            files=", ".join(names[:4]) + (" …" if len(names) > 4 else ""),
        )


def only_pickles(where: str | Message, pickle: str) -> Message:
    """Return the message for a Hub model whose weights are pickles, which are not downloaded."""
    return Message(
        "{where} has its weights in {pickle}, and pickles are not downloaded from the Hub; "
        "choose a version with {file}, or download the model and give the path of its folder",
        where=where,
        pickle=pickle,
        file=WEIGHTS,
    )


def _parts(path: Path) -> list[str]:
    """Return the names of the files in an index, each once."""
    folder = path.parent
    try:
        parts = sorted(set(json.loads(path.read_text(encoding="utf-8-sig"))["weight_map"].values()))
        is_whole = bool(parts) and all(Path(name).name == name for name in parts)
    except (AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError):
        is_whole = False
    if not is_whole:
        raise CheckpointError("{path} is damaged: it does not list the weight files; copy it again", path=path)
    _refuse_missing(folder, parts)
    return parts


def _refuse_missing(folder: Path, parts: Sequence[str]) -> None:
    for name in parts:
        if not (folder / name).is_file():
            raise CheckpointError(
                "{folder} lacks {name}, one of {n} weight files; copy the whole model",
                folder=folder,
                name=name,
                n=len(parts),
            )


def refuse_unreadable(path: Path) -> None:
    """Check that a file can be opened: otherwise the libraries would report it as missing or damaged.

    Raises:
        CheckpointError: it cannot.
    """
    try:
        path.open("rb").close()
    except OSError as error:
        raise CheckpointError("{path} cannot be read ({error})", path=path, error=reason(error)) from error


def _damaged(path: Path, error: Exception) -> CheckpointError:
    if path.is_file() and not path.stat().st_size:
        return CheckpointError("{path} is empty; copy or download it again", path=path)
    return CheckpointError(
        "{path} is damaged or truncated ({error}); copy, download or train it again",
        path=path,
        error=reason(error),
    )
