"""What a bias of the positions adds to the scores: ALiBi's lines, and T5's buckets of distances."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Float, Int

from headlight.analysis.positions.tables import StackName
from transformer_core.config import ModelConfig
from transformer_core.errors import ConfigError
from transformer_core.model.distance_bias import AlibiBias, PositionBias, RelativeBuckets, alibi_slopes, relative_bucket
from transformer_core.model.transformer import Transformer


def slopes(n_heads: int) -> Float[np.ndarray, " head"]:
    """Return how fast each head's bias falls with the distance, in score a position.

    Source: Press et al. 2022, sec. 3.
    """
    return alibi_slopes(n_heads).numpy()


def alibi_by_distance(n_heads: int, n_positions: int) -> Float[np.ndarray, "head distance"]:
    """Return the bias of a key's score by its distance, from 0 on."""
    rule = AlibiBias(ModelConfig(vocab_size=4, d_model=2 * n_heads, n_heads=n_heads, positions="alibi"))
    return rule(-torch.arange(n_positions)[None])[:, 0].numpy()


def alibi_matrix(n_heads: int, head: int, n_positions: int) -> Float[np.ndarray, "query key"]:
    """Return the bias that one head adds to every score."""
    rule = AlibiBias(ModelConfig(vocab_size=4, d_model=2 * n_heads, n_heads=n_heads, positions="alibi"))
    return _written_out(rule, n_positions)[head]


@dataclass(frozen=True, kw_only=True, eq=False)
class Buckets:
    """Which distance falls in which bucket."""

    distance: Int[np.ndarray, " distance"]  # key minus query, from the farthest back to the farthest ahead
    bucket: Int[np.ndarray, " distance"]
    matrix: Int[np.ndarray, "query key"]  # the bucket of each cell


def buckets(n_positions: int, *, is_causal: bool, like: ModelConfig | None = None) -> Buckets:
    """Return the buckets of all distances in a text.

    Args:
        n_positions: of queries and of keys.
        is_causal: all buckets serve the keys up to the query; else half of them do.
        like: a model whose number of buckets and farthest distance are taken, where it has such; None: T5's 32 and 128.

    Source: Raffel et al. 2020, sec. 2.1.
    """
    shape = like if like is not None and like.positions == "relative_buckets" else _T5
    distance = torch.arange(1 - n_positions, 1 if is_causal else n_positions)
    grid = torch.arange(n_positions)[None] - torch.arange(n_positions)[:, None]
    buckets_of = partial(
        relative_bucket,
        n_buckets=shape.n_relative_buckets,
        max_distance=shape.relative_max_distance,
        is_causal=is_causal,
    )
    bucket = buckets_of(distance[None])[0].numpy()
    return Buckets(distance=distance.numpy(), bucket=bucket, matrix=buckets_of(grid).numpy())


_T5 = ModelConfig(vocab_size=4, positions="relative_buckets")


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedBias:
    """What a model learned to add to the scores."""

    is_causal: bool
    distance: Int[np.ndarray, " distance"]  # key minus query
    by_distance: Float[np.ndarray, "head distance"]
    matrix: Float[np.ndarray, "head query key"]


@torch.inference_mode()
def learned_bias(model: Transformer, stack: StackName, n_positions: int) -> LearnedBias:
    """Return the biases of a model's buckets, by distance and for every cell.

    Args:
        model: with buckets of distances.
        stack: whose; an encoder-decoder has its own biases in each.
        n_positions: of queries and of keys.

    Raises:
        ConfigError: the model has none there.
    """
    part = model.encoder if stack == "encoder" else model.decoder
    rule = None if part is None else part.position_bias
    if not isinstance(rule, RelativeBuckets):
        raise ConfigError(
            "this model has no learned position bias in its {stack}; choose a model with relative position buckets",
            stack=stack,
        )
    distance = torch.arange(1 - n_positions, 1 if rule.is_causal else n_positions)
    return LearnedBias(
        is_causal=rule.is_causal,
        distance=distance.numpy(),
        by_distance=rule(distance[None].to(rule.weight.device))[:, 0].float().cpu().numpy(),
        matrix=_written_out(rule, n_positions),
    )


def _written_out(rule: AlibiBias | RelativeBuckets, n_positions: int) -> Float[np.ndarray, "head query key"]:
    device = rule.weight.device if isinstance(rule, RelativeBuckets) else torch.device("cpu")
    bias = PositionBias(of_distance=rule, n_queries=n_positions, n_keys=n_positions, n_past=0, device=device)
    return bias.write_out()[0].detach().float().cpu().numpy()
