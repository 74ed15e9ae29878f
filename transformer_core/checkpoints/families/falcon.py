"""Falcon: decoder-only, parallel or sequential blocks, rotary positions or ALiBi, few key-value heads."""

from typing import Any

from torch import Tensor

from transformer_core.checkpoints.entries import (
    NORMS,
    Cut,
    Entry,
    embeddings,
    in_layers,
    module,
    modules,
    parts,
    shared,
)
from transformer_core.checkpoints.families.gpt2 import HEAD
from transformer_core.checkpoints.families.gpt_neox import sub_layers
from transformer_core.checkpoints.family import Family, decoder_only
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.checkpoints.rotary_options import read_rotary
from transformer_core.config import ModelConfig
from transformer_core.errors import Message


def read(options: Options) -> ModelConfig:
    """Return our configuration of a Falcon (Almazrouei et al. 2023, sec. 4)."""
    d_model = options.whole(options.spelled("n_embed", "hidden_size"))
    n_heads = options.whole(options.spelled("n_head", "num_attention_heads"))
    is_new, has_bias = options.switch("new_decoder_architecture", False), options.switch("bias", False)
    is_parallel = options.switch("parallel_attn", True)
    beyond_config(options)
    if is_new and not is_parallel:
        raise options.error("parallel_attn", Message("new_decoder_architecture requires parallel blocks"))
    n_kv_heads = 1 if options.switch("multi_query", True) else n_heads
    given = options.whole("num_kv_heads", n_heads)
    positions: dict[str, Any]
    if options.switch("alibi", False):
        options.idle("rope_parameters", "rope_scaling", "rope_theta", "max_position_embeddings")
        scale = (max(n_heads, 1) / max(d_model, 1)) ** 0.5
        positions = {"positions": "alibi", "alibi_scale": scale, "alibi_rounding": True}
    else:
        positions = read_rotary(options)
    return decoder_only(
        vocab_size=options.whole("vocab_size"),
        d_model=d_model,
        d_ff=options.whole("ffn_hidden_size", 4 * d_model),
        n_heads=n_heads,
        n_kv_heads=given if is_new else n_kv_heads,
        n_decoder_layers=options.whole(options.spelled("n_layer", "num_hidden_layers")),
        max_seq_len=options.whole("max_position_embeddings", 2048),
        **positions,
        parallel_residual=is_parallel,
        layer_norm_eps=options.number("layer_norm_epsilon", 1e-5),
        activation=options.choice("activation", ACTIVATIONS, "gelu"),
        feed_forward_bias=has_bias,
        attention_bias="all" if has_bias else "none",
        tie_embeddings="target" if options.switch("tie_word_embeddings", True) else "none",
        dropout=options.number("hidden_dropout", 0.0),
        dropout_pattern=options.number("attention_dropout", 0.0),
        **options.tokens_of_decoder(bos=11, eos=11),
    )


def beyond_config(options: Options) -> dict[str, bool]:
    """Return whether parallel sub-layers have two normalizations, as in Falcon-40B, or share one."""
    is_new = options.switch("new_decoder_architecture", False)
    n_norms = options.whole("num_ln_in_parallel_attn", 2 if is_new else 1)
    if n_norms not in ((1, 2) if is_new else (1,)):
        raise options.error("num_ln_in_parallel_attn", Message("two normalizations require new_decoder_architecture"))
    return {"has_two_norms": n_norms == 2}


def keys(config: ModelConfig, *, has_two_norms: bool = False) -> tuple[Entry, ...]:
    """Return the entries of a Falcon."""
    if config.parallel_residual and not has_two_norms:
        norms = shared("input_layernorm", ("ln1", "ln2"))
    else:
        norms = modules({"ln_attn": "ln1", "ln_mlp": "ln2"} if has_two_norms else NORMS)
    linear = sub_layers("self_attention", cut=by_group(config), parts=parts(config.feed_forward_bias))
    return (
        *embeddings(config, "transformer.word_embeddings.weight", head=HEAD),
        *module("transformer.ln_f", "decoder.ln_final"),
        *in_layers(config, "transformer.h.*", (*norms, *linear)),
    )


def by_group(config: ModelConfig) -> Cut:
    """Return a function that splits rows of all groups, each with its query heads, a key head and a value head."""
    group = config.n_heads // config.n_kv_heads

    def cut(weight: Tensor) -> tuple[Tensor, ...]:
        by_head = weight.unflatten(0, (config.n_kv_heads, group + 2, -1))
        parts = by_head[:, :group], by_head[:, group : group + 1], by_head[:, group + 1 :]
        return tuple(part.flatten(end_dim=2) for part in parts)

    return cut


FAMILIES = (
    Family(model_type="falcon", read=read, keys=keys, head=HEAD, prefix="transformer.", beyond_config=beyond_config),
)
