"""BERT, with or without its masked-token head: encoder-only, post-norm, learned positions, segments."""

from collections.abc import Callable
from typing import Any

from transformer_core.checkpoints.family import Entry, Family, Ignored, embeddings, encoder_only, module, output_bias
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

HEAD = "cls.predictions.decoder.weight"
PROJECTIONS = {"query": "q", "key": "k", "value": "v"}


def read(options: Options) -> ModelConfig:
    """Return our configuration of a BERT.

    Source: Devlin et al. 2019, sec. 3, and the library's class.
    """
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
        vocab_size=options.whole("vocab_size"),
        d_model=options.whole("hidden_size"),
        d_ff=options.whole("intermediate_size"),
        n_heads=options.whole("num_attention_heads"),
        n_encoder_layers=options.whole("num_hidden_layers"),
        max_seq_len=options.whole("max_position_embeddings", 512) - n_unused_positions(pad),
        positions="learned",
        layer_norm_eps=options.number("layer_norm_eps", 1e-12),
        activation=options.choice("hidden_act", ACTIVATIONS, activation),
        tie_embeddings="target" if options.switch("tie_word_embeddings", True) else "none",
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
    entries = [
        *embeddings(config, "bert.embeddings.word_embeddings.weight", head=HEAD),
        Entry("bert.embeddings.position_embeddings.weight", ("encoder.pos_embed.table",)),
        *layers(config, "bert"),
    ]
    return (*entries, *head("", config))


def head(before: str, config: ModelConfig) -> list[Entry]:
    """Return the entries of the masked-token head, without the matrix; `before`: the prefix of its keys."""
    if not config.unembed:
        return []
    return [
        *module(f"{before}cls.predictions.transform.dense", "unembed_transform.linear"),
        *module(f"{before}cls.predictions.transform.LayerNorm", "unembed_transform.norm"),
        output_bias(config, f"{before}cls.predictions.bias", of_layer=f"{before}cls.predictions.decoder.bias"),
    ]


def layers(config: ModelConfig, name: str) -> list[Entry]:
    """Return the entries that BERT and RoBERTa share: all but tokens, positions and head."""
    before = f"{name}.embeddings"
    return [
        Entry(f"{before}.token_type_embeddings.weight", ("encoder.segment_embed.weight",)),
        *module(f"{before}.LayerNorm", "encoder.embedding_norm"),
        *blocks(name, "encoder", config.n_encoder_layers),
    ]


def blocks(name: str, stack: str, n_layers: int) -> list[Entry]:
    """Return the entries of the blocks, without cross-attention."""
    entries: list[Entry] = []
    for i in range(n_layers):
        theirs, ours = f"{name}.encoder.layer.{i}", f"{stack}.blocks.{i}"
        entries += [
            *(
                entry
                for name, part in PROJECTIONS.items()
                for entry in module(f"{theirs}.attention.self.{name}", f"{ours}.self_attn.{part}")
            ),
            *module(f"{theirs}.attention.output.dense", f"{ours}.self_attn.out"),
            *module(f"{theirs}.attention.output.LayerNorm", f"{ours}.ln1"),
            *module(f"{theirs}.intermediate.dense", f"{ours}.mlp.up"),
            *module(f"{theirs}.output.dense", f"{ours}.mlp.down"),
            *module(f"{theirs}.output.LayerNorm", f"{ours}.ln2"),
        ]
    return entries


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
