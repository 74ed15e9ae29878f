"""The residual stream through the layers: how long its vectors are, and how much each sub-layer adds to them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from transformer_core.config import ModelConfig


@dataclass(frozen=True, kw_only=True)
class StreamPoint:
    """A place in the stream, after a sub-layer or where the stream begins."""

    name: str  # of the box that the vector comes out of, such as "decoder.0.cross_attn"; "decoder.embed" at first
    sum: str  # the hook point of the stream there, as the sum stands
    read: str  # the hook point of what the next one reads: in post-norm the normalized sum, in pre-norm the sum itself
    added: str = ""  # the hook point of what was added there; "" at first


@dataclass(frozen=True, kw_only=True)
class StreamSites:
    """The places of a stack's stream, in the order of the forward pass."""

    places: tuple[StreamPoint, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Every hook point that is needed."""
        wanted = (site for place in self.places for site in (place.sum, place.read, place.added) if site)
        return tuple(dict.fromkeys(wanted))


@dataclass(frozen=True, kw_only=True, eq=False)
class Stream:
    """How long the vectors of one stack's stream are."""

    names: tuple[str, ...]  # of the places; the first is where the stream begins
    sums: Float[np.ndarray, "place pos"]  # length of the stream, as the sum stands
    read: Float[np.ndarray, "place pos"]  # length of what the next sub-layer is given; in pre-norm the same
    added: Float[np.ndarray, "sublayer pos"]  # length of what each sub-layer added; one fewer than places

    @property
    def shares(self) -> Float[np.ndarray, "sublayer pos"]:
        """Length of what was added, as a part of the length of what it was added to."""
        return self.added / np.maximum(self.read[:-1], np.finfo(np.float32).tiny)

    @property
    def n_bytes(self) -> int:
        """Memory that it takes, in bytes."""
        return self.sums.nbytes + self.read.nbytes + self.added.nbytes


def stream_sites(config: ModelConfig, stack: str) -> StreamSites:
    """Return the places of the stream of "encoder" or "decoder"."""
    n_layers = config.n_encoder_layers if stack == "encoder" else config.n_decoder_layers
    has_cross = stack == "decoder" and config.has_encoder
    first = f"{stack}.blocks.0.hook_resid_pre"
    places = [StreamPoint(name=f"{stack}.embed", sum=first, read=first)]
    sublayers = [("self_attn", "ln1", "hook_resid_mid", "self_attn.hook_attn_out")]
    if has_cross:
        sublayers.append(("cross_attn", "ln_cross", "hook_resid_mid_cross", "cross_attn.hook_attn_out"))
    if config.d_ff:
        sublayers.append(("mlp", "ln2", "hook_resid_post", "hook_mlp_out"))
    for layer in range(n_layers):
        block = f"{stack}.blocks.{layer}"
        for part, norm, total, added in sublayers:
            is_last = part == sublayers[-1][0]
            sum_site = f"{block}.{'hook_resid_post' if is_last else total}"
            read = f"{block}.{norm}.hook_normalized" if config.norm_position == "post" else sum_site
            places.append(
                StreamPoint(name=f"{stack}.{layer}.{part}", sum=sum_site, read=read, added=f"{block}.{added}")
            )
    return StreamSites(places=tuple(places))


def stream_of(norms: Mapping[str, Float[np.ndarray, " pos"]], sites: StreamSites) -> Stream:
    """Return a stack's stream.

    Args:
        norms: the length of each position's vector at every hook point of `sites`.
        sites: of the stack.
    """
    places = sites.places
    return Stream(
        names=tuple(place.name for place in places),
        sums=np.stack([norms[place.sum] for place in places]),
        read=np.stack([norms[place.read] for place in places]),
        added=np.stack([norms[place.added] for place in places[1:]]),
    )
