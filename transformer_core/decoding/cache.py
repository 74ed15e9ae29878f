"""The KV cache: keys and values of the positions that have been read, so that each is projected once."""

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor

Project = Callable[[], tuple[Tensor, Tensor]]


class GrowingStore:
    """Keys and values of self-attention: each call adds those of the new positions."""

    def __init__(self, max_positions: int) -> None:
        """Plan for at most `max_positions`; memory is taken at the first call."""
        self.max_positions = max_positions
        self.n_positions = 0
        self._k: Tensor | None = None
        self._v: Tensor | None = None

    def keys_values(self, project: Project) -> tuple[Tensor, Tensor]:
        """Return keys and values [batch, head, key, d_head] of all positions so far, the new ones included."""
        k, v = project()
        if self._k is None or self._v is None:
            shape = (*k.shape[:2], self.max_positions, k.shape[-1])
            self._k, self._v = k.new_empty(shape), v.new_empty(shape)
        first, self.n_positions = self.n_positions, self.n_positions + k.shape[2]
        self._k[:, :, first : self.n_positions] = k
        self._v[:, :, first : self.n_positions] = v
        return self._k[:, :, : self.n_positions], self._v[:, :, : self.n_positions]


class FixedStore:
    """Keys and values of cross-attention: the memory does not change, so they are projected once."""

    def __init__(self) -> None:
        """Start empty."""
        self._k_v: tuple[Tensor, Tensor] | None = None

    def keys_values(self, project: Project) -> tuple[Tensor, Tensor]:
        """Return keys and values [batch, head, key, d_head] of the memory."""
        if self._k_v is None:
            self._k_v = project()
        return self._k_v


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
