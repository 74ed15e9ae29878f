"""The residual stream of a stack: what writes into it, its hook points, and the norms of its vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from headlight.analysis.trace.attentions import ATTENTIONS
from transformer_core.config import ModelConfig


@dataclass(frozen=True)
class Sublayer:
    """A sub-layer of a block; its hook points are counted from the block."""

    name: str  # of its module
    norm: str  # of the normalization that belongs to it
    adds: str  # the hook point of what it adds to the stream
    sum: str  # the hook point of the stream after it


def sublayers(config: ModelConfig, stack: str) -> tuple[Sublayer, ...]:
    """Return the sub-layers of each block of "encoder" or "decoder", in the order of the forward pass."""
    there = [("self_attn", "ln1", "self_attn.hook_attn_out", "hook_resid_mid")]
    if stack == "decoder" and config.has_encoder:
        there.append(("cross_attn", "ln_cross", "cross_attn.hook_attn_out", "hook_resid_mid_cross"))
    if config.d_ff:
        there.append(("mlp", "ln2", "hook_mlp_out", ""))
    return (*(Sublayer(*parts) for parts in there[:-1]), Sublayer(*there[-1][:3], "hook_resid_post"))


def embedding_sites(config: ModelConfig, stack: str) -> Mapping[Literal["token", "position", "segment"], str]:
    """Return the hook points of the embeddings that a stack's stream begins with, by kind."""
    sites: dict[Literal["token", "position", "segment"], str] = {"token": f"{stack}.hook_embed"}
    if has_added_positions(config):
        sites["position"] = f"{stack}.hook_pos_embed"
    if config.n_segments:
        sites["segment"] = f"{stack}.hook_segment_embed"
    return sites


def has_added_positions(config: ModelConfig) -> bool:
    """Whether positions are vectors that are added to the embeddings."""
    return config.positions == "learned" or config.positions.startswith("sinusoidal")


@dataclass(frozen=True, kw_only=True)
class StreamPoint:
    """A place in the stream, after a sub-layer or where the stream begins."""

    name: str  # of the box that outputs the vector, such as "decoder.0.cross_attn"; "decoder.embed" at the beginning
    sum: str  # the hook point of the sum there, before normalization
    read: str  # the hook point passed to the next sub-layer: in post-norm the normalized sum, in pre-norm the sum
    added: str | None = None  # the hook point of what was added there; None at the beginning

    @property
    def sites(self) -> tuple[str, ...]:
        """All hook points of this place."""
        return (self.sum, self.read, *([self.added] if self.added else []))


@dataclass(frozen=True, kw_only=True, eq=False)
class Stream:
    """The norms of the vectors in one stack's residual stream."""

    names: tuple[str, ...]  # of the places; the first is where the stream begins
    sums: Float[np.ndarray, "place pos"]  # norm of the sum, before normalization
    read: Float[np.ndarray, "place pos"]  # norm of what is passed to the next sub-layer; in pre-norm the same
    added: Float[np.ndarray, "sublayer pos"]  # norm of each sub-layer's output; one fewer than places

    @property
    def shares(self) -> Float[np.ndarray, "sublayer pos"]:
        """The norm of each sub-layer's output, divided by the norm of the stream that it was added to."""
        return self.added / np.maximum(self.read[:-1], np.finfo(np.float32).tiny)

    @property
    def n_bytes(self) -> int:
        """Memory that it takes, in bytes."""
        return self.sums.nbytes + self.read.nbytes + self.added.nbytes


def stream_places(config: ModelConfig, stack: str) -> list[StreamPoint]:
    """Return the places of the stream of "encoder" or "decoder", in the order of the forward pass."""
    first = f"{stack}.blocks.0.hook_resid_pre"
    places = [StreamPoint(name=f"{stack}.embed", sum=first, read=first)]
    for layer in range(ATTENTIONS[stack].n_layers(config)):
        block = f"{stack}.blocks.{layer}"
        for part in sublayers(config, stack):
            total = f"{block}.{part.sum}"
            read = f"{block}.{part.norm}.hook_normalized" if config.norm_position == "post" else total
            places.append(
                StreamPoint(name=f"{stack}.{layer}.{part.name}", sum=total, read=read, added=f"{block}.{part.adds}")
            )
    return places


def stream_of(norms: Mapping[str, Float[np.ndarray, " pos"]], places: Sequence[StreamPoint]) -> Stream:
    """Return a stack's stream.

    Args:
        norms: the norm of each position's vector, by hook point of the places.
        places: of the stack.

    Raises:
        NotFiniteError: the norm of a vector is NaN or infinite.
    """
    from transformer_core.instrument.finite import not_finite_from  # it imports torch, which drawing does not need

    for site in (site for place in places for site in place.sites if not np.isfinite(norms[site]).all()):
        raise not_finite_from(site)
    return Stream(
        names=tuple(place.name for place in places),
        sums=np.stack([norms[place.sum] for place in places]),
        read=np.stack([norms[place.read] for place in places]),
        added=np.stack([norms[place.added] for place in places if place.added]),
    )
