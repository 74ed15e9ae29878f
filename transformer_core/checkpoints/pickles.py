"""Reading files of `torch.save`, which are pickles, by torch's allow-list.

The list contains tensors, numbers, texts and their containers; `_HARMLESS` is added, and records of settings, such as
GPTConfig, are read as `Settings`, without their class. Anything else in a pickle could run code, so the file is
refused.
"""

import argparse
import pathlib
import pickle
import re
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transformer_core.checkpoints.tensor_files import OnProgress, refuse_unreadable
from transformer_core.checkpoints.wrappers import EXTRA_STATE
from transformer_core.errors import NO_MESSAGE, CheckpointError, Message

WRAPPED_IN = ("model", "state_dict", "model_state_dict")  # usual keys of the weights in training checkpoints
_OF_TRAINING = ("optim", "sched", "scaler", "ema")  # parts of the keys of other state there
_HARMLESS: list[Any] = [  # settings and measurements, which many programs save next to the weights
    argparse.Namespace,
    (pathlib.PurePosixPath, "pathlib.PosixPath"),
    (pathlib.PurePosixPath, "pathlib._local.PosixPath"),
    (pathlib.PureWindowsPath, "pathlib.WindowsPath"),
    np.dtype,
    *(type(np.dtype(kind)) for kind in ("f2", "f4", "f8", "i4", "i8", "?")),
    (np._core.multiarray.scalar, "numpy.core.multiarray.scalar"),  # type: ignore[attr-defined]
    (np._core.multiarray.scalar, "numpy._core.multiarray.scalar"),  # type: ignore[attr-defined]
]
_SETTINGS = re.compile(r"[\w.]*\.\w*(Config|Configuration|Args|Arguments|Settings|CfgNode|Namespace|Dict)")


class Settings(dict[str, Any]):
    """The attributes of a record of settings in a pickle, whose class belongs to the program that wrote it."""

    def __init__(self, *_: object) -> None:
        """Ignore the arguments of its class."""
        super().__init__()

    def __setstate__(self, state: object) -> None:
        self.update(state if isinstance(state, dict) else {})


def read_pickle(path: Path) -> dict[str, Any]:
    """Return the content of a file of `torch.save`, with tensors on the CPU.

    Raises:
        CheckpointError: it contains more than tensors and plain values, is damaged, or is not such a file.
    """
    refuse_unreadable(path)
    try:
        content = _loaded(path)
    except Exception as error:  # torch raises all kinds of errors for damaged or unrelated files
        if "TorchScript" in str(error):
            raise CheckpointError(
                "{path} is a TorchScript program, which contains code, so it was not opened; save the weights with "
                "torch.save(model.state_dict(), path)",
                path=path,
            ) from error
        if isinstance(error, pickle.UnpicklingError) and "global" in str(error).lower():  # a forbidden name
            raise CheckpointError(
                "{path} contains objects other than tensors and plain values, which could run code, so "
                "it was not opened; save only its weights with torch.save(model.state_dict(), path), or "
                "as safetensors",
                path=path,
            ) from error
        raise CheckpointError(
            "{path} is damaged or was not written by torch.save; copy it again, or save its weights as safetensors",
            path=path,
        ) from error
    if not isinstance(content, dict):
        raise CheckpointError(
            "{path} contains {kind}, not a state dict; save the weights with torch.save(model.state_dict(), path)",
            path=path,
            kind=type(content).__name__,
        )
    return content


def _loaded(path: Path) -> Any:
    """Read a file by torch's allow-list, memory-mapped if possible."""
    with torch.serialization.safe_globals(_HARMLESS), torch.serialization.safe_globals(_settings_in(path)):
        if path.suffix == ".safetensors":  # given a path, torch would judge by the ending
            with path.open("rb") as file:
                return torch.load(file, map_location="cpu", weights_only=True)
        try:
            return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        except RuntimeError:  # written before torch 1.6
            return torch.load(path, map_location="cpu", weights_only=True)


def _settings_in(path: Path) -> list[Any]:
    """Return replacements for the classes of settings that a file names, without reading its objects."""
    try:
        names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    except Exception:  # reading the file will report the problem
        return []
    return [(OrderedDict if name.endswith("Dict") else Settings, name) for name in names if _SETTINGS.fullmatch(name)]


class StateDict(dict[str, Tensor]):
    """Tensors by their keys, on the CPU, such as those of a file of `torch.save`."""

    def __init__(self, tensors: Mapping[str, Tensor], other_content: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Take the tensors, and what their file contains besides, such as "model_args"."""
        super().__init__(tensors)
        self.other_content = other_content
        self._storages = {tensor.untyped_storage().data_ptr() for tensor in self.values()}

    @classmethod
    def read(
        cls, paths: list[Path], *, on_progress: OnProgress | None = None, what: Message = NO_MESSAGE
    ) -> "StateDict":
        """Read all files of a model.

        Args:
            paths: the files.
            on_progress: called after each file.
            what: the description in `on_progress`.

        Raises:
            CheckpointError: one of them cannot be read safely, or contains something else.
        """
        all_tensors: dict[str, Tensor] = {}
        other_content: dict[str, Any] = {}
        sizes = [path.stat().st_size if path.is_file() else 0 for path in paths]
        for i, path in enumerate(paths):
            content = read_pickle(path)
            inner = _inner(path, content)
            if inner is not None:
                other_content = {name: value for name, value in content.items() if value is not inner}
            tensors = content if inner is None else inner
            all_tensors |= {
                key: _checked(path, key, value) for key, value in tensors.items() if not str(key).endswith(EXTRA_STATE)
            }
            if on_progress is not None:
                on_progress(sum(sizes[: i + 1]), sum(sizes), what)
        return cls(all_tensors, other_content)

    def is_view(self, tensor: Tensor) -> bool:
        """Return whether a tensor shares memory with one of these, or with their file."""
        return tensor.untyped_storage().data_ptr() in self._storages


def _inner(path: Path, content: dict[str, Any]) -> dict[str, Any] | None:
    """Return the state dict inside a training checkpoint; None if the content itself is one or contains none."""
    dicts = _state_dicts(content)
    if len(dicts) > 1:
        raise CheckpointError(
            "{path} contains several state dicts, {names}; save the weights of one model with "
            "torch.save(model.state_dict(), path)",
            path=path,
            names=", ".join(name[:60] for name in [*dicts][:4]),
        )
    return next((inner for inner in dicts.values() if inner is not content), None)


def _state_dicts(content: dict[str, Any], name: str = "", depth: int = 3) -> dict[str, dict[str, Any]]:
    """Return the nested state dicts by key; the first of the usual keys takes precedence."""
    if any(isinstance(value, Tensor) and value.ndim for value in content.values()):
        return {name: content}
    inner = {
        str(key): value
        for key, value in content.items()
        if isinstance(value, dict) and depth and not any(word in str(key).lower() for word in _OF_TRAINING)
    }
    nested = {key: _state_dicts(value, key, depth - 1) for key, value in inner.items()}
    usual = next(({key: nested[key]} for key in WRAPPED_IN if nested.get(key)), nested)
    return {key: value for dicts in usual.values() for key, value in dicts.items()}


def _checked(path: Path, key: object, value: object) -> Tensor:
    """Return a tensor of a state dict after checking that it is a plain tensor, no larger than its storage."""
    if not isinstance(key, str) or not isinstance(value, Tensor):
        raise CheckpointError(
            "{path} contains {name!r}, which is not a tensor, so it is not a state dict; save the "
            "weights with torch.save(model.state_dict(), path)",
            path=path,
            name=str(key)[:60],
        )
    is_plain = value.layout == torch.strided and not value.is_quantized and value.device.type == "cpu"
    if not is_plain or value.numel() * value.element_size() > value.untyped_storage().nbytes():
        raise CheckpointError(
            "{path}: {name!r} is not a plain tensor; save the weights again as plain tensors", path=path, name=key[:60]
        )
    return value.detach()
