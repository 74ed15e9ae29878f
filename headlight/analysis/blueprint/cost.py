"""What a model costs, computed from its configuration alone: multiply-adds of reading and of writing, and memory.

Only matrix products are counted, in multiply-adds (two floating-point operations each); everything else is smaller by
orders of magnitude. Masks save nothing: forbidden scores are computed, too.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from headlight.analysis.trace.attentions import attentions_of
from transformer_core.config import ModelConfig
from transformer_core.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class StepCost:
    """The multiply-adds of reading some tokens of one text."""

    projections: int  # of queries, keys, values and outputs, in self- and cross-attention
    attention: int  # queries times keys, and weights times values
    feed_forward: int
    unembedding: int  # for every token that is read

    @property
    def total(self) -> int:
        """The sum of all parts."""
        return self.projections + self.attention + self.feed_forward + self.unembedding


@dataclass(frozen=True, kw_only=True)
class CacheBytes:
    """The memory of the keys and values of one text, in bytes."""

    self_attn: int  # of the positions read so far
    cross_attn: int  # of the source

    @property
    def total(self) -> int:
        """The sum of both."""
        return self.self_attn + self.cross_attn


def step_cost(config: ModelConfig, n_before: int, *, n_new: int = 1, n_src: int = 0, cached: bool = True) -> StepCost:
    """Return the decoder's cost of reading new tokens after others.

    Args:
        config: of the model.
        n_before: tokens read before.
        n_new: tokens that are new at this step.
        n_src: tokens of the source, for an encoder-decoder, without the cost of the encoder; see `source_cost`.
        cached: keys and values of earlier tokens and of the source are cached; else each step reads all tokens again,
            with their logits, and projects the source again.

    Raises:
        ConfigError: the model has no decoder.

    Source: Shazeer 2019, "Fast Transformer Decoding", sec. 2.4.
    """
    if not config.has_decoder:
        raise ConfigError("this model is encoder-only and does not generate text; choose one with a decoder")
    n_keys = n_before + n_new
    n_read = n_new if cached else n_keys
    projections, attention = _self_attention(config, n_read=n_read, n_keys=n_keys)
    if config.has_encoder:
        width = config.n_heads * config.d_head
        n_projected = n_src if n_before == 0 or not cached else 0
        projections += 2 * n_read * config.d_model * width + n_projected * config.d_model * _kept_width(config)
        attention += 2 * n_read * n_src * width
    n_layers = config.n_decoder_layers
    return StepCost(
        projections=n_layers * projections,
        attention=n_layers * attention,
        feed_forward=n_layers * _feed_forward(config, n_read),
        unembedding=n_read * config.embedding_width * config.vocab_size,
    )


def step_costs(
    config: ModelConfig, n_steps: int, *, n_given: int = 1, n_src: int = 0, cached: bool = True
) -> list[StepCost]:
    """Return the cost of each step: the first reads `n_given` tokens, every later one a single token.

    See `step_cost` for the other arguments; `n_given` is the length of the prompt, 1 if there is only <bos>.
    """
    sizes = [(0, n_given), *((n_given + step, 1) for step in range(n_steps - 1))]
    return [step_cost(config, n_before, n_new=n_new, n_src=n_src, cached=cached) for n_before, n_new in sizes[:n_steps]]


def source_cost(config: ModelConfig, n_src: int) -> StepCost:
    """Return the encoder's cost of reading the source, once before the first step; 0 without an encoder."""
    projections, attention = _self_attention(config, n_read=n_src, n_keys=n_src)
    n_layers = config.n_encoder_layers
    return StepCost(
        projections=n_layers * projections,
        attention=n_layers * attention,
        feed_forward=n_layers * _feed_forward(config, n_src),
        unembedding=0,
    )


def cache_bytes(config: ModelConfig, n_positions: int, n_src: int = 0, bytes_per_number: int = 4) -> CacheBytes:
    """Return the memory of the keys and values of one text, after `n_positions` tokens of the decoder."""
    of_position = config.n_decoder_layers * _kept_width(config) * bytes_per_number
    return CacheBytes(self_attn=n_positions * of_position, cross_attn=n_src * of_position if config.has_encoder else 0)


def _kept_width(config: ModelConfig) -> int:
    """Return the number of cached values per layer and position."""
    return 2 * config.n_kv_heads * config.d_head


def _self_attention(config: ModelConfig, *, n_read: int, n_keys: int) -> tuple[int, int]:
    """Return one layer's multiply-adds for the projections, and for attention itself."""
    width = config.n_heads * config.d_head
    projections = n_read * config.d_model * (2 * width + _kept_width(config))
    return projections, 2 * n_read * n_keys * width


def _feed_forward(config: ModelConfig, n_read: int) -> int:
    return (3 if config.gated else 2) * n_read * config.d_model * config.d_ff


PARTS = ("projections", "attention", "feed_forward", "unembedding")
FARTHEST = 1 << 30  # tokens; the longest text that `crossing` considers


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Memory used while a text of some length is read or written, in bytes."""

    weights: int
    cache: int  # keys and values of all layers; 0 for a model that does not write
    patterns: int  # all attention patterns, if they are materialized


def reading_cost(config: ModelConfig, length: int) -> StepCost:
    """Return the multiply-adds of one forward pass: of all stacks, each over a text of this length.

    Args:
        config: of the model.
        length: tokens of the text; with two stacks, of the source and of the target each.
    """
    parts = [source_cost(config, length)] if config.has_encoder else []
    if config.has_decoder:
        parts.append(step_cost(config, 0, n_new=length, n_src=length if config.has_encoder else 0))
    total = {name: sum(getattr(part, name) for part in parts) for name in PARTS}
    if not config.has_decoder and config.unembed:
        total["unembedding"] = length * config.embedding_width * config.vocab_size
    if config.unembed_transform:
        total["unembedding"] += length * config.d_model * config.embedding_width
    return StepCost(**total)


def reading_costs(config: ModelConfig, lengths: Sequence[int]) -> dict[str, Int[np.ndarray, " length"]]:
    """Return the multiply-adds of one forward pass over texts of several lengths, by part, and their "total"."""
    costs = [reading_cost(config, length) for length in lengths]
    names = (*PARTS, "total")
    return {name: np.array([getattr(cost, name) for cost in costs], dtype=np.int64) for name in names}


def writing_cost(config: ModelConfig, length: int, *, cached: bool) -> int:
    """Return the multiply-adds of writing this many tokens one by one, after a first one.

    Args:
        config: of a model with a decoder. With two stacks the source is as long as what is written, and read once.
        length: tokens that are written.
        cached: with a KV cache; else every step reads all previous tokens again.

    Raises:
        ConfigError: the model has no decoder.
    """
    n_src = length if config.has_encoder else 0
    source = source_cost(config, n_src).total if config.has_encoder else 0

    def step(n_before: int) -> int:
        return step_cost(config, n_before, n_src=n_src, cached=cached).total

    if length <= 3:
        return source + sum(step(n) for n in range(length))
    # From the second step on the cost is a polynomial of degree at most 2 in the number of tokens written before, so
    # three values determine it: Newton's forward differences.
    first, second, third = step(1), step(2), step(3)
    n = length - 1
    slope, bend = second - first, third - 2 * second + first
    steps = first * n + slope * (n * (n - 1) // 2) + bend * (n * (n - 1) * (n - 2) // 6)
    return source + step(0) + steps


def memory(config: ModelConfig, length: int, *, n_parameters: int, bytes_per_number: int = 4) -> Memory:
    """Return the memory that a text of this length takes; with two stacks, both have this length.

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
    """Return the shortest length at which one part of reading costs more than another; None if there is none.

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


def several_lengths(longest: int) -> list[int]:
    """Return lengths from 1 to the longest, closer together at the beginning; each once."""
    most = 160
    if longest <= most:
        return list(range(1, longest + 1))
    return sorted({round(longest ** (i / (most - 1))) for i in range(most)} | {1, longest})
