"""MPNet: a RoBERTa without segments whose attention adds T5's relative position buckets to the learned positions."""

from transformer_core.checkpoints.families import bert
from transformer_core.checkpoints.family import Entry, Family, embeddings, module, output_bias
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

HEAD = "lm_head.decoder.weight"
N_UNUSED = 2  # rows of the position table, whatever the padding token is
MAX_DISTANCE = 128  # in no option


def read(options: Options) -> ModelConfig:
    """Return our configuration of an MPNet.

    Source: Song et al. 2020, sec. 2.2 and 3.1, and the library's class.
    """
    options.must_be("hidden_act", "gelu", Message("the masked-token head only supports GELU"))
    return bert.read_kin(
        options,
        pad_id=1,
        n_unused_positions=lambda _: N_UNUSED,
        n_segments=0,
        relative_bias=True,
        n_relative_buckets=options.whole("relative_attention_num_buckets", 32),
        relative_max_distance=MAX_DISTANCE,
    )


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of an MPNet."""
    before = "mpnet.embeddings"
    entries = [
        *embeddings(config, f"{before}.word_embeddings.weight", head=HEAD),
        Entry(f"{before}.position_embeddings.weight", ("encoder.pos_embed.table",), lambda table: (table[N_UNUSED:],)),
        *module(f"{before}.LayerNorm", "encoder.embedding_norm"),
        Entry("mpnet.encoder.relative_attention_bias.weight", ("encoder.position_bias.weight",)),
    ]
    for i in range(config.n_encoder_layers):
        theirs, ours = f"mpnet.encoder.layer.{i}", f"encoder.blocks.{i}"
        for name, part in (("q", "q"), ("k", "k"), ("v", "v"), ("o", "out")):
            entries += module(f"{theirs}.attention.attn.{name}", f"{ours}.self_attn.{part}")
        entries += [
            *module(f"{theirs}.attention.LayerNorm", f"{ours}.ln1"),
            *module(f"{theirs}.intermediate.dense", f"{ours}.mlp.up"),
            *module(f"{theirs}.output.dense", f"{ours}.mlp.down"),
            *module(f"{theirs}.output.LayerNorm", f"{ours}.ln2"),
        ]
    if config.unembed:
        entries += module("lm_head.dense", "unembed_transform.linear")
        entries += module("lm_head.layer_norm", "unembed_transform.norm")
        entries += [output_bias(config, "lm_head.bias", of_layer="lm_head.decoder.bias")]
    return tuple(entries)


FAMILIES = (Family(model_type="mpnet", read=read, keys=keys, head=HEAD, prefix="mpnet."),)
