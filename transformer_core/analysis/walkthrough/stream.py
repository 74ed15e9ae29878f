"""What is written into a stack's residual stream up to some place, and which normalizations it passes on the way."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from transformer_core.analysis.walkthrough.sources import SourceName
from transformer_core.config import ModelConfig

Until = Literal["self", "cross", "end"]
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
    steps = list(_embedded(config, stack))
    has_cross = stack == "decoder" and config.has_encoder
    n_layers = config.n_encoder_layers if stack == "encoder" else config.n_decoder_layers
    is_pre_norm = config.norm_position == "pre"
    parts = ["self", *(["cross"] if has_cross else []), *(["mlp"] if config.d_ff else [])]
    after = dict(zip(parts, ("hook_resid_mid", "hook_resid_mid_cross"), strict=False)) | {parts[-1]: "hook_resid_post"}
    norms = {"self": "ln1", "cross": "ln_cross", "mlp": "ln2"}
    for i in range(n_layers):
        block, before = f"{stack}.blocks.{i}", "hook_resid_pre"
        for part in parts:
            if i == layer and part == until:
                if config.norm == "none" or (not config.first_norm and (i, part) == (0, "self")):
                    return tuple(steps)
                last = Normed(module=f"{block}.{norms[part]}", sites=(f"{block}.{before}",))
                return (*steps, last) if is_pre_norm else tuple(steps)
            steps += _written_by(config, stack, i, part)
            before = after[part]
            if not is_pre_norm:
                steps.append(Normed(module=f"{block}.{norms[part]}", sites=(f"{block}.{before}",)))
    if config.has_final_norm and config.norm != "none":
        block = f"{stack}.blocks.{n_layers - 1}"
        read = "hook_resid_post" if is_pre_norm else f"{norms[parts[-1]]}.hook_normalized"
        steps.append(Normed(module=f"{stack}.ln_final", sites=(f"{block}.{read}",)))
    return tuple(steps)


def _embedded(config: ModelConfig, stack: str) -> Iterator[Written | Normed]:
    """Yield what the first block reads."""
    sites = {"token": f"{stack}.hook_embed"}
    if config.positions.startswith(("sinusoidal", "learned")):
        sites["position"] = f"{stack}.hook_pos_embed"
    if config.n_segments:
        sites["segment"] = f"{stack}.hook_segment_embed"
    yield Written(source=SourceName(kind="token"), site=sites["token"])
    if "position" in sites:
        yield Written(source=SourceName(kind="position"), site=sites["position"])
    if "segment" in sites:
        yield Written(source=SourceName(kind="segment"), site=sites["segment"])
    if config.embedding_norm:
        yield Normed(module=f"{stack}.embedding_norm", sites=tuple(sites.values()))


def _written_by(config: ModelConfig, stack: str, layer: int, part: str) -> Iterator[Written]:
    """Yield what a sub-layer of a block adds."""
    block = f"{stack}.blocks.{layer}"
    if part == "mlp":
        yield Written(source=SourceName(kind="feed_forward", layer=layer), site=f"{block}.hook_mlp_out")
        return
    module, attention = f"{block}.{part}_attn", "cross" if part == "cross" else stack
    for head in range(config.n_heads):
        source = SourceName(kind="head", layer=layer, head=head, attention=attention)
        yield Written(source=source, site=f"{module}.hook_z", module=f"{module}.out")
    if config.attention_bias == "all":
        yield Written(source=SourceName(kind="bias"), site=None, module=f"{module}.out")
