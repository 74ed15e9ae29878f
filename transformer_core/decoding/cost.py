"""What a step of decoding costs, with and without a KV cache, read off the configuration alone.

Counted are the products of matrices, in multiply-adds (two floating-point operations each): what is added, normalized
or turned beside them is less by orders of magnitude. A mask spares nothing: scores that it forbids are computed, too.
"""

from dataclasses import dataclass

from transformer_core.config import ModelConfig
from transformer_core.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class StepCost:
    """The multiply-adds of reading some tokens of one text."""

    projections: int  # of queries, keys, values, and of what the heads put together; cross-attention's, too
    attention: int  # queries times keys, and weights times values
    feed_forward: int
    unembedding: int  # of every token that is read

    @property
    def total(self) -> int:
        """All of them."""
        return self.projections + self.attention + self.feed_forward + self.unembedding


@dataclass(frozen=True, kw_only=True)
class CacheBytes:
    """The memory of the keys and values of one text, in bytes."""

    self_attn: int  # of the positions that were read
    cross_attn: int  # of the source

    @property
    def total(self) -> int:
        """Both together."""
        return self.self_attn + self.cross_attn


def step_cost(config: ModelConfig, n_before: int, *, n_new: int = 1, n_src: int = 0, cached: bool = True) -> StepCost:
    """Return what it costs the decoder to read new tokens after others.

    Args:
        config: of the model.
        n_before: tokens that were read before.
        n_new: tokens that are new at this step.
        n_src: tokens of the source, for an encoder-decoder. The encoder has read them before, see `source_cost`.
        cached: keys and values of the tokens before, and those of the source, are there from the second step on; else
            every token is read anew, each with its logits, and the source is projected anew.

    Raises:
        ConfigError: the model has no decoder.

    Source: Shazeer 2019, "Fast Transformer Decoding", sec. 2.4, for what a cache spares.
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
        unembedding=n_read * config.d_model * config.vocab_size,
    )


def step_costs(
    config: ModelConfig, n_steps: int, *, n_given: int = 1, n_src: int = 0, cached: bool = True
) -> list[StepCost]:
    """Return the cost of each step of a text: the first reads what was given, each other one the token before it.

    Args:
        config: of the model.
        n_steps: how many.
        n_given: tokens of the prompt; 1 where there is only <bos>.
        n_src: tokens of the source, for an encoder-decoder.
        cached: as for `step_cost`.

    Raises:
        ConfigError: the model has no decoder.
    """
    sizes = [(0, n_given), *((n_given + step, 1) for step in range(n_steps - 1))]
    return [step_cost(config, n_before, n_new=n_new, n_src=n_src, cached=cached) for n_before, n_new in sizes[:n_steps]]


def source_cost(config: ModelConfig, n_src: int) -> StepCost:
    """Return what it costs the encoder to read the source, once before the first step.

    Args:
        config: of the model; without an encoder it costs nothing.
        n_src: tokens of the source.
    """
    projections, attention = _self_attention(config, n_read=n_src, n_keys=n_src)
    n_layers = config.n_encoder_layers
    return StepCost(
        projections=n_layers * projections,
        attention=n_layers * attention,
        feed_forward=n_layers * _feed_forward(config, n_src),
        unembedding=0,
    )


def cache_bytes(config: ModelConfig, n_positions: int, n_src: int = 0, bytes_per_number: int = 4) -> CacheBytes:
    """Return how much memory the keys and values of one text take.

    Args:
        config: of the model.
        n_positions: tokens that the decoder has read.
        n_src: tokens of the source, for an encoder-decoder.
        bytes_per_number: 4 in single precision, 2 in half.
    """
    of_position = config.n_decoder_layers * _kept_width(config) * bytes_per_number
    return CacheBytes(self_attn=n_positions * of_position, cross_attn=n_src * of_position if config.has_encoder else 0)


def _kept_width(config: ModelConfig) -> int:
    """Return how many numbers a layer keeps of a position: its keys and its values."""
    return 2 * config.n_kv_heads * config.d_head


def _self_attention(config: ModelConfig, *, n_read: int, n_keys: int) -> tuple[int, int]:
    """Return one layer's multiply-adds for its projections, and for attention itself."""
    width = config.n_heads * config.d_head
    projections = n_read * config.d_model * (2 * width + _kept_width(config))
    return projections, 2 * n_read * n_keys * width


def _feed_forward(config: ModelConfig, n_read: int) -> int:
    """Return one layer's multiply-adds for its feed-forward network."""
    return (3 if config.gated else 2) * n_read * config.d_model * config.d_ff
