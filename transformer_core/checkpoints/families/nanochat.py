"""nanochat, its first generation: decoder-only, normalizations without gains, squared ReLU, capped logits."""

from functools import partial

import torch
from torch import Tensor

from transformer_core.checkpoints.entries import (
    BOTH,
    WEIGHT,
    Entry,
    embeddings,
    in_layers,
    inside,
    modules,
    parts,
    scaled,
    shared,
)
from transformer_core.checkpoints.families.llama import HEAD
from transformer_core.checkpoints.family import CONSTANTS_IN_WEIGHTS, Family, decoder_only, sizes
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
        **sizes(options),
        d_head=options.whole_or_null("head_dim") or 0,
        n_kv_heads=options.whole_or_null("num_key_value_heads") or 0,
        max_seq_len=options.whole("max_position_embeddings", 2048),
        **read_rotary(options),
        norm="rms",
        embedding_norm=True,
        layer_norm_eps=options.number("rms_norm_eps", 1e-6),
        activation=options.choice("hidden_act", ACTIVATIONS, "relu2"),
        feed_forward_bias=False,
        attention_bias="all" if options.switch("attention_bias", False) else "none",
        qk_norm=True,
        tie_embeddings=options.tying(False),
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
    blocks = [f"decoder.blocks.{i}" for i in range(config.n_decoder_layers)]
    norms = ["decoder.embedding_norm", "decoder.ln_final"]
    norms += [f"{block}.{ln}" for block in blocks for ln in ("ln1", "ln2")]
    signs = torch.ones(config.d_head).view(2, -1) * torch.tensor([[1.0], [-1.0]])
    n_heads = {"q": config.n_heads, "k": config.n_kv_heads}
    factors = {f"self_attn.{name}.{part}": signs.flatten().repeat(n) for name, n in n_heads.items() for part in BOTH}
    attention = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "o_proj": "out"}
    layer = (
        *inside("self_attn", "self_attn", modules(attention, parts(config.attention_bias == "all"))),
        *modules({"mlp.fc1": "mlp.up", "mlp.fc2": "mlp.down"}, WEIGHT),
    )
    return (
        *embeddings(config, "model.embed_tokens.weight", head=HEAD),
        *shared(_ONES, norms, WEIGHT),
        *shared(_ONES_OF_HEAD, [f"{block}.self_attn.{name}_norm" for block in blocks for name in "qk"], WEIGHT),
        *in_layers(config, "model.layers.*", scaled(layer, factors)),
    )


_family = partial(Family, model_type="nanochat", head=HEAD, prefix="model.", note=CONSTANTS_IN_WEIGHTS)
FAMILIES = (_family(read=read, keys=keys, computed=gains),)
