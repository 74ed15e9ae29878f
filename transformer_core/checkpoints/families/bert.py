"""BERT, with or without its masked-token head: encoder-only, post-norm, learned positions, segments."""

from collections.abc import Callable
from typing import Any

from transformer_core.checkpoints.entries import (
    Entry,
    embeddings,
    in_layers,
    inside,
    module,
    modules,
    output_bias,
    rows_from,
)
from transformer_core.checkpoints.family import Family, Ignored, encoder_only, sizes
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

HEAD = "cls.predictions.decoder.weight"
ATTENTION = {"self.query": "q", "self.key": "k", "self.value": "v", "output.dense": "out"}
NETWORK = {"intermediate.dense": "mlp.up", "output.dense": "mlp.down", "output.LayerNorm": "ln2"}
LAYER = (
    *inside("attention", "self_attn", modules(ATTENTION)),
    *modules({"attention.output.LayerNorm": "ln1", **NETWORK}),
)


def read(options: Options) -> ModelConfig:
    """Return our configuration of a BERT (Devlin et al. 2019, sec. 3)."""
    return read_kin(options, pad_id=0)


def read_kin(
    options: Options,
    *,
    pad_id: int,
    n_unused_positions: Callable[[int | None], int] = lambda _: 0,
    activation: str = "gelu",
    dropout: float = 0.1,
    is_decoder: bool = False,
    **fields: Any,
) -> ModelConfig:
    """Return the configuration of a BERT, or of one of its many relatives.

    Args:
        options: the model's options.
        pad_id: the default padding token.
        n_unused_positions: number of unused rows of the position table, given the padding token.
        activation: the default.
        dropout: the default of both rates.
        is_decoder: whether it must be the decoder of an encoder-decoder, or must not.
        fields: others of `ModelConfig`.
    """
    pad = options.token("pad_token_id", pad_id)
    options.must_be("position_embedding_type", "absolute", Message("only BERT's absolute positions are supported"))
    only_with_encoder = Message("BERT decoders are only supported together with an encoder")
    options.must_be("is_decoder", is_decoder, only_with_encoder)
    options.must_be("add_cross_attention", is_decoder, only_with_encoder)
    options.idle("pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head")
    n_segments = options.whole("type_vocab_size", 2)
    return encoder_only(
        **sizes(options, n_layers="n_encoder_layers"),
        max_seq_len=options.whole("max_position_embeddings", 512) - n_unused_positions(pad),
        positions="learned",
        layer_norm_eps=options.number("layer_norm_eps", 1e-12),
        activation=options.choice("hidden_act", ACTIVATIONS, activation),
        tie_embeddings=options.tying(True),
        unembed_bias=True,
        dropout=options.number("hidden_dropout_prob", dropout),
        dropout_pattern=options.number("attention_probs_dropout_prob", dropout),
        pad_id=pad,
        bos_id=options.token("bos_token_id", 0),  # encoders do not use these two; the tokenizer knows [CLS] and [SEP]
        eos_id=options.token("eos_token_id", 0),
        **{"n_segments": n_segments, **fields},
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a BERT."""
    return (
        *embedded(config, "bert.embeddings", head=HEAD),
        *in_layers(config, "bert.encoder.layer.*", LAYER),
        *head(config),
    )


def embedded(config: ModelConfig, theirs: str, *, head: str, n_unused: int = 0) -> tuple[Entry, ...]:
    """Return the entries of the embeddings and their normalization in an encoder.

    Args:
        config: of the model.
        theirs: prefix of the keys.
        head: as for `embeddings`.
        n_unused: rows at the beginning of the position table.
    """
    segments = [Entry(f"{theirs}.token_type_embeddings.weight", ("encoder.segment_embed.weight",))]
    return (
        *embeddings(config, f"{theirs}.word_embeddings.weight", head=head),
        Entry(f"{theirs}.position_embeddings.weight", ("encoder.pos_embed.table",), rows_from(n_unused)),
        *(segments if config.n_segments else []),
        *module(f"{theirs}.LayerNorm", "encoder.embedding_norm"),
    )


def head(config: ModelConfig, before: str = "") -> tuple[Entry, ...]:
    """Return the entries of the masked-token head, without the matrix; `before`: the prefix of its keys."""
    theirs = f"{before}cls.predictions"
    names = f"{theirs}.transform.dense", f"{theirs}.transform.LayerNorm", f"{theirs}.bias"
    return head_of(config, *names, f"{theirs}.decoder.bias")


def head_of(config: ModelConfig, linear: str, norm: str, bias: str, of_layer: str = "") -> tuple[Entry, ...]:
    """Return the entries of a masked-token head by the keys of its parts; none for a model without one.

    Args:
        config: of the model.
        linear: the key of the linear layer before the output layer.
        norm: the key of its normalization.
        bias: the key of the output layer's bias.
        of_layer: as for `output_bias`; "": the bias has only one key.
    """
    if not config.unembed:
        return ()
    transform = modules({linear: "unembed_transform.linear", norm: "unembed_transform.norm"})
    last = output_bias(config, bias, of_layer=of_layer) if of_layer else Entry(bias, ("unembed.bias",))
    return (*transform, last)


FAMILIES = (
    Family(
        model_type="bert",
        read=read,
        keys=keys,
        head=HEAD,
        prefix="bert.",
        renamed={"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"},
        ignored=(Ignored(r"cls\.seq_relationship\.(weight|bias)", Message("only used for next-sentence prediction")),),
    ),
)
