"""Placing a model on devices: all of it on one, or its blocks spread over several devices and the disk.

Activations are moved, weights are not: a block computes on the device of its weights, and its inputs are moved there.
So threads can share a model, and captures and interventions are not affected. (`accelerate` moves the weights of
offloaded modules during a forward pass: of 400 passes in four threads, 45 failed and 50 gave wrong numbers.)
"""

import mmap
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from types import TracebackType
from typing import IO, Any, Literal, Self

import torch
from torch import Tensor, nn

from transformer_core.checkpoints.pickles import StateDict
from transformer_core.checkpoints.tensor_files import TensorFiles
from transformer_core.config import ModelConfig
from transformer_core.devices import available_devices, choose_device, free_memory, in_words
from transformer_core.errors import CheckpointError, ConfigError, Message
from transformer_core.model.distance_bias import PositionBias
from transformer_core.model.embeddings import TokenEmbedding
from transformer_core.model.masks import AttentionMask
from transformer_core.model.rotary import Rotation
from transformer_core.model.transformer import Transformer, assemble
from transformer_core.reasons import reason

DeviceOrDisk = torch.device | Literal["disk"]
DeviceMap = str | Mapping[str, str | torch.device]

_BLOCK = re.compile(r"(?:encoder|decoder)\.blocks\.\d+")
_FILLED = 0.9  # share of the free memory used for weights; the rest is for activations
_PIECE = 1 << 20  # values written to disk at a time


@dataclass(frozen=True, kw_only=True)
class Placement:
    """A device for each block and one for everything else, and the precision."""

    home: torch.device  # device of everything outside the blocks, of tokens and of logits
    blocks: Mapping[str, DeviceOrDisk]  # by name; blocks on the disk compute on the CPU
    dtype: torch.dtype

    def of(self, name: str) -> DeviceOrDisk:
        """Return the place of a parameter."""
        block = _BLOCK.match(name)
        return self.home if block is None else self.blocks[block.group()]


def plan(
    config: ModelConfig,
    *,
    device: str | torch.device,
    device_map: DeviceMap | None,
    dtype: torch.dtype,
    where: str | Message,
) -> Placement:
    """Return the placement of a model.

    Args:
        config: the model's configuration.
        device: for the whole model; ignored if `device_map` is given.
        device_map: "auto" fills the devices of this machine, the fastest first, then the disk. Or a device or "disk" by
            name: "decoder.blocks.3", "encoder.blocks" (the other blocks), "" (everything else).
        dtype: precision of the weights.
        where: name of the model in messages.

    Raises:
        ConfigError: an unavailable device, a map that does not fit the model, or too little memory.
    """
    sizes = part_sizes(config, dtype)
    if device_map is None:
        home = choose_device(device)
        room, needed = free_memory(home), sum(sizes.values())
        if room is not None and needed > room:
            raise ConfigError(_too_large(where, dtype, needed, home, room))
        return Placement(home=home, blocks=dict.fromkeys([*sizes][1:], home), dtype=dtype)
    if device_map == "auto":
        devices = [choose_device(name) for name in available_devices()]
        if devices[0].type == "mps":  # shares its memory with the CPU
            devices = devices[:1]
        places = spread(sizes, [(device, free_memory(device)) for device in devices])
    elif isinstance(device_map, str):
        raise ConfigError('device_map must be "auto" or map part names to devices; got {value!r}', value=device_map)
    else:
        places = _follow(device_map, [*sizes])
    home_place = places.pop("")
    assert isinstance(home_place, torch.device), "everything outside the blocks is in memory"
    return Placement(home=home_place, blocks=places, dtype=dtype)


def part_sizes(config: ModelConfig, dtype: torch.dtype) -> dict[str, int]:
    """Return the bytes of a model's weights by part: "" for everything outside the blocks, then each block."""
    sizes = {"": 0}
    for name, parameter in assemble(config).named_parameters():
        block = _BLOCK.match(name)
        part = "" if block is None else block.group()
        sizes[part] = sizes.get(part, 0) + parameter.numel() * dtype.itemsize
    return sizes


def spread(sizes: Mapping[str, int], room: Sequence[tuple[torch.device, int | None]]) -> dict[str, DeviceOrDisk]:
    """Fill devices with the parts of a model in order; the rest goes to the disk.

    Args:
        sizes: bytes by part, the part outside the blocks first.
        room: devices in order, with their free bytes; None: unknown, so assumed to be enough.

    Raises:
        ConfigError: no device has enough memory for the part outside the blocks.
    """
    places: dict[str, DeviceOrDisk] = {}
    left = [(device, float("inf") if free is None else free * _FILLED) for device, free in room]
    for part, size in sizes.items():
        while left and left[0][1] < size:
            left.pop(0)
        if not left:
            if not places:
                raise ConfigError(
                    "the embeddings and the output layer need {size}, which no device of this machine has "
                    'free; a lower precision (dtype="bfloat16") needs less',
                    size=in_words(size),
                )
            places[part] = "disk"
            continue
        (device, free), *rest = left
        places[part] = device
        left = [(device, free - size), *rest]
    return places


def _follow(device_map: Mapping[str, str | torch.device], parts: Sequence[str]) -> dict[str, DeviceOrDisk]:
    """Return the place of each part according to a map, in which the longest matching name takes precedence."""
    known = {"", *parts, *(part.rpartition(".")[0] for part in parts)}
    for name in device_map:
        if name not in known:
            nearest = get_close_matches(name, known, n=1)
            if nearest and nearest[0]:
                raise ConfigError(
                    "device_map lists {name!r}, which is not a part of the model; did you mean {nearest!r}?",
                    name=name,
                    nearest=nearest[0],
                )
            raise ConfigError(
                "device_map lists {name!r}, which is not a part of the model; its parts are {known}",
                name=name,
                known=", ".join(sorted(known)[1:]),
            )
    if device_map.get("", "disk") == "disk":
        raise ConfigError(
            'device_map must give a device for "" (embeddings, output layer, and everything not '
            "listed); for example {example}",
            example='{"": "cpu", "decoder.blocks.3": "disk"}',
        )
    places: dict[str, DeviceOrDisk] = {}
    for part in parts:
        name = next(name for name in (part, part.rpartition(".")[0], "") if name in device_map)
        places[part] = "disk" if device_map[name] == "disk" else choose_device(device_map[name])
    return places


def _too_large(where: str | Message, dtype: torch.dtype, needed: int, device: torch.device, room: int) -> Message:
    """Return the message about a model that is too large for a device."""
    half = needed * torch.bfloat16.itemsize // dtype.itemsize
    values: dict[str, Any] = {
        "where": where,
        "needed": in_words(needed),
        "precision": str(dtype).removeprefix("torch."),
        "device": device,
        "room": in_words(room),
    }
    if half <= room:
        return Message(
            '{where} needs {needed} in {precision}, and {device} has {room} free; load it with dtype="bfloat16", which '
            'needs {half}, or spread it over devices and disk with device_map="auto"',
            half=in_words(half),
            **values,
        )
    return Message(
        "{where} needs {needed} in {precision}, and {device} has {room} free; spread it over devices and disk with "
        'device_map="auto"',
        **values,
    )


class ParameterLoader:
    """Puts the parameters of a model on their devices one at a time, as they are read.

    >>> with ParameterLoader(placement, files) as loader:
    ...     model = convert(values, files, where=where, place=loader.place)
    ...     loader.finish(model)
    """

    def __init__(self, placement: Placement, files: TensorFiles | StateDict) -> None:
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

        On the disk, a view of a file in the correct precision is kept; other values are written, and stay empty until
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
        """Map the parameters on disk into memory, move the buffers, and connect the devices."""
        home, dtype = self._placement.home, self._placement.dtype
        if self._disk is not None:
            self._disk.flush()
            mapped = mmap.mmap(self._disk.fileno(), 0, access=mmap.ACCESS_COPY)  # kept alive by its tensors
            for name, (first, shape) in self._on_disk.items():
                value = torch.frombuffer(mapped, dtype=dtype, count=shape.numel(), offset=first).view(shape)
                put(model, [name], nn.Parameter(value))
        for module in model.modules():
            for name, buffer in module.named_buffers(recurse=False):
                setattr(module, name, buffer.to(home, dtype))
        computing = {torch.device("cpu") if place == "disk" else place for place in self._placement.blocks.values()}
        if computing - {home}:
            connect_devices(model)

    def _write(self, name: str, value: Tensor) -> Tensor:
        """Append a value to the file, and return an empty tensor of its shape."""
        try:
            if self._disk is None:
                file = tempfile.TemporaryFile(prefix="headlight-")  # noqa: SIM115 - closed by __exit__
                self._disk = self._opened.enter_context(file)
            self._disk.write(bytes(-self._disk.tell() % 64))  # align each value to 64 bytes
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


def put(model: nn.Module, names: Sequence[str], parameter: nn.Parameter) -> None:
    """Replace an empty parameter under all its names; tied parameters have several."""
    for name in names:
        path, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(path), attribute, parameter)


def connect_devices(model: Transformer) -> None:
    """Move the inputs of each block to the device of its weights, and the final output to that of the embedding."""
    for stack in (model.encoder, model.decoder):
        if stack is not None:
            for block in stack.blocks:
                block.register_forward_pre_hook(_bring_inputs, with_kwargs=True)
            stack.blocks[-1].register_forward_hook(partial(_return_to, stack.embed))


def _bring_inputs(block: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
    device = next(block.parameters()).device
    return tuple(_brought(value, device) for value in args), {
        name: _brought(value, device) for name, value in kwargs.items()
    }


def _brought(value: Any, device: torch.device) -> Any:
    """Return a block's argument on a device; key-value stores are returned unchanged."""
    return value.to(device) if isinstance(value, Tensor | AttentionMask | Rotation | PositionBias) else value


def _return_to(embed: TokenEmbedding, block: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
    """Return the output of a stack's last block on the device of its embedding."""
    return output.to(embed.weight.device)
