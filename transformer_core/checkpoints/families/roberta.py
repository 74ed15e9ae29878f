"""RoBERTa, with or without its masked-token head: a BERT whose positions begin after the id of the padding token."""

from transformer_core.checkpoints.entries import Entry, in_layers
from transformer_core.checkpoints.families import bert
from transformer_core.checkpoints.family import Family
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

HEAD = "lm_head.decoder.weight"
HEAD_PARTS = ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias", "lm_head.decoder.bias")


def read(options: Options) -> ModelConfig:
    """Return our configuration of a RoBERTa (Liu et al. 2019, sec. 2 and 4)."""
    options.must_be("hidden_act", "gelu", Message("the masked-token head only supports GELU"))
    return bert.read_kin(options, pad_id=1, n_unused_positions=n_unused_positions)


def n_unused_positions(pad_id: int | None) -> int:
    """Return the number of unused rows of the position table: those up to the id of the padding token."""
    return 0 if pad_id is None else pad_id + 1


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a RoBERTa."""
    return (
        *bert.embedded(config, "roberta.embeddings", head=HEAD, n_unused=n_unused_positions(config.pad_id)),
        *in_layers(config, "roberta.encoder.layer.*", bert.LAYER),
        *bert.head_of(config, *HEAD_PARTS),
    )


FAMILIES = tuple(
    Family(model_type=model_type, read=read, keys=keys, head=HEAD, prefix="roberta.")
    for model_type in ("roberta", "xlm-roberta", "camembert")  # the same model with other vocabularies
)
