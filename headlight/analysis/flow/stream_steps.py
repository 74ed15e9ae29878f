"""The steps of a residual stream: what writes into it, and what normalizes or projects it, in order."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.analysis.trace.residual_stream import embedding_sites, sublayers
from transformer_core.config import ModelConfig

SourceKind = Literal["token", "position", "segment", "head", "feed_forward", "bias"]


@dataclass(frozen=True, kw_only=True)
class SourceName:
    """A part of the model that writes into the vectors that an attention reads."""

    kind: SourceKind
    layer: int | None = None  # of heads and feed-forward networks
    head: int | None = None  # of heads
    attention: str | None = None  # of heads: "encoder", "decoder" or "cross"


BIAS = SourceName(kind="bias")
Until = Literal["self_attn", "cross_attn", "end"]
"""The reader that the stream is followed to: self-attention, cross-attention, or the reader of the whole stack."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """A step that adds a vector to the stream."""

    source: SourceName
    site: str | None  # where it was captured; for a head, its z; None: a bias
    module: str | None = None  # path of the head's output projection, or of the module that has the bias


@dataclass(frozen=True, kw_only=True)
class Normed:
    """A step that normalizes the stream, or the input of its reader."""

    module: str
    sites: tuple[str, ...]  # the input of the normalization is the sum of these


@dataclass(frozen=True, kw_only=True)
class Projected:
    """A step that projects the normalized embeddings to the width of the stream."""

    module: str


Step = Written | Normed | Projected


def stream_to(config: ModelConfig, stack: str, *, layer: int, until: Until) -> tuple[Step, ...]:
    """Return the steps of the residual stream of a stack before it is read, in order.

    Args:
        config: of the model.
        stack: "encoder" or "decoder".
        layer: of the block whose attention reads; with "end" it does not count.
        until: the reader.
    """
    embedded = embedding_sites(config, stack)
    steps: list[Step] = [Written(source=SourceName(kind=kind), site=site) for kind, site in embedded.items()]
    if config.embedding_norm:
        steps.append(Normed(module=f"{stack}.embedding_norm", sites=tuple(embedded.values())))
    if config.d_embed:
        steps.append(Projected(module=f"{stack}.embedding_projection"))
    is_pre_norm, has_norm = config.norm_position == "pre", config.norm != "none"
    read = ""
    for i in range(ATTENTIONS[stack].n_layers(config)):
        block = f"{stack}.blocks.{i}"
        read = f"{block}.hook_resid_pre"
        for part in sublayers(config, stack):
            norm = f"{block}.{part.norm}"
            if (i, part.name) == (layer, until):
                is_normalized = is_pre_norm and config.normalizes(i, part.norm)
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
    block = f"{stack}.blocks.{layer}"
    if part == "mlp":
        yield Written(source=SourceName(kind="feed_forward", layer=layer), site=f"{block}.hook_mlp_out")
        return
    module, attention = f"{block}.{part}", "cross" if part == "cross_attn" else stack
    for head in range(config.n_heads):
        source = SourceName(kind="head", layer=layer, head=head, attention=attention)
        yield Written(source=source, site=f"{module}.hook_z", module=f"{module}.out")
    if config.attention_bias == "all" or (config.output_norm and config.norm == "layer"):
        yield Written(source=SourceName(kind="bias"), site=None, module=f"{module}.out")


def out_norm(step: Written) -> str:
    """Return the normalization of the sum of what the heads of an attention write, in models that have it."""
    return f"{(step.module or '').removesuffix('.out')}.out_norm"


def sites_of(step: Step) -> tuple[str | None, ...]:
    """Return the hook points whose activations a step needs."""
    if isinstance(step, Projected):
        return ()
    return step.sites if isinstance(step, Normed) else (step.site,)
