"""The devices of this machine, and running code on one of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from pages.shared import forwards
from transformer_core.errors import HeadlightError, Message

CPU = "cpu"
PRECISIONS = ("float32", "bfloat16")


class DeviceError(HeadlightError):
    """A device that is missing, has too little memory, or fails."""


@lru_cache
def available() -> tuple[str, ...]:
    """Return the devices of this machine, the CPU first."""
    from transformer_core.devices import available_devices

    return (CPU, *(device for device in available_devices() if device != CPU))


def name_of(device: str) -> str:
    """Return the display name of a device; one of several GPUs is numbered."""
    kind, _, index = device.partition(":")
    number = f" {index}" if index and sum(other.startswith(kind) for other in available()) > 1 else ""
    return {"cpu": "CPU", "cuda": "GPU", "mps": "Apple GPU"}.get(kind, device) + number


@contextmanager
def on(device: str) -> Iterator[None]:
    """Run code on a device, in at most as many threads at once as there are cores.

    Raises:
        DeviceError: the device fails; replaces torch's error.
    """
    try:
        with forwards.one_of_few():
            yield
    except (RuntimeError, MemoryError) as error:
        is_full = isinstance(error, MemoryError) or "memory" in str(error)
        if device == CPU and not is_full:
            raise
        name, other = name_of(device), Message("choose the {device}", device=name_of(CPU))
        if not is_full:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise DeviceError(
                "the {name} failed ({error:.150}); {other}", name=name, error=reason, other=other
            ) from error
        ways_out = [
            Message("choose bfloat16, which uses half the memory"),
            Message("a smaller model"),
            *([other] if device != CPU else []),
        ]
        raise DeviceError(
            "the {name} has too little memory for this; {ways_out}",
            name=name,
            ways_out=Message.joined(Message(", or "), ways_out),
        ) from error
