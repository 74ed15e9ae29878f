"""Loading parameters onto their devices, and connecting blocks on different devices.

Activations are moved, weights are not: a block computes on the device of its weights, and its inputs are moved there.
So threads can share a model, and captures and interventions are not affected. (`accelerate` moves the weights of
offloaded modules during a forward pass: of 400 passes in four threads, 45 failed and 50 gave wrong numbers.)
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
from transformer_core.checkpoints.placement import DeviceOrDisk, Placement
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
    """Puts the parameters of a model on their devices one at a time, as they are read.

    >>> with ParameterLoader(placement, files) as loader:
    ...     model = convert(values, files, where=where, place=loader.place)
    ...     loader.finish(model)
    """

    def __init__(self, placement: Placement, files: TensorFiles | StateDict) -> None:
        """Prepare loading."""
        self._placement, self._files = placement, files
        self._opened = ExitStack()
        self._disk: IO[bytes] | None = None  # unnamed, so it is deleted after use
        self._on_disk: dict[str, tuple[int, torch.Size]] = {}  # first byte, and shape

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file; a finished model keeps it mapped."""
        self._opened.close()

    def place(self, name: str, value: Tensor) -> Tensor:
        """Return a parameter's value on its device and in its precision.

        On the disk, a view of a file in the correct precision is kept; other values are written, and are empty until
        `finish`.

        Raises:
            ConfigError: the device has too little memory.
            CheckpointError: the disk has too little space.
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
        """Add parameters on the disk and buffers, and connect the devices."""
        home, dtype = self._placement.home, self._placement.dtype
        if self._disk is not None:
            self._disk.flush()
            mapped = mmap.mmap(self._disk.fileno(), 0, access=mmap.ACCESS_COPY)  # kept by its tensors
            for name, (first, shape) in self._on_disk.items():
                value = torch.frombuffer(mapped, dtype=dtype, count=shape.numel(), offset=first).view(shape)
                put(model, [name], nn.Parameter(value))
        for module in model.modules():
            for name, buffer in module.named_buffers(recurse=False):
                setattr(module, name, buffer.to(home, dtype))
        if any(_computes_on(place) != home for place in self._placement.blocks.values()):
            connect_devices(model)

    def _write(self, name: str, value: Tensor) -> Tensor:
        """Append a value to the file, and return an empty one of its shape."""
        try:
            if self._disk is None:
                file = tempfile.TemporaryFile(prefix="headlight-")  # noqa: SIM115 - closed by __exit__
                self._disk = self._opened.enter_context(file)
            self._disk.write(bytes(-self._disk.tell() % 64))  # each begins at a multiple of 64 bytes
            self._on_disk[name] = self._disk.tell(), value.shape
            for piece in value.contiguous().view(-1).split(_PIECE):  # whole copies would fragment the heap
                self._disk.write(piece.to(self._placement.dtype).view(torch.uint8).numpy().data)
        except OSError as error:
            raise CheckpointError(
                "the blocks offloaded to disk could not be written to {folder} ({error}); free some "
                "space there, or set TMPDIR to a folder with more space",
                folder=tempfile.gettempdir(),
                error=reason(error),
            ) from error
        return torch.empty_like(value, device="meta")


def _computes_on(place: DeviceOrDisk) -> torch.device:
    return torch.device("cpu") if place == "disk" else place


def put(model: nn.Module, names: Sequence[str], parameter: nn.Parameter) -> None:
    """Replace an empty parameter under all its names, of which tied ones have several."""
    for name in names:
        path, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(path), attribute, parameter)


def connect_devices(model: Transformer) -> None:
    """Move the inputs of each block to the device of its weights, and the final output to that of the embedding."""
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
    """Return an argument of a block on a device; stores are left alone."""
    return value.to(device) if isinstance(value, Tensor | AttentionMask | Rotation | PositionBias) else value


class _Return:
    """Moves the output of a stack's last block to the device of its embedding."""

    def __init__(self, stack: Stack) -> None:
        self._embed = stack.embed

    def __call__(self, block: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
        return output.to(self._embed.weight.device)
