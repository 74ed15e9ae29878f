"""Protocols of a KV cache, as far as the model uses one; `decoding.cache` implements them."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from torch import Tensor


@runtime_checkable
class KeyValueStore(Protocol):
    """Keys and values [batch, head, key, d_head] of one attention, kept between calls."""

    @property
    def complete(self) -> tuple[Tensor, Tensor] | None:
        """Keys and values if they are complete; None if more will be appended."""
        ...

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Append those of new positions, and return all so far."""
        ...


@runtime_checkable
class BlockStore(Protocol):
    """The keys and values of one block."""

    @property
    def self_attn(self) -> KeyValueStore:
        """Those of the target positions, which grow."""
        ...

    @property
    def cross_attn(self) -> KeyValueStore:
        """Those of the memory, which are fixed."""
        ...


@runtime_checkable
class StackStore(Protocol):
    """The keys and values of a stack."""

    @property
    def n_positions(self) -> int:
        """Number of stored positions."""
        ...

    @property
    def blocks(self) -> Sequence[BlockStore]:
        """One store per block."""
        ...
