"""MarianMT: the paper's encoder-decoder, in a thousand translation models; sinusoidal positions in halves."""

from collections.abc import Sequence
from typing import Any

from transformer_core.checkpoints.entries import (
    ATTENTION,
    BOTH,
    Entry,
    embeddings,
    in_layers,
    inside,
    module,
    modules,
    only_row,
)
from transformer_core.checkpoints.family import Family
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.checkpoints.sinusoids import stored_positions
from transformer_core.config import ModelConfig, Positions
from transformer_core.errors import Message

SHARED = "model.shared.weight"
COPIES = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
HEAD = "lm_head.weight"


def read(options: Options) -> ModelConfig:
    """Return our configuration of a MarianMT (Junczys-Dowmunt et al. 2018)."""
    vocab_size = options.whole("vocab_size")
    options.must_be("share_encoder_decoder_embeddings", True, Message("source and target must share one vocabulary"))
    options.must_be(
        "decoder_vocab_size",
        vocab_size,
        Message("source and target must share one vocabulary; vocab_size = {n}", n=vocab_size),
    )
    pad = options.token("pad_token_id", vocab_size - 1)
    start = options.token("decoder_start_token_id")
    return read_kin(
        options,
        positions="sinusoidal_halves",
        pad_id=pad,
        bos_id=pad if start is None else start,
        eos_id=options.token("eos_token_id", 0),
    )


def read_kin(
    options: Options,
    *,
    positions: Positions,
    activation: str = "gelu",
    scale_embeddings: bool = False,
    dropout_pattern: float = 0.0,
    **fields: Any,
) -> ModelConfig:
    """Return the configuration of a MarianMT or one of the BARTs.

    Args:
        options: the model's options.
        positions: sinusoidal or learned.
        activation: the default.
        scale_embeddings: the default.
        dropout_pattern: the default.
        fields: others of `ModelConfig`.
    """
    d_ff, n_heads = options.whole("encoder_ffn_dim"), options.whole("encoder_attention_heads")
    for name, value in (("ffn_dim", d_ff), ("attention_heads", n_heads)):
        why = Message("both stacks must have the same value; encoder_{name} = {value}", name=name, value=value)
        options.must_be(f"decoder_{name}", value, why)
    config = ModelConfig(
        architecture="encoder_decoder",
        vocab_size=options.whole("vocab_size"),
        d_model=options.whole("d_model"),
        d_ff=d_ff,
        n_heads=n_heads,
        n_encoder_layers=options.whole("encoder_layers"),
        n_decoder_layers=options.whole("decoder_layers"),
        max_seq_len=options.whole("max_position_embeddings", 1024),
        positions=positions,
        layer_norm_eps=1e-5,
        activation=options.choice("activation_function", ACTIVATIONS, activation),
        scale_embeddings=options.switch("scale_embedding", scale_embeddings),
        tie_embeddings="three_way",
        dropout=options.number("dropout", 0.1),
        dropout_pattern=options.number("attention_dropout", dropout_pattern),
        **{"unembed_bias": True, **fields},
    )
    options.must_be("tie_word_embeddings", True, Message("encoder and decoder must share one embedding"))
    is_pre_norm = config.norm_position == "pre"
    for name, value in (
        ("normalize_before", is_pre_norm),
        ("add_final_layer_norm", is_pre_norm),
        ("normalize_embedding", config.embedding_norm),
        ("static_position_embeddings", positions == "sinusoidal_halves"),
        ("add_bias_logits", False),
    ):
        options.must_be(name, value, Message("the transformers library has no such model"))
    for name, value in (("is_encoder_decoder", True), ("is_decoder", False)):
        options.must_be(name, value, Message("only encoder-decoder models are supported"))
    options.idle("num_hidden_layers", "extra_pos_embeddings", "encoder_layerdrop", "decoder_layerdrop")
    options.idle("activation_dropout")
    return config


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a MarianMT, or of a BART without its positions and further normalizations."""
    entries = [*embeddings(config, SHARED, head=HEAD, copies=COPIES)]
    if config.unembed_bias:
        entries += [Entry("final_logits_bias", ("unembed.bias",), only_row)]
    layer = layer_of()
    cross = (
        *inside("encoder_attn", "cross_attn", modules(ATTENTION)),
        *module("encoder_attn_layer_norm", "ln_cross"),
    )
    entries += in_layers(config, "model.encoder.layers.*", layer, stack="encoder")
    entries += in_layers(config, "model.decoder.layers.*", (*layer, *cross), stack="decoder")
    return tuple(entries)


def layer_of(linear: Sequence[str] = BOTH) -> tuple[Entry, ...]:
    """Return the entries of a layer without cross-attention, given the parameters of its linear layers."""
    return (
        *inside("self_attn", "self_attn", modules(ATTENTION, linear)),
        *modules({"fc1": "mlp.up", "fc2": "mlp.down"}, linear),
        *modules({"self_attn_layer_norm": "ln1", "final_layer_norm": "ln2"}),
    )


STORED_POSITIONS = stored_positions(f"model.{stack}.embed_positions.weight" for stack in ("encoder", "decoder"))
FAMILIES = (Family(model_type="marian", read=read, keys=keys, head=HEAD, prefix="model.", ignored=STORED_POSITIONS),)
