"""What the model asks of a KV cache: keys and values kept between calls. `decoding.cache` has the one that decodes."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from torch import Tensor


@runtime_checkable
class KeyValueStore(Protocol):
    """Keeps keys and values [batch, head, key, d_head] between calls, so that decoding projects each position once."""

    @property
    def complete(self) -> tuple[Tensor, Tensor] | None:
        """Keys and values, where no more will come; None where some will."""
        ...

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add those of new positions, and return all so far."""
        ...


@runtime_checkable
class BlockStore(Protocol):
    """The keys and values that one block keeps while decoding."""

    @property
    def self_attn(self) -> KeyValueStore:
        """Those of the target positions, growing."""
        ...

    @property
    def cross_attn(self) -> KeyValueStore:
        """Those of the memory, fixed."""
        ...


@runtime_checkable
class StackStore(Protocol):
    """The keys and values that a stack keeps while decoding."""

    @property
    def n_positions(self) -> int:
        """Positions that are stored already."""
        ...

    @property
    def blocks(self) -> Sequence[BlockStore]:
        """One store a block."""
        ...
