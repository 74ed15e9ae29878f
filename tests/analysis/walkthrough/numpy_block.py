"""The whole block in NumPy, from what the attention reads: every quantity of a walk once more, as an oracle."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tests.analysis.walkthrough.numpy_formulas import (
    ACTIVATIONS,
    Weights,
    alibi_slope,
    allowed_cells,
    relative_buckets,
    softmax,
    turn,
)
from transformer_core.analysis.walkthrough.outline import Origin, Outline

Matrix = Float[np.ndarray, "_ _"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Given:
    """What a walk starts from."""

    queries: tuple[int, ...]  # tokens
    keys: tuple[int, ...]  # tokens; the same in self-attention
    source: tuple[int, ...]  # tokens of the encoder, where the block has a cross-attention
    x: Matrix  # what the model's attention read, its rows the queries
    memory: Matrix | None  # the encoder's output, where the block has a cross-attention
    x_parts: Mapping[str, Matrix]  # what x is the sum of, by site
    memory_parts: Mapping[str, Matrix]  # likewise


@dataclass(frozen=True, kw_only=True, eq=False)
class AllHeads:
    """One attention: what there is of the walk's head by name, and what is needed of all heads."""

    values: Mapping[str, Matrix]
    pattern: Float[np.ndarray, "head query key"]
    bias: Float[np.ndarray, "head query key"] | None  # what the distance adds; None: there is no such bias
    v: Float[np.ndarray, "kv_head key d_head"]
    concat: Float[np.ndarray, "query width"]
    out: Float[np.ndarray, "query d_model"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Recomputed:
    """Every quantity by name, and the attentions that they came from."""

    values: Mapping[str, Matrix]
    attention: AllHeads
    cross: AllHeads | None  # the one that comes next in the block


def recompute(outline: Outline, weights: Weights, given: Given) -> Recomputed:
    """Return the quantities of a walk, computed from x, the memory and the weights, in float64.

    x itself is computed from what it is the sum of, and so is the memory.
    """
    config = outline.config
    x = given.x.astype(np.float64)
    memory = None if given.memory is None else given.memory.astype(np.float64)
    found: dict[str, Matrix] = {"x": _origin(outline, weights, outline.origin_of_x(), given.x_parts)}
    read = x
    if outline.is_pre_norm:
        read = found["x_normalized"] = weights.norm(outline.norm, x, config)
    looked_at = read
    if outline.is_cross:
        assert memory is not None, "cross-attention looks at the encoder's output"
        found["memory"] = _origin(outline, weights, outline.origin_of_memory(), given.memory_parts)
        looked_at = memory
    heads = _attend(outline, weights, read, looked_at, given.keys)
    found |= {**heads.values, "concat": heads.concat, "attn_out": heads.out}
    cross, stream = None, x + heads.out
    found["resid_mid"] = stream
    if not outline.is_pre_norm:
        stream = found["normalized"] = weights.norm(outline.norm, stream, config)
    if outline.is_followed_by_cross:
        assert memory is not None, "cross-attention looks at the encoder's output"
        cross, stream = _cross(outline, weights, stream, memory, given.source, found)
    if config.d_ff:
        _feed_forward(outline, weights, stream, found, read=x if config.parallel_residual else stream)
    return Recomputed(values={name: found[name] for name in outline.sites()}, attention=heads, cross=cross)


def _origin(outline: Outline, weights: Weights, origin: Origin, parts: Mapping[str, Matrix]) -> Matrix:
    """Return a sum of what was captured, normalized where the model does so."""
    summed = np.sum([parts[site].astype(np.float64) for site in origin.sites], axis=0)
    return summed if origin.norm is None else weights.norm(origin.norm, summed, outline.config)


def _attend(outline: Outline, weights: Weights, read: Matrix, looked_at: Matrix, keys: tuple[int, ...]) -> AllHeads:
    """Return one attention, stage by stage."""
    config, module = outline.config, outline.module
    d_head, n_heads, n_shared = config.d_head, config.n_heads, config.n_kv_heads

    def project(name: str, x: Matrix, n: int) -> Float[np.ndarray, "head row d_head"]:
        return weights.linear(f"{module}.{name}", x).reshape(len(x), n, d_head).transpose(1, 0, 2)

    values = {"q": project("q", read, n_heads), "k": project("k", looked_at, n_shared)}
    values["v"] = project("v", looked_at, n_shared)
    for name in ("q", "k"):
        values[f"{name}_projected"] = values[name]
        if config.qk_norm:
            values[name] = weights.norm(f"{module}.{name}_norm", values[name], config)
            values[f"{name}_normalized"] = values[name]
        if outline.is_rotated:
            values[name] = turn(values[name], config)
    k, v = (np.repeat(values[name], n_heads // n_shared, axis=0) for name in ("k", "v"))
    scores = values["product"] = np.einsum("hqd,hkd->hqk", values["q"], k)
    if config.scale_scores:
        scores = values["scaled"] = scores / np.sqrt(d_head)
    bias = distance_bias(outline, weights, len(read), len(looked_at)) if outline.has_bias else None
    if bias is not None:
        values["bias"] = bias
        scores = values["biased"] = scores + bias
    allowed = allowed_cells(config, keys, len(read), is_causal=outline.is_causal, is_cross=outline.is_cross)
    values["attn_scores"] = np.where(allowed, scores, -np.inf)
    pattern = values["pattern"] = softmax(values["attn_scores"])
    z = values["z"] = np.einsum("hqk,hkd->hqd", pattern, v)
    concat = z.transpose(1, 0, 2).reshape(len(read), n_heads * d_head)
    of_head = {
        name: each[outline.key_value_head if name.startswith(("k", "v")) else outline.head].copy()
        for name, each in values.items()
    }
    return AllHeads(
        values=of_head | {"mask": allowed.astype(np.float64)},
        pattern=pattern,
        bias=bias,
        v=values["v"],
        concat=concat,
        out=weights.linear(f"{module}.out", concat),
    )


def distance_bias(
    outline: Outline, weights: Weights, n_queries: int, n_keys: int
) -> Float[np.ndarray, "head query key"]:
    """Return what the distance adds to each head's scores."""
    config = outline.config
    if config.positions == "alibi":
        distance = np.abs(np.arange(n_keys)[None, :] - np.arange(n_queries)[:, None])
        slopes = np.array([alibi_slope(head, config.n_heads) for head in range(config.n_heads)])
        return -slopes[:, None, None] * distance
    bucket = relative_buckets(config, n_queries, n_keys, is_causal=outline.is_causal)
    return weights[f"{outline.stack}.position_bias.weight"][bucket].transpose(2, 0, 1)


def _cross(
    outline: Outline,
    weights: Weights,
    stream: Matrix,
    memory: Matrix,
    source: tuple[int, ...],
    found: dict[str, Matrix],
) -> tuple[AllHeads, Matrix]:
    """Add what the cross-attention that comes next does; return its heads, and what goes on from there."""
    config = outline.config
    there = Outline.of(config, attention="cross", layer=outline.layer, head=outline.head)
    read = stream
    if outline.is_pre_norm:
        read = found["cross_x"] = weights.norm(there.norm, stream, config)
    heads = _attend(there, weights, read, memory, source)
    found["cross_concat"], found["cross_out"] = heads.concat, heads.out
    stream = found["resid_mid_cross"] = stream + heads.out
    if not outline.is_pre_norm:
        stream = found["normalized_cross"] = weights.norm(there.norm, stream, config)
    return heads, stream


def _feed_forward(
    outline: Outline, weights: Weights, stream: Matrix, found: dict[str, Matrix], *, read: Matrix
) -> None:
    """Add what the feed-forward network makes of what it reads."""
    config, module = outline.config, f"{outline.block}.mlp"
    if outline.is_pre_norm:
        read = found["normalized"] = weights.norm(outline.next_norm, read, config)
    found["mlp_pre"] = weights.linear(f"{module}.{'gate' if config.gated else 'up'}", read)
    post = ACTIVATIONS[config.activation](found["mlp_pre"])
    if config.gated:
        found["mlp_linear"] = weights.linear(f"{module}.up", read)
        post = post * found["mlp_linear"]
    found["mlp_post"] = post
    found["mlp_out"] = weights.linear(f"{module}.down", post)
    found["resid_post"] = stream + found["mlp_out"]
    if not outline.is_pre_norm:
        found["out"] = weights.norm(outline.next_norm, found["resid_post"], config)
