"""Phi-3 and Phi-4: a Llama with q, k and v in one matrix, gate and up in another, and LongRoPE in long versions."""

import math
from typing import Any

from transformer_core.checkpoints.entries import (
    NORMS,
    WEIGHT,
    Entry,
    embeddings,
    fused,
    in_layers,
    module,
    modules,
    scaled,
)
from transformer_core.checkpoints.families.gpt_bigcode import one_after_another
from transformer_core.checkpoints.families.llama import HEAD
from transformer_core.checkpoints.family import Family, decoder_only, sizes
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.checkpoints.rotary_options import kind_of_scaling, query_factors, read_rotary, rotary_options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

_END = 32_000
_USUAL_LEN = 4096
_LONG = {"default": False, "longrope": True, "su": True, "yarn": True}  # the last two are older names of LongRoPE


def read(options: Options) -> ModelConfig:
    """Return our configuration of a Phi-3; with LongRoPE, of up to the context length in its first training.

    Source: Abdin et al. 2024, sec. 2, and the library's class.
    """
    options.idle("original_max_position_embeddings", "full_attn_mod")
    longest = options.whole("max_position_embeddings", _USUAL_LEN)
    if _is_long(options):
        longest = min(longest, options.whole("original_max_position_embeddings", _USUAL_LEN))
        options.notes.append(
            Message("Its context is limited to {n:,} tokens; beyond, LongRoPE uses other frequencies.", n=longest)
        )
    return decoder_only(
        **sizes(options),
        n_kv_heads=options.whole_or_null("num_key_value_heads") or 0,
        max_seq_len=longest,
        **_rotary(options),
        norm="rms",
        layer_norm_eps=options.number("rms_norm_eps", 1e-5),
        activation=options.choice("hidden_act", ACTIVATIONS, "silu"),
        gated=True,
        feed_forward_bias=False,
        attention_bias="none",
        sliding_window=options.whole_or_null("sliding_window"),
        tie_embeddings=options.tying(False),
        dropout=options.number("resid_pdrop", 0.0),
        dropout_pattern=options.number("attention_dropout", 0.0),
        **options.tokens_of_decoder(bos=1, eos=_END, pad=_END),
    )


def _is_long(options: Options) -> bool:
    rope = rotary_options(options)
    return rope.choice(kind_of_scaling(rope), _LONG, "default")


def _rotary(options: Options) -> dict[str, Any]:
    """Return the rotary fields, with the frequencies of LongRoPE in short contexts."""
    fraction = options.number("partial_rotary_factor", 1.0)
    if not _is_long(options):
        return read_rotary(options, fraction=fraction)
    options.idle("rope_parameters", "rope_scaling")
    rope = rotary_options(options)
    rope.idle("type", "rope_type", "long_factor", "factor", "attention_factor", "original_max_position_embeddings")
    factors = rope.value("short_factor", [])
    rotary = {
        "positions": "rotary_halves",
        "rotary_base": rope.number("rope_theta", options.number("rope_theta", 10_000.0)),
        "rotary_fraction": rope.number("partial_rotary_factor", fraction),
        "rotary_scaling": "longrope",
        "rotary_pair_factors": tuple(factors) if isinstance(factors, list) else factors,
    }
    rope.finish()
    return rotary


def beyond_config(options: Options) -> dict[str, float]:
    """Return LongRoPE's factor of rotated queries and keys, by the keyword of `keys` (Ding et al. 2024, sec. 3.4)."""
    if not _is_long(options):
        return {}
    rope, original = rotary_options(options), max(options.whole("original_max_position_embeddings", _USUAL_LEN), 2)
    factor = rope.number("factor", options.whole("max_position_embeddings", _USUAL_LEN) / original)
    usual = math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0
    return {"attention_factor": rope.number("attention_factor", usual)}


def keys(config: ModelConfig, *, attention_factor: float = 1.0) -> tuple[Entry, ...]:
    """Return the entries of a Phi-3, with queries scaled by the square of `attention_factor`."""
    layer = (
        *modules({**NORMS, "self_attn.o_proj": "self_attn.out", "mlp.down_proj": "mlp.down"}, WEIGHT),
        *fused("self_attn.qkv_proj", "self_attn", cut=one_after_another(config), parts=WEIGHT),
        *fused("mlp.gate_up_proj", "mlp", ("gate", "up"), parts=WEIGHT),
    )
    entries = (
        *embeddings(config, "model.embed_tokens.weight", head=HEAD),
        *module("model.norm", "decoder.ln_final", WEIGHT),
        *in_layers(config, "model.layers.*", layer),
    )
    return scaled(entries, query_factors(config, attention_factor))


FAMILIES = (Family(model_type="phi3", read=read, keys=keys, head=HEAD, prefix="model.", beyond_config=beyond_config),)
