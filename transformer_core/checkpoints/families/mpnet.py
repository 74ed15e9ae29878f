"""MPNet: a RoBERTa without segments whose attention adds T5's relative position buckets to the learned positions."""

from transformer_core.checkpoints.entries import Entry, in_layers, inside, modules
from transformer_core.checkpoints.families import bert
from transformer_core.checkpoints.families.roberta import HEAD, HEAD_PARTS
from transformer_core.checkpoints.family import Family
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

N_UNUSED = 2  # rows of the position table, whatever the padding token is
MAX_DISTANCE = 128  # in no option


def read(options: Options) -> ModelConfig:
    """Return our configuration of an MPNet (Song et al. 2020, sec. 2.2 and 3.1)."""
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
    layer = (
        *inside("attention.attn", "self_attn", modules({"q": "q", "k": "k", "v": "v", "o": "out"})),
        *modules({"attention.LayerNorm": "ln1", **bert.NETWORK}),
    )
    return (
        *bert.embedded(config, "mpnet.embeddings", head=HEAD, n_unused=N_UNUSED),
        Entry("mpnet.encoder.relative_attention_bias.weight", ("encoder.position_bias.weight",)),
        *in_layers(config, "mpnet.encoder.layer.*", layer),
        *bert.head_of(config, *HEAD_PARTS),
    )


FAMILIES = (Family(model_type="mpnet", read=read, keys=keys, head=HEAD, prefix="mpnet."),)
