"""Protocols for the parts of a KV cache that the model uses; `decoding.cache` implements them."""

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
        """Append the keys and values of new positions, and return all stored ones."""
        ...


@runtime_checkable
class BlockStore(Protocol):
    """The keys and values of one block."""

    @property
    def self_attn(self) -> KeyValueStore:
        """The store of the target positions, which grows."""
        ...

    @property
    def cross_attn(self) -> KeyValueStore:
        """The store of the memory, which is fixed."""
        ...


@runtime_checkable
class StackStore(Protocol):
    """The keys and values of a stack."""

    @property
    def n_positions(self) -> int:
        """The number of stored positions."""
        ...

    @property
    def blocks(self) -> Sequence[BlockStore]:
        """One store per block."""
        ...
