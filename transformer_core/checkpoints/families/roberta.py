"""RoBERTa, with or without its masked-token head: a BERT whose positions begin after the id of the padding token."""

from transformer_core.checkpoints.families import bert
from transformer_core.checkpoints.family import Entry, Family, embeddings, module, output_bias
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

HEAD = "lm_head.decoder.weight"


def read(options: Options) -> ModelConfig:
    """Return our configuration of a RoBERTa.

    Source: Liu et al. 2019, sec. 2 and 4, and the library's class.
    """
    options.must_be("hidden_act", "gelu", Message("the masked-token head only supports GELU"))
    return bert.read_kin(options, pad_id=1, n_unused_positions=n_unused_positions)


def n_unused_positions(pad_id: int | None) -> int:
    """Return the number of unused rows of the position table: those up to the id of the padding token."""
    return 0 if pad_id is None else pad_id + 1


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of a RoBERTa."""
    n_unused = n_unused_positions(config.pad_id)
    entries = [
        *embeddings(config, "roberta.embeddings.word_embeddings.weight", head=HEAD),
        Entry(
            "roberta.embeddings.position_embeddings.weight",
            ("encoder.pos_embed.table",),
            lambda table: (table[n_unused:],),
        ),
        *bert.layers(config, "roberta"),
    ]
    if config.unembed:
        entries += module("lm_head.dense", "unembed_transform.linear")
        entries += module("lm_head.layer_norm", "unembed_transform.norm")
        entries += [output_bias(config, "lm_head.bias", of_layer="lm_head.decoder.bias")]
    return tuple(entries)


FAMILIES = tuple(
    Family(model_type=model_type, read=read, keys=keys, head=HEAD, prefix="roberta.")
    for model_type in ("roberta", "xlm-roberta", "camembert")  # the same model with other vocabularies
)
