"""Where the parts of a model go: all on one device, or its blocks spread over several devices and the disk.

What travels are activations, not weights: a block computes where its weights are, and before it does, what it needs is
brought there. Nothing changes while a model runs, so that threads may share it, and captures and interventions see
nothing of it. (`accelerate` moves the weights of an offloaded module in and out while it runs: of 400 forwards that
four threads shared, 45 failed and 50 gave wrong numbers.)
"""

import mmap
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from difflib import get_close_matches
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
from transformer_core.model.masks import AttentionMask
from transformer_core.model.rotary import Rotation
from transformer_core.model.stack import Stack
from transformer_core.model.transformer import Transformer, assemble
from transformer_core.reasons import reason

Place = torch.device | Literal["disk"]
DeviceMap = str | Mapping[str, str | torch.device]

_BLOCK = re.compile(r"(?:encoder|decoder)\.blocks\.\d+")
_PIECE = 1 << 20  # numbers that are written at a time
_FILLED = 0.9  # of what is free, as much is filled with weights; activations need room too


@dataclass(frozen=True, kw_only=True)
class Placement:
    """A device for each block, and one for all that is outside them; in one precision."""

    home: torch.device  # of embeddings, last layer and norms: where tokens go in and logits come out
    blocks: Mapping[str, Place]  # by name; a block on the disk computes on the CPU
    dtype: torch.dtype

    def of(self, name: str) -> Place:
        """Return where a parameter goes."""
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
    """Return where the parts of a model go.

    Args:
        config: of the model.
        device: for all of it; not looked at where there is a map.
        device_map: "auto": as much as there is room for on the devices of this machine, the fastest first, the rest on
            the disk. Or a device or "disk" by name: "decoder.blocks.3", "encoder.blocks" (those not named), "" (all
            else).
        dtype: precision of the weights.
        where: what to call the model in messages.

    Raises:
        ConfigError: a device that is not there, a map that does not fit the model, or too little memory.
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
        if devices[0].type == "mps":  # the same memory as the CPU's
            devices = devices[:1]
        places = spread(sizes, [(device, free_memory(device)) for device in devices])
    elif isinstance(device_map, str):
        raise ConfigError(
            'device_map must be "auto" or a device for each part by its name; got {value!r}', value=device_map
        )
    else:
        places = _follow(device_map, [*sizes])
    home_place = places.pop("")
    assert isinstance(home_place, torch.device), "what is outside the blocks is in memory"
    return Placement(home=home_place, blocks=places, dtype=dtype)


def part_sizes(config: ModelConfig, dtype: torch.dtype) -> dict[str, int]:
    """Return the bytes of a model's weights by part: "" is all that is outside the blocks, then comes each block."""
    sizes = {"": 0}
    for name, parameter in assemble(config).named_parameters():
        block = _BLOCK.match(name)
        part = "" if block is None else block.group()
        sizes[part] = sizes.get(part, 0) + parameter.numel() * dtype.itemsize
    return sizes


def spread(sizes: Mapping[str, int], room: Sequence[tuple[torch.device, int | None]]) -> dict[str, Place]:
    """Fill devices with the parts of a model in their order; what has no room goes on the disk.

    Args:
        sizes: bytes by part, the part outside the blocks first.
        room: devices in the order in which to fill them, with the bytes that are free; None: nobody knows, so enough.

    Raises:
        ConfigError: no device has room for what is outside the blocks.
    """
    places: dict[str, Place] = {}
    left = [(device, float("inf") if free is None else free * _FILLED) for device, free in room]
    for part, size in sizes.items():
        while left and left[0][1] < size:
            left.pop(0)
        if not left:
            if not places:
                raise ConfigError(
                    "the embeddings and the last layer need {size}, which no device of this machine has free; a "
                    'lower precision (dtype="bfloat16") needs less',
                    size=in_words(size),
                )
            places[part] = "disk"
            continue
        (device, free), *rest = left
        places[part] = device
        left = [(device, free - size), *rest]
    return places


class ParameterLoader:
    """Puts the parameters of a model where a placement says, one at a time as they are read.

    >>> with Filling(placement, files) as filling:
    ...     model = convert(values, files, where=where, place=filling.place)
    ...     filling.finish(model)
    """

    def __init__(self, placement: Placement, files: TensorFiles | StateDict) -> None:
        """Begin; nothing is taken yet."""
        self._placement, self._files = placement, files
        self._opened = ExitStack()
        self._disk: IO[bytes] | None = None  # without a name: it is deleted when no longer in use
        self._on_disk: dict[str, tuple[int, torch.Size]] = {}  # first byte, and shape

    def __enter__(self) -> Self:
        """Return this filling."""
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
                '{place} has no memory left for {name!r}; close what else uses it, load with dtype="bfloat16", '
                'or spread the model with device_map="auto"',
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
                "the blocks for the disk could not be written to {folder} ({error}); make room there, or set "
                "TMPDIR to a folder with more",
                folder=tempfile.gettempdir(),
                error=reason(error),
            ) from error
        return torch.empty_like(value, device="meta")


def _computes_on(place: Place) -> torch.device:
    """Return the device on which a block at a place computes."""
    return torch.device("cpu") if place == "disk" else place


def put(model: nn.Module, names: Sequence[str], parameter: nn.Parameter) -> None:
    """Put a parameter in the place of an empty one, under each of the names by which it is tied."""
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


def _follow(device_map: Mapping[str, str | torch.device], parts: Sequence[str]) -> dict[str, Place]:
    """Return the place of each part by a map; the longest name that fits counts."""
    known = {"", *parts, *(part.rpartition(".")[0] for part in parts)}
    for name in device_map:
        if name not in known:
            nearest = get_close_matches(name, known, n=1)
            if nearest and nearest[0]:
                raise ConfigError(
                    "device_map names {name!r}, which is no part that can be placed; did you mean {nearest!r}?",
                    name=name,
                    nearest=nearest[0],
                )
            raise ConfigError(
                "device_map names {name!r}, which is no part that can be placed; there are {known}",
                name=name,
                known=", ".join(sorted(known)[1:]),
            )
    if device_map.get("", "disk") == "disk":
        raise ConfigError(
            'device_map must name a device for "": embeddings, last layer, and all else that is not named; for '
            "example {example}",
            example='{"": "cpu", "decoder.blocks.3": "disk"}',
        )
    places: dict[str, Place] = {}
    for part in parts:
        name = next(name for name in (part, part.rpartition(".")[0], "") if name in device_map)
        places[part] = "disk" if device_map[name] == "disk" else choose_device(device_map[name])
    return places


def _too_large(where: str | Message, dtype: torch.dtype, needed: int, device: torch.device, room: int) -> Message:
    """Return the message about a model that a device has no room for."""
    half = needed * torch.bfloat16.itemsize // dtype.itemsize
    told: dict[str, Any] = {
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
            **told,
        )
    return Message(
        "{where} needs {needed} in {precision}, and {device} has {room} free; spread it over devices and disk with "
        'device_map="auto"',
        **told,
    )
