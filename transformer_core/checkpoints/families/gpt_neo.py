"""GPT-Neo: a GPT-2 with unscaled scores and separate q, k and v; every other layer has a sliding window."""

import torch
from torch import Tensor

from transformer_core.checkpoints.entries import Entry, in_layers, modules, zero_bias
from transformer_core.checkpoints.families import gpt2
from transformer_core.checkpoints.family import Family, Ignored, decoder_only, windows
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import MOST_LAYERS, ModelConfig
from transformer_core.errors import Message
from transformer_core.model.masks import AttentionMask

FULL, WINDOW = "global", "local"


def read(options: Options) -> ModelConfig:
    """Return our configuration of a GPT-Neo (Black et al. 2021, the code of GPT-Neo)."""
    options.idle("attention_layers", "embed_dropout")  # the layers are in attention_types
    d_model, kinds = options.whole("hidden_size"), _kinds(options)
    n_layers = options.whole(options.spelled("num_hidden_layers", "num_layers"), len(kinds))
    width = options.whole("window_size", 256)
    return decoder_only(
        vocab_size=options.whole("vocab_size"),
        d_model=d_model,
        d_ff=options.whole("intermediate_size", 4 * d_model),
        n_heads=options.whole(options.spelled("num_attention_heads", "num_heads")),
        n_decoder_layers=n_layers,
        max_seq_len=options.whole("max_position_embeddings", 2048),
        positions="learned",
        layer_norm_eps=options.number("layer_norm_epsilon", 1e-5),
        activation=options.choice("activation_function", ACTIVATIONS, "gelu_new"),
        scale_scores=False,
        **windows(options, n_layers, width, name="attention_types", of_layers=kinds, kinds=(FULL, WINDOW)),
        tie_embeddings=options.tying(True),
        dropout=options.number("resid_dropout", 0.0),
        dropout_pattern=options.number("attention_dropout", 0.0),
        **options.tokens_of_decoder(bos=gpt2.GPT2_END, eos=gpt2.GPT2_END),
    )


def _kinds(options: Options) -> list[object]:
    """Return the kind of attention of each layer, from a list of repeated sequences of kinds."""
    kinds: list[object] = []
    types = options.value("attention_types", [[[FULL, WINDOW], 12]])
    for item in types if isinstance(types, list) else [types]:
        match item:
            case [[*sequence], int(n)] if len(kinds) + n * len(sequence) <= MOST_LAYERS:
                kinds += sequence * n
            case _:
                raise options.error("attention_types", Message("expected lists of kinds, each with a whole number"))
    return kinds


def is_mask(table: Tensor, config: ModelConfig) -> bool:
    """Return whether a table is the mask of a layer of this model, with or without the window."""
    n = table.shape[-1] if table.ndim else 0
    if table.numel() != n * n:
        return False
    causal = AttentionMask(n_queries=n, n_keys=n, device=table.device, is_causal=True)
    masks = (causal, causal.in_window(config.sliding_window))
    return any(torch.equal(table.reshape(1, 1, n, n).bool(), mask.write_out()) for mask in masks)


MASKS = Ignored(r"(.*\.)?attn\.attention\.bias", Message("the mask, which follows from the configuration"), is_mask)


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a GPT-Neo."""
    layer = (
        *modules({"ln_1": "ln1", "ln_2": "ln2", "mlp.c_fc": "mlp.up", "mlp.c_proj": "mlp.down"}),
        *modules({"attn.attention.out_proj": "self_attn.out"}),
        *(zero_bias(f"attn.attention.{name}_proj", f"self_attn.{name}") for name in ("q", "k", "v")),
    )
    return (*gpt2.ends(config), *in_layers(config, "transformer.h.*", layer))


FAMILIES = (
    Family(model_type="gpt_neo", read=read, keys=keys, head=gpt2.HEAD, prefix="transformer.", ignored=(MASKS,)),
)
