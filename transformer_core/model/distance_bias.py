"""Position biases: numbers added to the scores that depend only on the distance between query and key."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_core.config import ModelConfig

OfDistance = Callable[[Int[Tensor, "query key"]], Float[Tensor, "head query key"]]


@dataclass(frozen=True, kw_only=True, eq=False)
class PositionBias:
    """The bias of one attention as a rule, materialized on demand."""

    of_distance: OfDistance  # of key minus query, in positions
    n_queries: int
    n_keys: int
    n_past: int  # keys before the first query
    device: torch.device

    def write_out(self, queries: slice = slice(None), keys: slice = slice(None)) -> Float[Tensor, "1 head query key"]:
        """Return the bias as a matrix, or a window of it.

        The rows are slices of one vector over all distances, unless rounding makes them depend on positions.

        Args:
            queries: contiguous rows, a slice of 0 to `n_queries`.
            keys: contiguous columns, a slice of 0 to `n_keys`.
        """
        rows, columns = range(*queries.indices(self.n_queries)), range(*keys.indices(self.n_keys))
        first, last = rows[0] + self.n_past, rows[-1] + self.n_past
        if isinstance(self.of_distance, AlibiBias) and self.is_rounded:
            query = torch.arange(first, last + 1, device=self.device)
            return self.of_distance.between(query, torch.arange(columns.start, columns.stop, device=self.device))[None]
        distance = torch.arange(columns[0] - last, columns[-1] - first + 1, device=self.device)
        by_distance = self.of_distance(distance[None])[:, 0].contiguous()  # [head, distance]
        return by_distance.unfold(-1, len(columns), 1).flip(1)[None]  # the slice of the last query comes first

    @property
    def is_rounded(self) -> bool:
        """Whether rounding makes the bias depend on both positions, not only on their distance."""
        return isinstance(self.of_distance, AlibiBias) and self.of_distance.is_rounded

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """The trained parameters of the bias, if any."""
        return tuple(self.of_distance.parameters()) if isinstance(self.of_distance, nn.Module) else ()

    def to(self, device: torch.device | str) -> Self:
        """Return the same rule for another device."""
        return replace(self, device=torch.device(device))


def alibi_slopes(n_heads: int) -> Float[Tensor, " head"]:
    """Return the slope of each head's bias: 2^(-8 (i + 1) / n_heads) for powers of two.

    For other numbers of heads: the slopes for the next lower power of two, then every other slope for the next higher.

    Source: Press et al. 2022, sec. 3 and, for other numbers of heads, its code.
    """

    def geometric(n: int) -> list[float]:
        return [2 ** (-8 * (i + 1) / n) for i in range(n)]

    below = 2 ** int(math.log2(n_heads))
    return torch.tensor(geometric(below) + geometric(2 * below)[0 : 2 * (n_heads - below) : 2], device="cpu")


def relative_bucket(
    distance: Int[Tensor, "query key"], *, n_buckets: int, max_distance: int, is_causal: bool
) -> Int[Tensor, "query key"]:
    """Return the bucket of each distance: one each for small distances, logarithmic ones for large distances.

    Args:
        distance: key minus query.
        n_buckets: in total; without a causal mask half of them are for later keys.
        max_distance: this and all larger distances share the last bucket.
        is_causal: whether all buckets are for keys up to the query.

    Source: Raffel et al. 2020, sec. 2.1, and its code.
    """
    first = torch.zeros_like(distance)
    if is_causal:
        distance = (-distance).clamp(min=0)
    else:
        n_buckets //= 2
        first, distance = torch.where(distance > 0, n_buckets, 0), distance.abs()
    n_near = n_buckets // 2
    part = torch.log(distance.clamp(min=1).float() / n_near) / math.log(max_distance / n_near)
    far = (n_near + (part * (n_buckets - n_near)).long()).clamp(max=n_buckets - 1)
    return first + torch.where(distance < n_near, distance, far)


class AlibiBias(nn.Module):
    """A bias that decreases linearly with the distance, with a fixed slope per head.

    Source: Press et al. 2022, sec. 3. Differs: without a causal mask it is symmetric; slopes are scaled, and their
    products with positions rounded, if configured.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.scale, self.is_rounded = config.alibi_scale, config.alibi_rounding
        self.slopes = alibi_slopes(config.n_heads) * self.scale

    def forward(self, distance: Int[Tensor, "query key"]) -> Float[Tensor, "head query key"]:
        """Return minus slope times distance."""
        return -self.slopes.to(distance.device)[:, None, None] * distance.abs()

    def between(self, query: Int[Tensor, " query"], key: Int[Tensor, " key"]) -> Float[Tensor, "head query key"]:
        """Return slope times key position minus slope times query position, each product rounded to bfloat16."""
        slopes = alibi_slopes(len(self.slopes)).bfloat16().to(key.device)[:, None]
        of_query, of_key = ((slopes * position).float() for position in (query, key))  # [head, position]
        return self.scale * (of_key[:, None] - of_query[:, :, None])


class RelativeBuckets(nn.Module):
    """A trained bias per head and bucket of distances, shared by all layers of a stack.

    Source: Raffel et al. 2020, sec. 2.1; Shaw et al. 2018 for relative positions.
    """

    def __init__(self, config: ModelConfig, *, is_causal: bool) -> None:
        super().__init__()
        self.max_distance, self.is_causal = config.relative_max_distance, is_causal
        self.weight = nn.Parameter(torch.empty(config.n_relative_buckets, config.n_heads))

    def forward(self, distance: Int[Tensor, "query key"]) -> Float[Tensor, "head query key"]:
        """Return the bias for the bucket of each distance."""
        bucket = relative_bucket(
            distance, n_buckets=self.weight.shape[0], max_distance=self.max_distance, is_causal=self.is_causal
        )
        return F.embedding(bucket, self.weight.to(bucket.device)).permute(2, 0, 1)


def build_position_bias(config: ModelConfig, *, is_causal: bool) -> AlibiBias | RelativeBuckets | None:
    """Return the configured bias; None if there is none."""
    if config.positions == "alibi":
        return AlibiBias(config)
    if config.has_relative_buckets:
        return RelativeBuckets(config, is_causal=is_causal)
    return None
