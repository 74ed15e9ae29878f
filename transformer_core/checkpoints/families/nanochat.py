"""nanochat, its first generation: decoder-only, normalizations without gains, squared ReLU, capped logits."""

import torch
from torch import Tensor

from transformer_core.checkpoints.families.llama import HEAD
from transformer_core.checkpoints.family import (
    CONSTANTS_IN_WEIGHTS,
    Entry,
    Family,
    decoder_only,
    embeddings,
    module,
    scaled,
    shared,
)
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.checkpoints.rotary_options import read_rotary
from transformer_core.config import ModelConfig

_ONES, _ONES_OF_HEAD = "gain of 1", "gain of 1 of queries and keys"


def read(options: Options) -> ModelConfig:
    """Return our configuration of a nanochat.

    Source: github.com/karpathy/nanochat (2025-10-13), and the library's class.
    Differs: queries and keys are normalized before the rotation, which does not change their norms.
    """
    return decoder_only(
        vocab_size=options.whole("vocab_size"),
        d_model=options.whole("hidden_size"),
        d_ff=options.whole("intermediate_size"),
        n_heads=options.whole("num_attention_heads"),
        d_head=options.whole_or_null("head_dim") or 0,
        n_kv_heads=options.whole_or_null("num_key_value_heads") or 0,
        n_decoder_layers=options.whole("num_hidden_layers"),
        max_seq_len=options.whole("max_position_embeddings", 2048),
        **read_rotary(options),
        norm="rms",
        embedding_norm=True,
        layer_norm_eps=options.number("rms_norm_eps", 1e-6),
        activation=options.choice("hidden_act", ACTIVATIONS, "relu2"),
        feed_forward_bias=False,
        attention_bias="all" if options.switch("attention_bias", False) else "none",
        qk_norm=True,
        tie_embeddings="target" if options.switch("tie_word_embeddings", False) else "none",
        logit_cap=options.number_or_null("final_logit_softcapping", 15.0),
        dropout=0.0,
        dropout_pattern=options.number("attention_dropout", 0.0),
        **options.tokens_of_decoder(bos=0, eos=1, pad=1),
    )


def gains(config: ModelConfig) -> dict[str, Tensor]:
    """Return the gains, which are not in the files."""
    return {f"{_ONES}.weight": torch.ones(config.d_model), f"{_ONES_OF_HEAD}.weight": torch.ones(config.d_head)}


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a nanochat, which rotates by negative angles: half of each query and key changes sign."""
    parts = ("weight", "bias") if config.attention_bias == "all" else ("weight",)
    blocks = [f"decoder.blocks.{i}" for i in range(config.n_decoder_layers)]
    norms = [
        "decoder.embedding_norm",
        "decoder.ln_final",
        *(f"{block}.{ln}" for block in blocks for ln in ("ln1", "ln2")),
    ]
    signs = torch.ones(config.d_head).view(2, -1) * torch.tensor([[1.0], [-1.0]])
    entries = [
        *embeddings(config, "model.embed_tokens.weight", head=HEAD),
        *shared(_ONES, norms, ("weight",)),
        *shared(_ONES_OF_HEAD, [f"{block}.self_attn.{name}_norm" for block in blocks for name in "qk"], ("weight",)),
    ]
    factors: dict[str, Tensor] = {}
    for i, ours in enumerate(blocks):
        theirs = f"model.layers.{i}"
        for name in ("q", "k", "v", "o"):
            our_name = "out" if name == "o" else name
            entries += module(f"{theirs}.self_attn.{name}_proj", f"{ours}.self_attn.{our_name}", parts)
        entries += module(f"{theirs}.mlp.fc1", f"{ours}.mlp.up", ("weight",))
        entries += module(f"{theirs}.mlp.fc2", f"{ours}.mlp.down", ("weight",))
        for name, n_heads in (("q", config.n_heads), ("k", config.n_kv_heads)):
            factors |= {f"{ours}.self_attn.{name}.{part}": signs.flatten().repeat(n_heads) for part in parts}
    return scaled(entries, factors)


FAMILIES = (
    Family(
        model_type="nanochat",
        read=read,
        keys=keys,
        head=HEAD,
        prefix="model.",
        computed=gains,
        note=CONSTANTS_IN_WEIGHTS,
    ),
)
