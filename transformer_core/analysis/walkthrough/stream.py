"""What is written into a stack's residual stream up to some place, and which normalizations it passes on the way."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from transformer_core.analysis.trace.attentions import ATTENTIONS
from transformer_core.analysis.trace.residual_stream import embedding_sites, sublayers
from transformer_core.analysis.walkthrough.sources import SourceName
from transformer_core.config import ModelConfig

Until = Literal["self_attn", "cross_attn", "end"]
"""Which reader the stream is followed to: a block's self-attention, its cross-attention, or who reads the stack."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """Something is added to the stream."""

    source: SourceName
    site: str | None  # where it was captured; of a head its z; None: a bias
    module: str | None = None  # path of the projection that a head writes by, or that has the bias


@dataclass(frozen=True, kw_only=True)
class Normed:
    """The stream, or what is read of it, is normalized."""

    module: str
    sites: tuple[str, ...]  # what was normalized is the sum of these


def stream_to(config: ModelConfig, stack: str, *, layer: int, until: Until) -> tuple[Written | Normed, ...]:
    """Return what happens to the stream of a stack before it is read there, in order.

    Args:
        config: of the model.
        stack: "encoder" or "decoder".
        layer: of the block whose attention reads; with "end" it does not count.
        until: the reader.
    """
    embedded = embedding_sites(config, stack)
    steps: list[Written | Normed] = [
        Written(source=SourceName(kind=kind), site=site) for kind, site in embedded.items()
    ]
    if config.embedding_norm:
        steps.append(Normed(module=f"{stack}.embedding_norm", sites=tuple(embedded.values())))
    is_pre_norm, has_norm = config.norm_position == "pre", config.norm != "none"
    read = ""
    for i in range(ATTENTIONS[stack].n_layers(config)):
        block = f"{stack}.blocks.{i}"
        read = f"{block}.hook_resid_pre"
        for part in sublayers(config, stack):
            norm = f"{block}.{part.norm}"
            if (i, part.name) == (layer, until):
                is_normalized = has_norm and is_pre_norm and (config.first_norm or (i, part.name) != (0, "self_attn"))
                return (*steps, *([Normed(module=norm, sites=(read,))] if is_normalized else []))
            steps += _written_by(config, stack, i, part.name)
            read = f"{block}.{part.sum}"
            if not is_pre_norm:
                steps.append(Normed(module=norm, sites=(read,)))
                read = f"{norm}.hook_normalized"
    if config.has_final_norm and has_norm:
        steps.append(Normed(module=f"{stack}.ln_final", sites=(read,)))
    return tuple(steps)


def _written_by(config: ModelConfig, stack: str, layer: int, part: str) -> Iterator[Written]:
    """Yield what a sub-layer of a block adds."""
    block = f"{stack}.blocks.{layer}"
    if part == "mlp":
        yield Written(source=SourceName(kind="feed_forward", layer=layer), site=f"{block}.hook_mlp_out")
        return
    module, attention = f"{block}.{part}", "cross" if part == "cross_attn" else stack
    for head in range(config.n_heads):
        source = SourceName(kind="head", layer=layer, head=head, attention=attention)
        yield Written(source=source, site=f"{module}.hook_z", module=f"{module}.out")
    if config.attention_bias == "all":
        yield Written(source=SourceName(kind="bias"), site=None, module=f"{module}.out")
