"""DistilBERT, with or without its masked-token head: a BERT with half the layers, without segments."""

from transformer_core.checkpoints.family import Entry, Family, embeddings, encoder_only, module
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import ModelConfig

HEAD = "vocab_projector.weight"
EPS = 1e-12  # of every normalization; not in the configuration


def read(options: Options) -> ModelConfig:
    """Return our configuration of a DistilBERT.

    Source: Sanh et al. 2019, sec. 3, and the library's class.
    """
    return encoder_only(
        vocab_size=options.whole("vocab_size"),
        d_model=options.whole("dim"),
        d_ff=options.whole("hidden_dim"),
        n_heads=options.whole("n_heads"),
        n_encoder_layers=options.whole("n_layers"),
        max_seq_len=options.whole("max_position_embeddings", 512),
        positions="learned",  # sinusoidal positions are stored in the file too
        layer_norm_eps=EPS,
        activation=options.choice("activation", ACTIVATIONS, "gelu"),
        tie_embeddings="target" if options.switch("tie_word_embeddings", True) else "none",
        unembed_bias=True,
        dropout=options.number("dropout", 0.1),
        dropout_pattern=options.number("attention_dropout", 0.1),
        pad_id=options.token("pad_token_id", 0),
        bos_id=options.token("bos_token_id", 0),  # encoders do not use these two; the tokenizer knows [CLS] and [SEP]
        eos_id=options.token("eos_token_id", 0),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a DistilBERT."""
    before = "distilbert.embeddings"
    entries = [
        *embeddings(config, f"{before}.word_embeddings.weight", head=HEAD),
        Entry(f"{before}.position_embeddings.weight", ("encoder.pos_embed.table",)),
        *module(f"{before}.LayerNorm", "encoder.embedding_norm"),
    ]
    for i in range(config.n_encoder_layers):
        theirs, ours = f"distilbert.transformer.layer.{i}", f"encoder.blocks.{i}"
        for part in ("q", "k", "v", "out"):
            entries += module(f"{theirs}.attention.{part}_lin", f"{ours}.self_attn.{part}")
        entries += [
            *module(f"{theirs}.sa_layer_norm", f"{ours}.ln1"),
            *module(f"{theirs}.ffn.lin1", f"{ours}.mlp.up"),
            *module(f"{theirs}.ffn.lin2", f"{ours}.mlp.down"),
            *module(f"{theirs}.output_layer_norm", f"{ours}.ln2"),
        ]
    if config.unembed:
        entries += module("vocab_transform", "unembed_transform.linear")
        entries += module("vocab_layer_norm", "unembed_transform.norm")
        entries += [Entry("vocab_projector.bias", ("unembed.bias",))]
    return tuple(entries)


FAMILIES = (Family(model_type="distilbert", read=read, keys=keys, head=HEAD, prefix="distilbert."),)
