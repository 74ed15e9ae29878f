"""ALBERT: a BERT with one layer that is computed several times, and narrow embeddings that are projected."""

from transformer_core.checkpoints.entries import Entry, module, shared
from transformer_core.checkpoints.families import bert
from transformer_core.checkpoints.family import Family
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

HEAD = "predictions.decoder.weight"
_LAYER = "albert.encoder.albert_layer_groups.0.albert_layers.0"
_PARTS = {
    **{"attention.query": "self_attn.q", "attention.key": "self_attn.k", "attention.value": "self_attn.v"},
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
    blocks, head = [f"encoder.blocks.{i}" for i in range(config.n_encoder_layers)], "predictions"
    entries = [
        *bert.embedded(config, "albert.embeddings", head=HEAD),
        *module("albert.encoder.embedding_hidden_mapping_in", "encoder.embedding_projection"),
        *bert.head_of(config, f"{head}.dense", f"{head}.LayerNorm", f"{head}.bias", f"{head}.decoder.bias"),
    ]
    for theirs, ours in _PARTS.items():
        entries += shared(f"{_LAYER}.{theirs}", [f"{block}.{ours}" for block in blocks])
    return tuple(entries)


FAMILIES = (Family(model_type="albert", read=read, keys=keys, head=HEAD, prefix="albert."),)
