"""Placing a model on devices: all of it on one, or its blocks spread over several devices and the disk."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

import torch

from transformer_core.config import ModelConfig
from transformer_core.devices import available_devices, choose_device, free_memory, in_words
from transformer_core.errors import ConfigError, Message
from transformer_core.model.transformer import assemble

DeviceOrDisk = torch.device | Literal["disk"]
DeviceMap = str | Mapping[str, str | torch.device]

_BLOCK = re.compile(r"(?:encoder|decoder)\.blocks\.\d+")
_FILLED = 0.9  # share of the free memory used for weights; the rest is for activations


@dataclass(frozen=True, kw_only=True)
class Placement:
    """A device for each block and one for everything else, and the precision."""

    home: torch.device  # of everything outside the blocks, of tokens and of logits
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
        config: of the model.
        device: for the whole model; ignored if there is a map.
        device_map: "auto" fills the devices of this machine, the fastest first, then the disk. Or a device or "disk" by
            name: "decoder.blocks.3", "encoder.blocks" (the other blocks), "" (everything else).
        dtype: precision of the weights.
        where: the model in messages.

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
        if devices[0].type == "mps":  # the same memory as the CPU's
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
    """Return the place of each part by a map, in which the longest matching name counts."""
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
