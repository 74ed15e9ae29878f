"""What writes into a stack's residual stream, and where that can be watched."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

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
    """Return the hook points of what a stack's stream begins with, by kind."""
    sites: dict[Literal["token", "position", "segment"], str] = {"token": f"{stack}.hook_embed"}
    if has_added_positions(config):
        sites["position"] = f"{stack}.hook_pos_embed"
    if config.n_segments:
        sites["segment"] = f"{stack}.hook_segment_embed"
    return sites


def has_added_positions(config: ModelConfig) -> bool:
    """Whether positions are vectors that are added to the embeddings."""
    return config.positions == "learned" or config.positions.startswith("sinusoidal")
