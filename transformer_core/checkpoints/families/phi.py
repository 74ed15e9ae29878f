"""Phi (1, 1.5, 2): decoder-only, partially rotary heads, parallel sub-layers with one shared normalization."""

from transformer_core.checkpoints.entries import Entry, embeddings, in_layers, inside, module, modules, shared
from transformer_core.checkpoints.families.llama import HEAD
from transformer_core.checkpoints.family import Family, decoder_only, sizes
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.checkpoints.rotary_options import read_rotary
from transformer_core.config import ModelConfig


def read(options: Options) -> ModelConfig:
    """Return our configuration of a Phi (Gunasekar et al. 2023, sec. 2.3)."""
    return decoder_only(
        **sizes(options),
        n_kv_heads=options.whole_or_null("num_key_value_heads") or 0,
        max_seq_len=options.whole("max_position_embeddings", 2048),
        **read_rotary(options, fraction=options.number("partial_rotary_factor", 0.5)),
        parallel_residual=True,
        layer_norm_eps=options.number("layer_norm_eps", 1e-5),
        activation=options.choice("hidden_act", ACTIVATIONS, "gelu_new"),
        qk_norm=options.switch("qk_layernorm", False),
        tie_embeddings=options.tying(False),
        unembed_bias=True,
        dropout=options.number("resid_pdrop", 0.0),
        dropout_pattern=options.number("attention_dropout", 0.0),
        **options.tokens_of_decoder(bos=1, eos=2),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a Phi."""
    attention = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "dense": "out"}
    attention |= {"q_layernorm": "q_norm", "k_layernorm": "k_norm"} if config.qk_norm else {}
    layer = (
        *shared("input_layernorm", ("ln1", "ln2")),
        *inside("self_attn", "self_attn", modules(attention)),
        *modules({"mlp.fc1": "mlp.up", "mlp.fc2": "mlp.down"}),
    )
    return (
        *embeddings(config, "model.embed_tokens.weight", head=HEAD),
        *((Entry("lm_head.bias", ("unembed.bias",)),) if config.unembed_bias else ()),
        *module("model.final_layernorm", "decoder.ln_final"),
        *in_layers(config, "model.layers.*", layer),
    )


FAMILIES = (Family(model_type="phi", read=read, keys=keys, head=HEAD, prefix="model."),)
