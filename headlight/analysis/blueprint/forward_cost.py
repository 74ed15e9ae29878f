"""What a whole model costs by the length of its text: multiply-adds of reading and of writing, and memory.

Everything is made of `decoding.cost`, which counts the products of matrices: two floating-point operations each.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from headlight.analysis.blueprint.decoding_cost import StepCost, cache_bytes, source_cost, step_cost
from headlight.analysis.trace.attentions import attentions_of
from transformer_core.config import ModelConfig

PARTS = ("projections", "attention", "feed_forward", "unembedding")
FARTHEST = 1 << 30  # tokens, up to which a crossing is looked for


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What lies in memory while a text of some length is read or written, in bytes."""

    weights: int
    cache: int  # keys and values of all layers; 0 for a model that does not write
    patterns: int  # all attention patterns, if they are materialized


def reading_cost(config: ModelConfig, length: int) -> StepCost:
    """Return the multiply-adds of one forward: of all stacks, each over a text of this length.

    Args:
        config: of the model.
        length: tokens of the text; with two stacks, of the source and of the target each.
    """
    parts = [source_cost(config, length)] if config.has_encoder else []
    if config.has_decoder:
        parts.append(step_cost(config, 0, n_new=length, n_src=length if config.has_encoder else 0))
    total = {name: sum(getattr(part, name) for part in parts) for name in PARTS}
    if not config.has_decoder and config.unembed:
        total["unembedding"] = length * config.d_model * config.vocab_size
    if config.unembed_transform:
        total["unembedding"] += length * config.d_model**2
    return StepCost(**total)


def reading_costs(config: ModelConfig, lengths: Sequence[int]) -> dict[str, Int[np.ndarray, " length"]]:
    """Return the multiply-adds of one forward over texts of several lengths, by part, and their "total"."""
    costs = [reading_cost(config, length) for length in lengths]
    names = (*PARTS, "total")
    return {name: np.array([getattr(cost, name) for cost in costs], dtype=np.int64) for name in names}


def writing_cost(config: ModelConfig, length: int, *, cached: bool) -> int:
    """Return the multiply-adds of writing this many tokens one by one, after a first one.

    Args:
        config: of a model with a decoder. With two stacks the source is as long as what is written, and read once.
        length: tokens that are written.
        cached: with a KV cache; else every step reads all that was written before again.

    Raises:
        ConfigError: the model has no decoder.
    """
    n_src = length if config.has_encoder else 0
    source = source_cost(config, n_src).total if config.has_encoder else 0

    def step(n_before: int) -> int:
        return step_cost(config, n_before, n_src=n_src, cached=cached).total

    if length <= 3:
        return source + sum(step(n) for n in range(length))
    # From the second step on the cost is a polynomial of at most the second degree in what was written before, so three
    # of them say all: Newton's forward differences.
    first, second, third = step(1), step(2), step(3)
    n = length - 1
    slope, bend = second - first, third - 2 * second + first
    steps = first * n + slope * (n * (n - 1) // 2) + bend * (n * (n - 1) * (n - 2) // 6)
    return source + step(0) + steps


def memory(config: ModelConfig, length: int, *, n_parameters: int, bytes_per_number: int = 4) -> Memory:
    """Return the memory that a text of this length takes; with two stacks, in each of them.

    Args:
        config: of the model.
        length: tokens.
        n_parameters: of the model.
        bytes_per_number: 4 in single precision, 2 in half.
    """
    n_src = length if config.has_encoder else 0
    n_attentions = sum(attention.n_layers(config) for attention in attentions_of(config).values())
    return Memory(
        weights=n_parameters * bytes_per_number,
        cache=cache_bytes(config, length, n_src, bytes_per_number).total if config.has_decoder else 0,
        patterns=n_attentions * config.n_heads * length * length * bytes_per_number,
    )


def crossing(config: ModelConfig, one: str, other: str) -> int | None:
    """Return the shortest length at which one part of reading costs more than another; None where there is none.

    Args:
        config: of the model.
        one: a name in `PARTS`, whose share grows with the length.
        other: another one.
    """

    def is_more(length: int) -> bool:
        cost = reading_cost(config, length)
        return bool(getattr(cost, one) > getattr(cost, other))

    length = bisect_left(range(FARTHEST + 1), True, key=is_more)
    return length if length <= FARTHEST else None


def several_lengths(longest: int, most: int = 160) -> list[int]:
    """Return lengths from 1 to the longest, closer together at the beginning; each once."""
    if longest <= most:
        return list(range(1, longest + 1))
    return sorted({round(longest ** (i / (most - 1))) for i in range(most)} | {1, longest})
