"""The KV cache: keys and values of all positions read so far, so that each position is projected only once."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

_CHUNK = 64  # positions added when a growing store is full


class GrowingStore:
    """Keys and values of self-attention; each call appends those of new positions."""

    complete = None  # more positions may always follow

    def __init__(self) -> None:
        self.n_positions = 0
        self.k_v: Tensor | None = None  # [batch, head of keys, then head of values, room, d_head]

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Append keys and values [batch, head, new, d_head], and return those of all positions so far."""
        first, n_new = self.n_positions, k.shape[2]
        self.n_positions += n_new
        if self.k_v is None or self.k_v.shape[2] < self.n_positions or not _is_writable(self.k_v):
            room = (self.n_positions + _CHUNK - 1) // _CHUNK * _CHUNK
            grown = k.new_empty(k.shape[0], 2 * k.shape[1], room, k.shape[3])
            if self.k_v is not None:
                grown[:, :, :first] = self.k_v[:, :, :first]
            self.k_v = grown
        keys, values = self.written.chunk(2, dim=1)
        keys.narrow(2, first, n_new).copy_(k)
        values.narrow(2, first, n_new).copy_(v)
        return keys, values

    @property
    def written(self) -> Float[Tensor, "batch both_heads pos d_head"]:
        """The keys and then the values of all positions so far."""
        assert self.k_v is not None, "nothing was read yet"
        return self.k_v.narrow(2, 0, self.n_positions)

    def repeat(self, n_times: int) -> None:
        """Repeat each row `n_times`, next to each other."""
        self.k_v = self.written.repeat_interleave(n_times, dim=0)

    def reorder(self, rows: Tensor) -> None:
        """Select rows, in this order."""
        assert self.k_v is not None, "nothing was read yet"
        self.k_v = self.k_v.index_select(0, rows)


def _is_writable(x: Tensor) -> bool:
    """Return whether `x` may be modified in place; inference tensors may only be modified in inference mode."""
    return torch.is_inference_mode_enabled() or not x.is_inference()


class FixedStore:
    """Keys and values of cross-attention: they are projected once, because the memory does not change."""

    def __init__(self) -> None:
        self.complete: tuple[Tensor, Tensor] | None = None

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store keys and values [batch, head, key, d_head] of the memory, all at once."""
        self.complete = k, v
        return self.complete

    def repeat(self, n_times: int) -> None:
        """Repeat each row `n_times`, next to each other."""
        if self.complete is not None:  # decoder-only models have no memory
            k, v = self.complete
            self.complete = k.repeat_interleave(n_times, dim=0), v.repeat_interleave(n_times, dim=0)


@dataclass(frozen=True)
class BlockCache:
    """The stores of one decoder block."""

    self_attn: GrowingStore = field(default_factory=GrowingStore)
    cross_attn: FixedStore = field(default_factory=FixedStore)


class KeyValueCache:
    """The stores of every block of a decoder."""

    def __init__(self, n_layers: int) -> None:
        self.blocks = tuple(BlockCache() for _ in range(n_layers))

    @property
    def n_positions(self) -> int:
        """The number of target positions that all blocks have read."""
        return self.blocks[-1].self_attn.n_positions

    @classmethod
    def of(
        cls,
        k_v: Float[Tensor, "batch pos layer both_heads d_head"],
        cross: Sequence[tuple[Tensor, Tensor]],
    ) -> "KeyValueCache":
        """Return a cache with the given keys and values.

        Args:
            k_v: of self-attention, as `taken` returns them; one row per text.
            cross: keys and values [1, head, src, d_head] of each layer for the memory, which all rows share; () without
                a memory.
        """
        n_rows, _, n_layers = k_v.shape[:3]
        cache = cls(n_layers)
        for layer, block in enumerate(cache.blocks):
            block.self_attn.append(*k_v[:, :, layer].transpose(1, 2).chunk(2, dim=1))
        for block, (k, v) in zip(cache.blocks, cross, strict=False):
            block.cross_attn.append(k.expand(n_rows, -1, -1, -1), v.expand(n_rows, -1, -1, -1))
        return cache

    def taken(self, first: int) -> Float[Tensor, "batch pos layer both_heads d_head"]:
        """Return a copy of the keys and then the values of self-attention from position `first` on; see `of`."""
        written = [block.self_attn.written[:, :, first:] for block in self.blocks]
        return torch.stack(written, dim=1).permute(0, 3, 1, 2, 4)

    def repeat(self, n_times: int) -> None:
        """Repeat each row `n_times`, next to each other, to continue a text in several ways."""
        for block in self.blocks:
            block.self_attn.repeat(n_times)
            block.cross_attn.repeat(n_times)

    def reorder(self, rows: Tensor) -> None:
        """Select rows, in this order, possibly repeated; each row must keep its source."""
        for block in self.blocks:
            block.self_attn.reorder(rows)
