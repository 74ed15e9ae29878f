"""The attentions that a model has, and their hook points."""

from collections.abc import Mapping
from dataclasses import dataclass

from transformer_core.config import Architecture, ModelConfig
from transformer_core.errors import mark


@dataclass(frozen=True, kw_only=True)
class Attention:
    """One of the three attentions of an encoder-decoder (Vaswani et al. 2017, sec. 3.2.3); a single stack has one."""

    name: str  # short and stable, for addresses and files
    title: str
    inline: str  # within a sentence
    module: str  # module path, with {layer}
    queries_from: str  # "source" or "target"
    keys_from: str  # "source" or "target"

    @property
    def is_self(self) -> bool:
        """Whether queries and keys are the same tokens."""
        return self.queries_from == self.keys_from

    def site(self, layer: int, stem: str = "hook_pattern") -> str:
        """Return the name of a hook point of this attention."""
        return f"{self.module.format(layer=layer)}.{stem}"

    def n_layers(self, config: ModelConfig) -> int:
        """Return the number of layers with this attention; 0 where the model does not have it."""
        if self.name == "cross" and not config.has_encoder:
            return 0
        return config.n_encoder_layers if self.queries_from == "source" else config.n_decoder_layers


ATTENTIONS: Mapping[str, Attention] = {
    attention.name: attention
    for attention in (
        Attention(
            name="encoder",
            title=mark("Encoder self-attention"),
            inline=mark("encoder self-attention"),
            module="encoder.blocks.{layer}.self_attn",
            queries_from="source",
            keys_from="source",
        ),
        Attention(
            name="decoder",
            title=mark("Decoder self-attention"),
            inline=mark("decoder self-attention"),
            module="decoder.blocks.{layer}.self_attn",
            queries_from="target",
            keys_from="target",
        ),
        Attention(
            name="cross",
            title=mark("Cross-attention"),
            inline=mark("cross-attention"),
            module="decoder.blocks.{layer}.cross_attn",
            queries_from="target",
            keys_from="source",
        ),
    )
}


def attentions_of(config: ModelConfig) -> Mapping[str, Attention]:
    """Return the attentions that a model has, in the order in which it computes them."""
    return {name: attention for name, attention in ATTENTIONS.items() if attention.n_layers(config)}


def sides_of(architecture: Architecture) -> tuple[str, ...]:
    """Return the sides of a text that a model reads, in the order of its inputs."""
    return {
        "encoder_decoder": ("source", "target"),
        "decoder_only": ("target",),
        "encoder_only": ("source",),
    }[architecture]
