"""Phi (1, 1.5, 2): decoder-only, partially rotary heads, parallel sub-layers with one shared normalization."""

from transformer_core.checkpoints.families.llama import HEAD
from transformer_core.checkpoints.family import Entry, Family, decoder_only, embeddings, module, shared
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.checkpoints.rotary_options import read_rotary
from transformer_core.config import ModelConfig


def read(options: Options) -> ModelConfig:
    """Return our configuration of a Phi.

    Source: Gunasekar et al. 2023, sec. 2.3, and the library's class.
    """
    options.idle("embd_pdrop")
    return decoder_only(
        vocab_size=options.whole("vocab_size"),
        d_model=options.whole("hidden_size"),
        d_ff=options.whole("intermediate_size"),
        n_heads=options.whole("num_attention_heads"),
        n_kv_heads=options.whole_or_null("num_key_value_heads") or 0,
        n_decoder_layers=options.whole("num_hidden_layers"),
        max_seq_len=options.whole("max_position_embeddings", 2048),
        **read_rotary(options, fraction=options.number("partial_rotary_factor", 0.5)),
        parallel_residual=True,
        layer_norm_eps=options.number("layer_norm_eps", 1e-5),
        activation=options.choice("hidden_act", ACTIVATIONS, "gelu_new"),
        qk_norm=options.switch("qk_layernorm", False),
        tie_embeddings="target" if options.switch("tie_word_embeddings", False) else "none",
        unembed_bias=True,
        dropout=options.number("resid_pdrop", 0.0),
        dropout_pattern=options.number("attention_dropout", 0.0),
        **options.tokens_of_decoder(bos=1, eos=2),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a Phi."""
    entries = [
        *embeddings(config, "model.embed_tokens.weight", head=HEAD),
        *((Entry("lm_head.bias", ("unembed.bias",)),) if config.unembed_bias else ()),
        *module("model.final_layernorm", "decoder.ln_final"),
    ]
    for i in range(config.n_decoder_layers):
        theirs, ours = f"model.layers.{i}", f"decoder.blocks.{i}"
        entries += [
            *shared(f"{theirs}.input_layernorm", (f"{ours}.ln1", f"{ours}.ln2")),
            *module(f"{theirs}.self_attn.q_proj", f"{ours}.self_attn.q"),
            *module(f"{theirs}.self_attn.k_proj", f"{ours}.self_attn.k"),
            *module(f"{theirs}.self_attn.v_proj", f"{ours}.self_attn.v"),
            *module(f"{theirs}.self_attn.dense", f"{ours}.self_attn.out"),
            *module(f"{theirs}.mlp.fc1", f"{ours}.mlp.up"),
            *module(f"{theirs}.mlp.fc2", f"{ours}.mlp.down"),
        ]
        if config.qk_norm:
            entries += module(f"{theirs}.self_attn.q_layernorm", f"{ours}.self_attn.q_norm")
            entries += module(f"{theirs}.self_attn.k_layernorm", f"{ours}.self_attn.k_norm")
    return tuple(entries)


FAMILIES = (Family(model_type="phi", read=read, keys=keys, head=HEAD, prefix="model."),)
