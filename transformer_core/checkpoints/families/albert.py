"""ALBERT: a BERT with one layer that is computed several times, and narrow embeddings that are projected."""

from transformer_core.checkpoints.families import bert
from transformer_core.checkpoints.family import Entry, Family, embeddings, module, output_bias, shared
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

HEAD = "predictions.decoder.weight"
_LAYER = "albert.encoder.albert_layer_groups.0.albert_layers.0"
_PARTS = {
    **{f"attention.{name}": f"self_attn.{part}" for name, part in bert.PROJECTIONS.items()},
    **{"attention.dense": "self_attn.out", "attention.LayerNorm": "ln1"},
    **{"ffn": "mlp.up", "ffn_output": "mlp.down", "full_layer_layer_norm": "ln2"},
}


def read(options: Options) -> ModelConfig:
    """Return our configuration of an ALBERT, in which each layer has a copy of the shared weights.

    Source: Lan et al. 2020, sec. 3.1, and the library's class.
    """
    for name in ("num_hidden_groups", "inner_group_num"):
        options.must_be(name, 1, Message("only models with one shared layer are supported"))
    options.idle("down_scale_factor")
    return bert.read_kin(
        options, pad_id=0, activation="gelu_new", dropout=0.0, d_embed=options.whole("embedding_size", 128)
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of an ALBERT."""
    before, n_layers = "albert.embeddings", config.n_encoder_layers
    entries = [
        *embeddings(config, f"{before}.word_embeddings.weight", head=HEAD),
        Entry(f"{before}.position_embeddings.weight", ("encoder.pos_embed.table",)),
        Entry(f"{before}.token_type_embeddings.weight", ("encoder.segment_embed.weight",)),
        *module(f"{before}.LayerNorm", "encoder.embedding_norm"),
        *module("albert.encoder.embedding_hidden_mapping_in", "encoder.embedding_projection"),
    ]
    for theirs, ours in _PARTS.items():
        entries += shared(f"{_LAYER}.{theirs}", [f"encoder.blocks.{i}.{ours}" for i in range(n_layers)])
    if config.unembed:
        entries += module("predictions.dense", "unembed_transform.linear")
        entries += module("predictions.LayerNorm", "unembed_transform.norm")
        entries += [output_bias(config, "predictions.bias", of_layer="predictions.decoder.bias")]
    return tuple(entries)


FAMILIES = (Family(model_type="albert", read=read, keys=keys, head=HEAD, prefix="albert."),)
