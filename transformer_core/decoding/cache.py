"""The KV cache: keys and values of the positions that have been read, so that each is projected once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

Project = Callable[[], tuple[Tensor, Tensor]]


class GrowingStore:
    """Keys and values of self-attention: each call adds those of the new positions."""

    def __init__(self, max_positions: int) -> None:
        """Plan for at most `max_positions`; memory is taken at the first call."""
        self.max_positions = max_positions
        self.n_positions = 0
        self.k_v: Tensor | None = None  # [batch, head of keys, then head of values, pos, d_head]

    def keys_values(self, project: Project) -> tuple[Tensor, Tensor]:
        """Return keys and values [batch, head, key, d_head] of all positions so far, the new ones included."""
        return self.add(torch.cat(project(), dim=1))

    def add(self, k_v: Tensor) -> tuple[Tensor, Tensor]:
        """Add keys and, behind them, values [batch, 2 head, new, d_head] of new positions, and return all so far."""
        n_heads, n_new = k_v.shape[1] // 2, k_v.shape[2]
        if self.k_v is None:
            self.k_v = k_v.new_empty(k_v.shape[0], 2 * n_heads, self.max_positions, k_v.shape[-1])
        self.k_v.narrow(2, self.n_positions, n_new).copy_(k_v)
        self.n_positions += n_new
        keys, values = self.k_v.narrow(2, 0, self.n_positions).split(n_heads, dim=1)
        return keys, values

    def repeat(self, n_times: int) -> None:
        """Keep each row `n_times`, one beside the other."""
        if self.k_v is not None:
            self.k_v = self.k_v.repeat_interleave(n_times, dim=0)

    def copy_rows(self, sources: Tensor, targets: Tensor) -> None:
        """Write some rows in the place of others."""
        if self.k_v is not None:
            written = self.k_v.narrow(2, 0, self.n_positions)
            written[targets] = written[sources]


class FixedStore:
    """Keys and values of cross-attention: the memory does not change, so they are projected once."""

    def __init__(self, k_v: tuple[Tensor, Tensor] | None = None) -> None:
        """Start empty, or with keys and values that were projected before."""
        self._k_v = k_v

    def keys_values(self, project: Project) -> tuple[Tensor, Tensor]:
        """Return keys and values [batch, head, key, d_head] of the memory."""
        if self._k_v is None:
            self._k_v = project()
        return self._k_v

    def kept(self) -> tuple[Tensor, Tensor]:
        """Return keys and values of the memory, projected before."""
        assert self._k_v is not None, "the memory was not looked at yet"
        return self._k_v

    def repeat(self, n_times: int) -> None:
        """Keep each row `n_times`, one beside the other."""
        if self._k_v is not None:
            k, v = self._k_v
            self._k_v = k.repeat_interleave(n_times, dim=0), v.repeat_interleave(n_times, dim=0)


@dataclass(frozen=True)
class BlockCache:
    """The stores of one decoder block."""

    self_attn: GrowingStore
    cross_attn: FixedStore = field(default_factory=FixedStore)


class KeyValueCache:
    """The stores of every block of a decoder."""

    def __init__(self, n_layers: int, max_positions: int) -> None:
        """Plan for `max_positions` target positions in each of `n_layers` blocks."""
        self.blocks = tuple(BlockCache(GrowingStore(max_positions)) for _ in range(n_layers))

    @property
    def n_positions(self) -> int:
        """Target positions that have been read in full, by every block."""
        return self.blocks[-1].self_attn.n_positions

    @classmethod
    def of(
        cls,
        k_v: Float[Tensor, "batch pos layer both_heads d_head"],
        cross: Sequence[tuple[Tensor, Tensor]],
        max_positions: int,
    ) -> "KeyValueCache":
        """Return a cache that goes on from keys and values that were taken out of others by `taken`.

        Args:
            k_v: of self-attention, as `taken` gives them; one row for each text that is gone on with.
            cross: keys and values [1, head, src, d_head] of the memory of one text, layer by layer, which all rows
                share; () where there is none.
            max_positions: target positions to plan for, those of `k_v` included.
        """
        n_rows, _, n_layers = k_v.shape[:3]
        cache = cls(n_layers, max_positions)
        for layer, block in enumerate(cache.blocks):
            block.self_attn.add(k_v[:, :, layer].transpose(1, 2))
        if cross:
            of_rows = [(k.expand(n_rows, -1, -1, -1), v.expand(n_rows, -1, -1, -1)) for k, v in cross]
            cache.blocks = tuple(
                BlockCache(block.self_attn, FixedStore(of_memory))
                for block, of_memory in zip(cache.blocks, of_rows, strict=True)
            )
        return cache

    def taken(self, first: int) -> Float[Tensor, "batch pos layer both_heads d_head"]:
        """Return a copy of keys and, behind them, values of self-attention, from position `first` on.

        Later calls of the model do not change it; `of` goes on from it.
        """
        stores = [block.self_attn.k_v for block in self.blocks]
        assert None not in stores, "nothing was read yet"
        written = [store[:, :, first : self.n_positions] for store in stores if store is not None]
        return torch.stack(written, dim=1).permute(0, 3, 1, 2, 4)

    def repeat(self, n_times: int) -> None:
        """Keep each row `n_times`, one beside the other: a text that will go on in several ways."""
        for block in self.blocks:
            block.self_attn.repeat(n_times)
            block.cross_attn.repeat(n_times)

    def reorder(self, rows: list[int]) -> None:
        """Go on with these rows in this order, one of them several times perhaps; each row's source stays the same."""
        moved = [(source, target) for target, source in enumerate(rows) if source != target]
        sources, targets = torch.tensor(moved).T
        for block in self.blocks:
            block.self_attn.copy_rows(sources, targets)
