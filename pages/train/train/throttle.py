"""What is drawn each second, and takes long, is drawn less often: the machine is there for the training."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from time import perf_counter
from typing import Generic, TypeVar

from pages.shared.view.fields import Kept

_SHARE = 1 / 16  # of the time that making one thing may take
_LONGEST = (
    4.0  # seconds that a thing is shown at most, before it is made again: the first time takes longer than others
)

Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class _Made(Generic[Value]):
    """What was made, of what, and until when it rests."""

    source: Hashable
    value: Value
    until: float  # on the clock of `perf_counter`


def throttled(key: str, source: Hashable, make: Callable[[], Value]) -> Value:
    """Return `make()`, or its recent result: the longer it takes, the less often it is called.

    Args:
        key: of the thing in the session.
        source: what it is made of, as far as that changes by what a person does; where it differs, nothing rests.
        make: makes it; what it raises is raised, and nothing is kept.
    """
    kept = Kept(key)
    result: _Made[Value] | None = kept.value
    start = perf_counter()
    if result is not None and result.source == source and start < result.until:
        return result.value
    value = make()
    end = perf_counter()
    rest = min(_LONGEST, (end - start) / _SHARE)
    kept.set(_Made(source=source, value=value, until=end + rest))
    return value
