"""The devices of this machine, their free memory, and the names of precisions."""

import torch

from transformer_core.arguments import check_choice
from transformer_core.errors import ConfigError, Message
from transformer_core.main_memory import free_main_memory

PRECISIONS = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
}
_SHORT_NAMES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "fp64": "float64"}


def available_devices() -> list[str]:
    """Return the devices of this machine, the preferred one first: "cuda:0", "cuda:1", ..., "mps", "cpu"."""
    cuda = [f"cuda:{i}" for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    return [*cuda, *(["mps"] if torch.backends.mps.is_available() else []), "cpu"]


def choose_device(device: str | torch.device) -> torch.device:
    """Return the named device: "cpu", "cuda" (the first), "cuda:1", "mps", or "auto" (the preferred one).

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
    """Return the named precision: "float32" or "fp32", "bfloat16" or "bf16", "float16" or "fp16", "float64".

    Raises:
        ConfigError: an unknown name.
    """
    name = str(dtype).removeprefix("torch.")
    name = _SHORT_NAMES.get(name, name)
    check_choice("dtype", name, PRECISIONS)
    return PRECISIONS[name]


def free_memory(device: torch.device) -> int | None:
    """Return the free memory of a device in bytes; None if unknown."""
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused
    if device.type == "mps":
        return max(0, torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())
    return free_main_memory()


def in_words(n_bytes: int) -> Message:
    """Return a size as text: "12 KiB", "731 MiB", "26.3 GiB"."""
    if n_bytes < 2**20:
        return Message("{n} KiB", n=-(-n_bytes // 2**10))
    if n_bytes < 2**30:
        return Message("{n:.0f} MiB", n=n_bytes / 2**20)
    return Message("{n:,.1f} GiB", n=n_bytes / 2**30)
