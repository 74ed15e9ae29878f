"""Parameters put on their devices as they are read, and the connections between blocks on different devices.

Activations travel, weights do not: a block computes where its weights are, and its inputs are brought there before.
Nothing changes while a model runs, so threads may share it, and captures and interventions see nothing of it.
(`accelerate` moves the weights of an offloaded module in and out while it runs: of 400 forwards that four threads
shared, 45 failed and 50 gave wrong numbers.)
"""

import mmap
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import IO, Any, Self

import torch
from torch import Tensor, nn

from transformer_core.checkpoints.pickles import StateDict
from transformer_core.checkpoints.placement import Place, Placement
from transformer_core.checkpoints.tensor_files import TensorFiles
from transformer_core.errors import CheckpointError, ConfigError
from transformer_core.model.distance_bias import PositionBias
from transformer_core.model.masks import AttentionMask
from transformer_core.model.rotary import Rotation
from transformer_core.model.stack import Stack
from transformer_core.model.transformer import Transformer
from transformer_core.reasons import reason

_PIECE = 1 << 20  # numbers that are written at a time


class ParameterLoader:
    """Puts the parameters of a model where a placement says, one at a time as they are read.

    >>> with ParameterLoader(placement, files) as loader:
    ...     model = convert(values, files, where=where, place=loader.place)
    ...     loader.finish(model)
    """

    def __init__(self, placement: Placement, files: TensorFiles | StateDict) -> None:
        """Begin; nothing is taken yet."""
        self._placement, self._files = placement, files
        self._opened = ExitStack()
        self._disk: IO[bytes] | None = None  # without a name: it is deleted when no longer in use
        self._on_disk: dict[str, tuple[int, torch.Size]] = {}  # first byte, and shape

    def __enter__(self) -> Self:
        """Return this loader."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close what was opened; a model that is finished keeps its own hold on the disk."""
        self._opened.close()

    def place(self, name: str, value: Tensor) -> Tensor:
        """Return a parameter's value where, and in the precision in which, it shall be.

        Of one that goes on the disk an empty value, until `finish`; but a view of its file, in the right precision, is
        on the disk as it is.

        Raises:
            ConfigError: a device has no memory left for it.
            CheckpointError: the disk has no room for it.
        """
        place, dtype = self._placement.of(name), self._placement.dtype
        is_view = self._files.is_view(value)
        if place == "disk":
            if is_view and value.dtype == dtype and value.is_contiguous():
                return value
            return self._write(name, value)
        try:
            return value.to(place, dtype, copy=is_view and place.type == "cpu")
        except torch.OutOfMemoryError as error:
            raise ConfigError(
                "{place} has no memory left for {name!r}; close other programs that use it, load with "
                'dtype="bfloat16", or spread the model with device_map="auto"',
                place=place,
                name=name,
            ) from error

    def finish(self, model: Transformer) -> None:
        """Bring the rest: parameters on the disk, tables that are no parameters, and the ways between devices."""
        home, dtype = self._placement.home, self._placement.dtype
        if self._disk is not None:
            self._disk.flush()
            mapped = mmap.mmap(self._disk.fileno(), 0, access=mmap.ACCESS_COPY)  # lives as long as a tensor of it
            for name, (first, shape) in self._on_disk.items():
                value = torch.frombuffer(mapped, dtype=dtype, count=shape.numel(), offset=first).view(shape)
                put(model, [name], nn.Parameter(value))
        for module in model.modules():
            for name, buffer in module.named_buffers(recurse=False):
                setattr(module, name, buffer.to(home, dtype))
        if any(_computes_on(place) != home for place in self._placement.blocks.values()):
            connect_devices(model)

    def _write(self, name: str, value: Tensor) -> Tensor:
        """Write a value after the others, and return an empty one of its shape."""
        try:
            if self._disk is None:
                file = tempfile.TemporaryFile(prefix="headlight-")  # noqa: SIM115 - closed by __exit__
                self._disk = self._opened.enter_context(file)
            self._disk.write(bytes(-self._disk.tell() % 64))  # each begins at a multiple of 64 bytes
            self._on_disk[name] = self._disk.tell(), value.shape
            for piece in value.contiguous().view(-1).split(_PIECE):  # a whole copy each time would tear the heap
                self._disk.write(piece.to(self._placement.dtype).view(torch.uint8).numpy().data)
        except OSError as error:
            raise CheckpointError(
                "the blocks offloaded to disk could not be written to {folder} ({error}); free some "
                "space there, or set TMPDIR to a folder with more space",
                folder=tempfile.gettempdir(),
                error=reason(error),
            ) from error
        return torch.empty_like(value, device="meta")


def _computes_on(place: Place) -> torch.device:
    """Return the device on which a block at a place computes."""
    return torch.device("cpu") if place == "disk" else place


def put(model: nn.Module, names: Sequence[str], parameter: nn.Parameter) -> None:
    """Replace an empty parameter, under every name that it is tied to."""
    for name in names:
        path, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(path), attribute, parameter)


def connect_devices(model: Transformer) -> None:
    """Bring to each block what it takes, wherever its weights are, and the result back to where the embedding is."""
    for stack in (model.encoder, model.decoder):
        if stack is not None:
            for block in stack.blocks:
                block.register_forward_pre_hook(_bring_inputs, with_kwargs=True)
            stack.blocks[-1].register_forward_hook(_Return(stack))


def _bring_inputs(block: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
    device = next(block.parameters()).device
    return tuple(_brought(value, device) for value in args), {
        name: _brought(value, device) for name, value in kwargs.items()
    }


def _brought(value: Any, device: torch.device) -> Any:
    """Return an argument of a block on a device; stores keep what they are given where it is."""
    return value.to(device) if isinstance(value, Tensor | AttentionMask | Rotation | PositionBias) else value


class _Return:
    """Brings what the last block of a stack returns to where the stack's embedding is."""

    def __init__(self, stack: Stack) -> None:
        self._embed = stack.embed

    def __call__(self, block: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
        return output.to(self._embed.weight.device)
