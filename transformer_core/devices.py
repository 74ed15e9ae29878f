"""Devices: which there are on this machine, how much memory is free on them, and what precisions are called."""

import os
from pathlib import Path

import torch

from transformer_core.errors import ConfigError

PRECISIONS = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
}
_SHORT_NAMES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "fp64": "float64"}

_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_GROUP_FILES = {  # of the control groups of version 2 and 1: folder, limit, use, and what of it can be had back
    "": ("", "memory.max", "memory.current", "inactive_file"),
    "memory": ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def available_devices() -> list[str]:
    """Return the devices of this machine, the one to prefer first: "cuda:0", "cuda:1", ..., "mps", "cpu"."""
    cuda = [f"cuda:{i}" for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    return [*cuda, *(["mps"] if torch.backends.mps.is_available() else []), "cpu"]


def choose_device(device: str | torch.device) -> torch.device:
    """Return the device that is meant.

    Args:
        device: "cpu", "cuda" (the first one), "cuda:1", "mps", or "auto": the first of `available_devices()`.

    Raises:
        ConfigError: there is no such device on this machine.
    """
    there = available_devices()
    name = there[0] if device == "auto" else str(device)
    name = name.removesuffix(":0") if name in ("cpu:0", "mps:0") else name
    name = "cuda:0" if name == "cuda" else name
    if name not in there:
        raise ConfigError(
            "there is no device {device!r} on this machine; there is {there}, or auto",
            device=str(device),
            there=", ".join(there),
        )
    return torch.device(name)


def choose_precision(dtype: str | torch.dtype) -> torch.dtype:
    """Return the precision that is meant: "float32" or "fp32", "bfloat16" or "bf16", "float16" or "fp16", "float64".

    Raises:
        ConfigError: no floating-point type of these names.
    """
    name = str(dtype).removeprefix("torch.")
    name = _SHORT_NAMES.get(name, name)
    if name not in PRECISIONS:
        raise ConfigError(
            "{name} must be one of {choices}; got {value!r}",
            name="dtype",
            choices=", ".join(PRECISIONS),
            value=str(dtype),
        )
    return PRECISIONS[name]


def free_memory(device: torch.device) -> int | None:
    """Return how many bytes can be taken on a device now; None where the system does not say."""
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused
    if device.type == "mps":
        return max(0, torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())
    return free_main_memory()


def free_main_memory(proc: Path = _PROC, cgroups: Path = _CGROUPS) -> int | None:
    """Return how many bytes of main memory this process can still take; None where the system does not say.

    On Linux that is what is available, and no more than what the limits of its control groups leave (those of a
    container too). Elsewhere, where free memory is not told without further libraries, it is all that the machine has.

    Args:
        proc: where Linux shows its processes.
        cgroups: where it shows its control groups.
    """
    try:
        lines = (proc / "meminfo").read_text().splitlines()
        (available,) = (int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError):
        names = getattr(os, "sysconf_names", {})
        if not {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(names):
            return None
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([available, *_left_by_control_groups(proc, cgroups)])


def in_words(n_bytes: int) -> str:
    """Return a size to read: "12 KiB", "731 MiB", "26.3 GiB"."""
    if n_bytes < 2**20:
        return f"{-(-n_bytes // 2**10)} KiB"
    if n_bytes < 2**30:
        return f"{n_bytes / 2**20:.0f} MiB"
    return f"{n_bytes / 2**30:,.1f} GiB"


def _left_by_control_groups(proc: Path, cgroups: Path) -> list[int]:
    """Return the bytes that each control group above this process leaves, where it sets a limit."""
    try:
        lines = (proc / "self/cgroup").read_text().splitlines()
    except OSError:
        return []
    left = []
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if controllers not in _GROUP_FILES:
            continue
        root, limit_file, used_file, spare = _GROUP_FILES[controllers]
        group = cgroups / root / path.strip("/")
        for place in (group, *group.parents):
            try:
                limit, used = (int((place / name).read_text()) for name in (limit_file, used_file))
                kept = dict(line.split() for line in (place / "memory.stat").read_text().splitlines())
                left.append(max(0, limit - used + int(kept[spare])))  # files in memory make room when asked
            except (KeyError, OSError, ValueError):  # no such group here, or no limit: "max"
                continue
    return left
