"""ELECTRA: a BERT whose embeddings may be narrower; generators predict masked tokens, discriminators nothing."""

from transformer_core.checkpoints.entries import Entry, in_layers, module
from transformer_core.checkpoints.families import bert
from transformer_core.checkpoints.family import Family
from transformer_core.checkpoints.options import Options
from transformer_core.config import ModelConfig
from transformer_core.errors import Message

HEAD = "generator_lm_head.weight"


def read(options: Options) -> ModelConfig:
    """Return our configuration of an ELECTRA, generator or discriminator (Clark et al. 2020, sec. 2 and 3.2)."""
    options.must_be("hidden_act", "gelu", Message("the generator's head only supports GELU"))
    options.idle("summary_activation")
    width = options.whole("embedding_size", 128)
    is_own_width = width != options.whole("hidden_size", 256)
    return bert.read_kin(options, pad_id=0, d_embed=width if is_own_width else 0)


def keys(config: ModelConfig) -> tuple[Entry, ...]:
    """Return the entries of an ELECTRA."""
    projection = module("electra.embeddings_project", "encoder.embedding_projection")
    head = "generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head.bias"
    return (
        *bert.embedded(config, "electra.embeddings", head=HEAD),
        *(projection if config.d_embed else ()),
        *in_layers(config, "electra.encoder.layer.*", bert.LAYER),
        *bert.head_of(config, *head),
    )


FAMILIES = (Family(model_type="electra", read=read, keys=keys, head=HEAD, prefix="electra."),)
