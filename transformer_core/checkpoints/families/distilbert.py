"""DistilBERT, with or without its masked-token head: a BERT with half the layers, without segments."""

from transformer_core.checkpoints.entries import Entry, in_layers, inside, modules
from transformer_core.checkpoints.families import bert
from transformer_core.checkpoints.family import Family, encoder_only
from transformer_core.checkpoints.options import ACTIVATIONS, Options
from transformer_core.config import ModelConfig

HEAD = "vocab_projector.weight"
EPS = 1e-12  # of every normalization; not in the configuration


def read(options: Options) -> ModelConfig:
    """Return our configuration of a DistilBERT (Sanh et al. 2019, sec. 3)."""
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
        tie_embeddings=options.tying(True),
        unembed_bias=True,
        dropout=options.number("dropout", 0.1),
        dropout_pattern=options.number("attention_dropout", 0.1),
        pad_id=options.token("pad_token_id", 0),
        bos_id=options.token("bos_token_id", 0),  # encoders do not use these two; the tokenizer knows [CLS] and [SEP]
        eos_id=options.token("eos_token_id", 0),
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a DistilBERT."""
    layer = (
        *inside("attention", "self_attn", modules({f"{part}_lin": part for part in ("q", "k", "v", "out")})),
        *modules({"sa_layer_norm": "ln1", "ffn.lin1": "mlp.up", "ffn.lin2": "mlp.down", "output_layer_norm": "ln2"}),
    )
    return (
        *bert.embedded(config, "distilbert.embeddings", head=HEAD),
        *in_layers(config, "distilbert.transformer.layer.*", layer),
        *bert.head_of(config, "vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
    )


FAMILIES = (Family(model_type="distilbert", read=read, keys=keys, head=HEAD, prefix="distilbert."),)
