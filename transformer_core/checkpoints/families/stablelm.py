"""StableLM: decoder-only, layer normalization, partially rotary heads, gated; its largest model is parallel."""

from dataclasses import replace

from torch import Tensor, zeros_like

from transformer_core.checkpoints.entries import BOTH, Entry, in_layers
from transformer_core.checkpoints.families import llama
from transformer_core.checkpoints.family import Family, decoder_only, sizes
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.checkpoints.rotary_options import read_rotary
from transformer_core.config import ModelConfig


def read(options: Options) -> ModelConfig:
    """Return our configuration of a StableLM (Bellagente et al. 2024, sec. 2.2)."""
    return decoder_only(
        **sizes(options),
        n_kv_heads=options.whole("num_key_value_heads", 32),
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
        tie_embeddings=options.tying(False),
        dropout=options.number("hidden_dropout", 0.0),
        dropout_pattern=options.number("attention_dropout", 0.0),
        **options.tokens_of_decoder(bos=0, eos=0),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a StableLM: those of a Llama, except that queries and keys have a norm for each head."""
    norms: list[Entry] = []
    for name, n_heads in (("q", config.n_heads), ("k", config.n_kv_heads)):
        first, *others = (f"self_attn.{name}_layernorm.norms.{head}.weight" for head in range(n_heads))
        ours = tuple(f"self_attn.{name}_norm.{part}" for part in BOTH)
        norms += [Entry(first, ours, _without_bias, others=tuple(others))]
    entries = llama.entries(replace(config, qk_norm=False, qk_norm_scope="shared"))
    return (*entries, *in_layers(config, "model.layers.*", norms if config.qk_norm else ()))


def _without_bias(gains: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gains of all heads one after the other, and biases of 0."""
    return gains.flatten(), zeros_like(gains.flatten())


FAMILIES = (Family(model_type="stablelm", read=read, keys=keys, head=llama.HEAD, prefix="model."),)
