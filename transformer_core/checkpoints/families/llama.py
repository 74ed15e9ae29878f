"""Llama, Mistral, Qwen2 and Qwen3 (SmolLM is a Llama): decoder-only, pre-norm, RMS norm, rotary, gated."""

from typing import Any

from transformer_core.checkpoints.family import Entry, Family, decoder_only, embeddings, module
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import AttentionBias, ModelConfig, RotaryScaling
from transformer_core.errors import Message

HEAD = "lm_head.weight"
SCALINGS: dict[str, RotaryScaling] = {"default": "none", "linear": "linear", "llama3": "llama3"}


def read_llama(options: Options) -> ModelConfig:
    """Return our configuration of a Llama; SmolLM and SmolLM2 are Llamas.

    Source: Touvron et al. 2023, sec. 2.2, and the library's class, as for those that follow.
    """
    return read(
        options,
        attention_bias="all" if options.switch("attention_bias", False) else "none",
        feed_forward_bias=options.switch("mlp_bias", False),
    )


def read_mistral(options: Options) -> ModelConfig:
    """Return our configuration of a Mistral (Jiang et al. 2023, sec. 2)."""
    return read(options, usual_kv_heads=8, sliding_window=options.whole_or_null("sliding_window", 4096))


def read_qwen2(options: Options) -> ModelConfig:
    """Return our configuration of a Qwen2 (Yang et al. 2024, sec. 2.2)."""
    return read(
        options,
        usual_kv_heads=32,
        attention_bias="qkv",
        sliding_window=window_of_all_layers(options),
        bos_and_eos=(None, None),
    )


def read_qwen3(options: Options) -> ModelConfig:
    """Return our configuration of a Qwen3 (Yang et al. 2025, sec. 2)."""
    return read(
        options,
        d_head=options.whole("head_dim", 128),
        usual_kv_heads=32,
        attention_bias="all" if options.switch("attention_bias", False) else "none",
        qk_norm=True,
        sliding_window=window_of_all_layers(options),
        bos_and_eos=(None, None),
    )


def read(
    options: Options,
    *,
    d_head: int | None = None,
    usual_kv_heads: int | None = None,
    attention_bias: AttentionBias = "none",
    feed_forward_bias: bool = False,
    qk_norm: bool = False,
    sliding_window: int | None = None,
    bos_and_eos: tuple[int | None, int | None] = (1, 2),
) -> ModelConfig:
    """Return the configuration of one of these models, given what distinguishes it from the others."""
    options.idle("pretraining_tp")
    return decoder_only(
        vocab_size=options.whole("vocab_size"),
        d_model=options.whole("hidden_size"),
        d_ff=options.whole("intermediate_size"),
        n_heads=options.whole("num_attention_heads"),
        d_head=d_head or options.whole_or_null("head_dim") or 0,
        n_kv_heads=options.whole_or_null("num_key_value_heads", usual_kv_heads) or 0,
        n_decoder_layers=options.whole("num_hidden_layers"),
        max_seq_len=options.whole("max_position_embeddings"),
        **read_rotary(options),
        norm="rms",
        layer_norm_eps=options.number("rms_norm_eps", 1e-6),
        activation=options.choice("hidden_act", ACTIVATIONS, "silu"),
        gated=True,
        feed_forward_bias=feed_forward_bias,
        attention_bias=attention_bias,
        qk_norm=qk_norm,
        sliding_window=sliding_window,
        tie_embeddings="target" if options.switch("tie_word_embeddings", False) else "none",
        dropout=0.0,
        dropout_pattern=options.number("attention_dropout", 0.0),
        **options.tokens_of_decoder(*bos_and_eos),
    )


def read_rotary(options: Options, *, fraction: float | None = None, base: str = "rope_theta") -> dict[str, Any]:
    """Return the rotary fields of a configuration: `rope_parameters`, in older files `rope_theta` and `rope_scaling`.

    Args:
        options: the options of the whole model.
        fraction: rotated fraction of each head, unless `rope_parameters` gives it; None: always the whole head.
        base: the name of `rope_theta` in older files.
    """
    options.idle("rope_scaling", "rope_parameters")
    inner = options.inside("rope_scaling" if "rope_scaling" in options else "rope_parameters")
    for fields in (options, inner):
        if fraction is None:
            fields.must_be(
                "partial_rotary_factor", 1.0, Message("this family only supports RoPE on all dimensions of a head")
            )
        fields.idle("original_max_position_embeddings")
    part = 1.0 if fraction is None else inner.number("partial_rotary_factor", fraction)
    rotary: dict[str, Any] = {
        "positions": "rotary_halves",
        "rotary_base": inner.number("rope_theta", options.number(base, 10000.0)),
        "rotary_fraction": part,
    }
    scaling = inner.choice("type" if "type" in inner and "rope_type" not in inner else "rope_type", SCALINGS, "default")
    if scaling != "none":
        rotary |= {"rotary_scaling": scaling, "rotary_scaling_factor": inner.number("factor")}
    if scaling == "llama3":
        outermost = options if "original_max_position_embeddings" in options else inner
        longest = outermost.whole("original_max_position_embeddings", options.whole("max_position_embeddings"))
        rotary |= {
            "rotary_low_freq_factor": inner.number("low_freq_factor"),
            "rotary_high_freq_factor": inner.number("high_freq_factor"),
            "rotary_original_len": longest,
        }
    inner.finish()
    return rotary


def window_of_all_layers(options: Options) -> int | None:
    """Return the sliding window of a Qwen, which must be in every layer or in none."""
    width, first = options.whole_or_null("sliding_window", 4096), options.whole("max_window_layers", 28)
    if not options.switch("use_sliding_window", False):
        width = None
    slides = [width is not None and i >= first for i in range(options.n_layers("num_hidden_layers"))]
    kinds = options.value("layer_types", ["sliding_attention" if does else "full_attention" for does in slides])
    if kinds == ["full_attention"] * len(slides):
        return None
    if width is None or kinds != ["sliding_attention"] * len(slides):
        name = "layer_types" if "layer_types" in options else "max_window_layers"
        raise options.error(name, Message("a sliding window is only supported in all layers or in none"))
    return width


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of these models."""
    weight, both = ("weight",), ("weight", "bias")
    qkv = weight if config.attention_bias == "none" else both
    out = both if config.attention_bias == "all" else weight
    feed_forward = both if config.feed_forward_bias else weight
    of_a_layer = [
        ("input_layernorm", "ln1", weight),
        ("self_attn.q_proj", "self_attn.q", qkv),
        ("self_attn.k_proj", "self_attn.k", qkv),
        ("self_attn.v_proj", "self_attn.v", qkv),
        ("self_attn.o_proj", "self_attn.out", out),
        ("post_attention_layernorm", "ln2", weight),
        ("mlp.gate_proj", "mlp.gate", feed_forward),
        ("mlp.up_proj", "mlp.up", feed_forward),
        ("mlp.down_proj", "mlp.down", feed_forward),
    ]
    if config.qk_norm:
        of_a_layer += [(f"self_attn.{name}", f"self_attn.{name}", weight) for name in ("q_norm", "k_norm")]
    entries = [
        *embeddings(config, "model.embed_tokens.weight", head=HEAD),
        *module("model.norm", "decoder.ln_final", weight),
    ]
    for i in range(config.n_decoder_layers):
        for their_name, our_name, parts in of_a_layer:
            entries += module(f"model.layers.{i}.{their_name}", f"decoder.blocks.{i}.{our_name}", parts)
    return tuple(entries)


READERS = {"llama": read_llama, "mistral": read_mistral, "qwen2": read_qwen2, "qwen3": read_qwen3}
FAMILIES = tuple(
    Family(model_type=model_type, read=reader, keys=keys, head=HEAD, prefix="model.")
    for model_type, reader in READERS.items()
)
