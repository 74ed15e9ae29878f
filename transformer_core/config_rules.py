"""The rules for combinations of fields in a model's configuration, each with its error message."""

from typing import Any

from transformer_core.checked_fields import Refusal, is_above_zero, needs
from transformer_core.errors import Message

MOST_IN_TABLE = 2**25  # values in a position table, whose memory a configuration alone could demand


def _nearest_divisor(number: int, wanted: int) -> int:
    return min((d for d in range(1, number + 1) if number % d == 0), key=lambda d: abs(d - wanted))


def _token(name: str) -> Refusal:
    """Return the rule that a special token, or each of several, must be in the vocabulary if it exists."""

    def value(config: Any) -> Any:
        return getattr(config, name)

    def applies(config: Any) -> bool:
        tokens = value(config)
        tokens = tokens if isinstance(tokens, tuple) else () if tokens is None else (tokens,)
        return not all(type(token) is int and 0 <= token < config.vocab_size for token in tokens)

    return Refusal(
        applies,
        Message("{name} ({value!r}) must be a token id from 0 to {last}", name=name),
        {"value": value, "last": lambda c: c.vocab_size - 1},
    )


def _layers(stack: Message) -> tuple[Refusal, Refusal]:
    """Return the rules of a stack: it has layers if and only if the architecture has that stack."""
    name = f"n_{stack}_layers"

    def n_layers(config: Any) -> Any:
        return getattr(config, name)

    def is_there(config: Any) -> Any:
        return getattr(config, f"has_{stack}")

    lacking = Message("{kind} needs {name} of at least 1, got 0", name=name)
    idle = Message("{kind} has no {stack}: {name} must be 0, got {n_layers}", stack=stack, name=name)
    return (
        Refusal(lambda c: is_there(c) and not n_layers(c), lacking),
        Refusal(lambda c: n_layers(c) and not is_there(c), idle, {"n_layers": n_layers}),
    )


def _list_of_layers(name: str) -> Refusal:
    """Return the rule that a field lists existing layers, each once."""

    def n_layers(config: Any) -> int:
        return max(config.n_encoder_layers, config.n_decoder_layers)

    def applies(config: Any) -> bool:
        layers = getattr(config, name)
        is_list = type(layers) is tuple and all(type(layer) is int for layer in layers)
        return not (is_list and [*layers] == sorted({*layers} & {*range(n_layers(config))}))

    return Refusal(
        applies,
        Message("{name} ({value!r}) must list layers from 0 to {last} in increasing order", name=name),
        {"value": lambda c: getattr(c, name), "last": lambda c: n_layers(c) - 1},
    )


OF_OUTPUT_LAYER = ("unembed_transform", "unembed_bias", "scale_logits", "logit_cap")


def _are_factors(values: object, n: int) -> bool:
    return type(values) is tuple and len(values) == n and all(map(is_above_zero, values))


_FEED_FORWARD = Message("a feed-forward network (d_ff above 0)")
_BY_TURNS = ("rotary_low_freq_factor", "rotary_high_freq_factor", "rotary_original_len")
ROTARY_SCALING = ("rotary_scaling", "rotary_scaling_factor", *_BY_TURNS, "rotary_pair_factors")
ROTARY = ("rotary_base", "rotary_fraction", *ROTARY_SCALING)

EVEN_HEADS = Refusal(
    lambda c: c.d_model % c.n_heads,
    Message("d_model ({d_model}) must be divisible by n_heads ({n_heads}); use {fitting} heads, or set d_head"),
    {"fitting": lambda c: _nearest_divisor(c.d_model, c.n_heads)},
)

RULES: tuple[Refusal, ...] = (
    *map(_token, ("pad_id", "bos_id", "eos_id", "more_eos_ids")),
    Refusal(
        lambda c: type(c.more_eos_ids) is not tuple or (c.more_eos_ids and c.eos_id is None),
        Message("more_eos_ids ({more_eos_ids!r}) must be a list of token ids, beside an eos_id"),
    ),
    Refusal(
        lambda c: c.architecture == "encoder_decoder" and c.bos_id is None,
        Message("bos_id ({bos_id!r}) must be a token id in {kind}, whose output begins with it"),
    ),
    *_layers(Message("encoder")),
    *_layers(Message("decoder")),
    Refusal(
        lambda c: c.architecture != "encoder_decoder" and c.tie_embeddings == "three_way",
        Message(
            "{kind} has only one embedding, so it cannot be tied three ways; set tie_embeddings to "
            "target (share it with the output layer) or none"
        ),
    ),
    Refusal(
        lambda c: c.architecture != "encoder_decoder" and c.src_vocab_size,
        Message("{kind} has one vocabulary; src_vocab_size must be 0, got {src_vocab_size}"),
    ),
    Refusal(
        lambda c: c.src_vocab_size and c.tie_embeddings == "three_way",
        Message(
            "a source with its own vocabulary (src_vocab_size) has its own embedding; set tie_embeddings to "
            "target or none"
        ),
    ),
    Refusal(
        lambda c: c.src_vocab_size and (c.pad_id or 0) >= c.src_vocab_size,
        Message("pad_id ({pad_id}) pads sources too, so it must be below src_vocab_size ({src_vocab_size})"),
    ),
    Refusal(
        lambda c: c.architecture != "encoder_only" and c.n_segments,
        Message("only encoder-only models have segments; n_segments must be 0 in {kind}"),
    ),
    needs("tie_embeddings", lambda c: c.unembed, "unembed", idle="none"),
    *(needs(name, lambda c: c.unembed, "unembed") for name in OF_OUTPUT_LAYER),
    Refusal(
        lambda c: c.n_heads % c.n_kv_heads,
        Message(
            "n_heads ({n_heads}) must be divisible by n_kv_heads ({n_kv_heads}), so that each "
            "key-value head serves the same number of query heads; use {fitting}"
        ),
        {"fitting": lambda c: _nearest_divisor(c.n_heads, c.n_kv_heads)},
    ),
    Refusal(
        lambda c: c.positions.startswith("sinusoidal") and c.embedding_width % 2,
        Message("sinusoidal positions come in pairs of sine and cosine: d_model ({d_model}) must be even"),
    ),
    Refusal(
        lambda c: c.positions.startswith("sinusoidal") and c.max_seq_len * c.d_model > MOST_IN_TABLE,
        Message("a table of {max_seq_len:,} positions × {d_model:,} dimensions is too large; lower max_seq_len"),
    ),
    *(
        needs(
            name,
            lambda c: c.has_rotary_positions,
            Message("positions rotary_halves or rotary_interleaved"),
        )
        for name in (*ROTARY, "layers_without_rotation")
    ),
    Refusal(
        lambda c: c.rotary_fraction > 1,
        Message("rotary_fraction is a part of each head and must lie in (0, 1], got {rotary_fraction}"),
    ),
    Refusal(
        lambda c: c.has_rotary_positions and (c.n_rotated < 2 or c.n_rotated % 2),
        Message(
            "RoPE rotates pairs of dimensions: the rotated part of a head, {n_rotated} of {d_head}, "
            "must be even and at least 2; change d_head or rotary_fraction"
        ),
    ),
    needs(
        "rotary_scaling_factor",
        lambda c: c.rotary_scaling in ("linear", "llama3", "yarn"),
        Message("rotary_scaling linear, llama3 or yarn"),
    ),
    *(
        needs(name, lambda c: c.rotary_scaling in ("llama3", "yarn"), Message("rotary_scaling llama3 or yarn"))
        for name in _BY_TURNS
    ),
    Refusal(
        lambda c: c.rotary_scaling == "yarn" and c.rotary_base <= 1,
        Message("rotary_scaling yarn needs a rotary_base above 1, got {rotary_base}"),
    ),
    needs("rotary_pair_factors", lambda c: c.rotary_scaling == "longrope", "rotary_scaling longrope"),
    Refusal(
        lambda c: c.rotary_scaling == "longrope" and not _are_factors(c.rotary_pair_factors, c.n_rotated // 2),
        Message("rotary_pair_factors must be {n_pairs} numbers above 0, one for each rotated pair of a head"),
        {"n_pairs": lambda c: c.n_rotated // 2},
    ),
    *(needs(name, lambda c: c.positions == "alibi", "positions alibi") for name in ("alibi_scale", "alibi_rounding")),
    Refusal(
        lambda c: c.alibi_rounding and c.has_encoder,
        Message("alibi_rounding needs a causal mask; it must be false in {kind}"),
    ),
    Refusal(
        lambda c: c.rotary_high_freq_factor <= c.rotary_low_freq_factor,
        Message(
            "rotary_high_freq_factor ({rotary_high_freq_factor}) must be above rotary_low_freq_factor "
            "({rotary_low_freq_factor})"
        ),
    ),
    *(
        needs(name, lambda c: c.has_relative_buckets, "positions relative_buckets or relative_bias")
        for name in ("n_relative_buckets", "relative_max_distance")
    ),
    Refusal(
        lambda c: c.relative_bias and c.positions not in ("learned", "sinusoidal_interleaved", "sinusoidal_halves"),
        Message("relative_bias comes besides learned or sinusoidal positions; set it to false, or change positions"),
    ),
    Refusal(
        lambda c: c.relative_max_distance <= c.n_relative_buckets // 2,
        Message(
            "relative_max_distance ({relative_max_distance}) must be above half of "
            "n_relative_buckets ({n_relative_buckets}): small distances have one bucket each"
        ),
    ),
    Refusal(
        lambda c: c.d_embed and not c.embedding_norm,
        Message("with d_embed, embeddings are normalized before their projection; set embedding_norm"),
    ),
    Refusal(
        lambda c: c.d_embed and c.unembed and not c.unembed_transform,
        Message("with d_embed, final states need unembed_transform, which returns them to the width of the embeddings"),
    ),
    *map(_list_of_layers, ("layers_without_window", "layers_without_rotation")),
    needs("layers_without_window", lambda c: c.sliding_window is not None, "sliding_window"),
    needs("rotary_base_in_window", lambda c: c.layers_without_window, "layers_without_window"),
    *(
        needs(name, lambda c: c.norm != "none", "norm layer or rms")
        for name in ("layer_norm_eps", "embedding_norm", "qk_norm", "output_norm", "first_norm", "last_norm")
    ),
    Refusal(
        lambda c: c.norm == "none" and c.norm_position != "pre",
        Message("post-norm needs a normalization: set norm_position to pre, or norm to layer"),
    ),
    needs("final_norm", lambda c: c.norm_position == "post", "norm_position post"),
    *(
        needs(name, lambda c: c.norm_position == "pre", "norm_position pre")
        for name in ("first_norm", "last_norm", "output_norm", "parallel_residual")
    ),
    needs("input_norm", lambda c: c.output_norm, "output_norm"),
    needs("first_norm", lambda c: c.input_norm, "input_norm"),
    needs("qk_norm_scope", lambda c: c.qk_norm, "qk_norm"),
    Refusal(
        lambda c: c.qk_norm_scope == "joint" and c.norm != "rms",
        Message("qk_norm_scope joint needs norm rms; change one of them, or set qk_norm_scope to per_head"),
    ),
    Refusal(
        lambda c: c.parallel_residual and (c.d_ff == 0 or c.architecture == "encoder_decoder"),
        Message(
            "parallel_residual needs blocks of self-attention and a feed-forward network; set d_ff "
            "above 0 and use one stack, or set parallel_residual to false"
        ),
    ),
    needs("gated", lambda c: c.d_ff, _FEED_FORWARD),
    needs("feed_forward_bias", lambda c: c.d_ff, _FEED_FORWARD),
    needs("activation", lambda c: c.d_ff or c.unembed_transform, _FEED_FORWARD),  # both have an activation
)
