"""StableLM: decoder-only, layer normalization, partially rotary heads, gated; its largest model is parallel."""

from torch import Tensor, zeros_like

from transformer_core.checkpoints.families.llama import HEAD
from transformer_core.checkpoints.family import Entry, Family, decoder_only, embeddings, module, shared
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.checkpoints.rotary_options import read_rotary
from transformer_core.config import ModelConfig


def read(options: Options) -> ModelConfig:
    """Return our configuration of a StableLM.

    Source: Bellagente et al. 2024, sec. 2.2, and the library's class.
    """
    return decoder_only(
        vocab_size=options.whole("vocab_size"),
        d_model=options.whole("hidden_size"),
        d_ff=options.whole("intermediate_size"),
        n_heads=options.whole("num_attention_heads"),
        n_kv_heads=options.whole("num_key_value_heads", 32),
        n_decoder_layers=options.whole("num_hidden_layers"),
        max_seq_len=options.whole("max_position_embeddings", 4096),
        **read_rotary(options, fraction=options.number("partial_rotary_factor", 0.25)),
        parallel_residual=options.switch("use_parallel_residual", False),
        layer_norm_eps=options.number("layer_norm_eps", 1e-5),
        activation=options.choice("hidden_act", ACTIVATIONS, "silu"),
        gated=True,
        feed_forward_bias=False,
        attention_bias="qkv" if options.switch("use_qkv_bias", False) else "none",
        qk_norm=options.switch("qk_layernorm", False),
        qk_norm_scope="per_head" if options.switch("qk_layernorm", False) else "shared",
        tie_embeddings="target" if options.switch("tie_word_embeddings", False) else "none",
        dropout=options.number("hidden_dropout", 0.0),
        dropout_pattern=options.number("attention_dropout", 0.0),
        **options.tokens_of_decoder(bos=0, eos=0),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a StableLM."""
    qkv = ("weight",) if config.attention_bias == "none" else ("weight", "bias")
    entries = [
        *embeddings(config, "model.embed_tokens.weight", head=HEAD),
        *module("model.norm", "decoder.ln_final"),
    ]
    for i in range(config.n_decoder_layers):
        theirs, ours = f"model.layers.{i}", f"decoder.blocks.{i}"
        if config.parallel_residual:
            entries += shared(f"{theirs}.input_layernorm", (f"{ours}.ln1", f"{ours}.ln2"))
        else:
            entries += module(f"{theirs}.input_layernorm", f"{ours}.ln1")
            entries += module(f"{theirs}.post_attention_layernorm", f"{ours}.ln2")
        for name in "qkv":
            entries += module(f"{theirs}.self_attn.{name}_proj", f"{ours}.self_attn.{name}", qkv)
        entries += module(f"{theirs}.self_attn.o_proj", f"{ours}.self_attn.out", ("weight",))
        for name in ("gate", "up", "down"):
            entries += module(f"{theirs}.mlp.{name}_proj", f"{ours}.mlp.{name}", ("weight",))
        if config.qk_norm:
            for name, n_heads in (("q", config.n_heads), ("k", config.n_kv_heads)):
                of_heads = [f"{theirs}.self_attn.{name}_layernorm.norms.{head}.weight" for head in range(n_heads)]
                norm = f"{ours}.self_attn.{name}_norm"
                names = (f"{norm}.weight", f"{norm}.bias")
                entries.append(Entry(of_heads[0], names, _without_bias, others=tuple(of_heads[1:])))
    return tuple(entries)


def _without_bias(gains: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gains of all heads one after the other, and biases of 0."""
    return gains.flatten(), zeros_like(gains.flatten())


FAMILIES = (Family(model_type="stablelm", read=read, keys=keys, head=HEAD, prefix="model."),)
