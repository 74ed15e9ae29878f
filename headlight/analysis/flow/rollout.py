"""Attention across layers: the input tokens that the final state of a position may depend on.

A head attends to states that are themselves mixtures of tokens. Two ways to follow this down to the input: *rollout*
multiplies the attention matrices of the layers; *flow* treats their weights as capacities, and computes the maximum
flow from each token.

Both go by attention alone: W is the mean over a layer's heads, and each layer is A = r I + (1 - r) W, with r = 0.5 for
the residual stream. In an encoder-decoder each decoder layer mixes twice, first r : 1 - r of itself and self-attention,
then r : 1 - r of that and cross-attention, whose keys are the encoder's final states.

Source: Abnar and Zuidema 2020, "Quantifying attention flow in transformers".
Differs: they follow one stack; the way from decoder to source through cross-attention is put together here from the
    same two rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.sparse import csr_array  # type: ignore[import-untyped]
from scipy.sparse.csgraph import maximum_flow  # type: ignore[import-untyped]

from transformer_core.model.masks import causal_mask

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun

RESIDUAL = 0.5  # of a position's new state, the share that it had before; Abnar and Zuidema 2020, eq. (1)

Method = Literal["rollout", "flow"]
Where = Literal["source", "target"]

MOST_TOKENS: Mapping[str, int] = {"rollout": 512, "flow": 96}  # flow is computed for every pair of tokens

_UNITS = 1 << 30  # of flow in a weight of 1: scipy counts in whole numbers below 2^31


class FromBothSides(NamedTuple):
    """Of positions of a decoder, what came from the source and what from the target."""

    source: Float[np.ndarray, "*query src"]
    target: Float[np.ndarray, "*query key"]


def rollout(
    patterns: Float[np.ndarray, "layer *head pos pos"], *, residual: float = RESIDUAL
) -> Float[np.ndarray, "layer pos pos"]:
    """Return, after each layer, how much of each position's state has come from each input token.

    R_0 = A_0, R_l = A_l R_(l-1), where A_l = r I + (1 - r) W_l.

    Args:
        patterns: [layer, query, key], or [layer, head, query, key], of which the mean over heads is taken.
        residual: r, in [0, 1].

    Returns:
        [layer, query, key]: each row over `key` sums to 1 where those of attention do.

    Source: Abnar and Zuidema 2020, sec. 3.1, eq. (1) and (2).
    """
    states: list[np.ndarray] = []
    for layer in _mixed(patterns, residual):
        states.append(layer @ states[-1] if states else layer)
    return np.stack(states)


def rollout_to_source(
    encoder: Float[np.ndarray, "encoder_layer *head src src"],
    decoder: Float[np.ndarray, "layer *head tgt tgt"],
    cross: Float[np.ndarray, "layer *head tgt src"],
    *,
    residual: float = RESIDUAL,
) -> FromBothSides:
    """Return, after each decoder layer, how much of each position's state has come from each token of both sides.

    With E the encoder's rollout, and T = I, S = 0 before the first layer, each layer is: T = A T, S = A S, where
    A = r I + (1 - r) W of its self-attention; then T = r T, S = r S + (1 - r) C E, where C is its cross-attention.

    Args:
        encoder: its self-attention; this and the others with or without the axis of heads.
        decoder: its self-attention.
        cross: cross-attention of the same layers.
        residual: r, in [0, 1].

    Returns:
        `source` [layer, query, src] and `target` [layer, query, key]; a row of both together sums to 1 where those of
        attention do.
    """
    encoded = rollout(encoder, residual=residual)[-1]
    target = np.eye(decoder.shape[-1], dtype=encoded.dtype)
    source = np.zeros((cross.shape[-2], cross.shape[-1]), dtype=encoded.dtype)
    by_layer = []
    for mixing, looking in zip(_mixed(decoder, residual), _mean_head(cross), strict=True):
        target = residual * (mixing @ target)
        source = residual * (mixing @ source) + (1 - residual) * (looking @ encoded)
        by_layer.append(FromBothSides(source, target))
    return FromBothSides(*(np.stack(side) for side in zip(*by_layer, strict=True)))


def flow(
    patterns: Float[np.ndarray, "layer *head pos pos"], query: int, *, residual: float = RESIDUAL
) -> Float[np.ndarray, " pos"]:
    """Return how much could flow from each input token alone to one position of the last layer.

    That is the maximum flow in the graph whose nodes are the positions before and after each layer, and whose edges
    are as wide as A = r I + (1 - r) W; one maximum flow an input token, which of a hundred tokens takes a second.

    Args:
        patterns: [layer, query, key], or [layer, head, query, key], of which the mean over heads is taken; leave out
            upper layers to ask a lower one.
        query: the position, counted from 0.
        residual: r, in [0, 1].

    Returns:
        [key]: each in [0, 1], and at least what rollout gives; they do not sum to 1. Widths are rounded to whole
        multiples of 2^-30, so that a flow is off by at most 2^-31 for each edge where it is narrowest.

    Source: Abnar and Zuidema 2020, sec. 3.2.
    """
    pipes = _Pipes()
    inputs = pipes.stack(_mixed(patterns, residual), top := pipes.nodes(patterns.shape[-1]))
    return pipes.flows(int(top[query]), inputs)


def flow_to_source(
    encoder: Float[np.ndarray, "encoder_layer *head src src"],
    decoder: Float[np.ndarray, "layer *head tgt tgt"],
    cross: Float[np.ndarray, "layer *head tgt src"],
    query: int,
    *,
    residual: float = RESIDUAL,
) -> FromBothSides:
    """Return how much could flow from each token of either side alone to one position of the last decoder layer.

    The graph is that of `flow` for both stacks. Between them, in each decoder layer, a position takes r from what its
    self-attention made, and (1 - r) C from the encoder's final states.

    Args:
        encoder: its self-attention; this and the others with or without the axis of heads.
        decoder: its self-attention.
        cross: cross-attention of the same layers.
        query: the position of the target, counted from 0.
        residual: r, in [0, 1].

    Returns:
        `source` [src] and `target` [key], rounded as `flow` says; each at least what `rollout_to_source` gives.
    """
    pipes = _Pipes()
    n_targets, n_sources = cross.shape[-2:]
    encoded = pipes.nodes(n_sources)
    top = states = pipes.nodes(n_targets)
    for mixing, looking in zip(_mixed(decoder, residual)[::-1], _mean_head(cross)[::-1], strict=True):
        pipes.lay(states, encoded, (1 - residual) * looking)
        pipes.lay(states, before_cross := pipes.nodes(n_targets), residual * np.eye(n_targets))
        states = pipes.stack([mixing], before_cross)
    sources = pipes.stack(_mixed(encoder, residual), encoded)
    return FromBothSides(pipes.flows(int(top[query]), sources), pipes.flows(int(top[query]), states))


class _Pipes:
    """A graph of states, laid from the last layer down; each node is a number."""

    def __init__(self) -> None:
        self._n_nodes = 0
        self._laid: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # from, to, units of flow

    def nodes(self, n: int) -> np.ndarray:
        """Return some new nodes."""
        self._n_nodes += n
        return np.arange(self._n_nodes - n, self._n_nodes)

    def lay(self, upper: np.ndarray, lower: np.ndarray, widths: Float[np.ndarray, "upper lower"]) -> None:
        """Join each upper node with each lower one by an edge, where it has a width."""
        units = np.rint(widths.astype(np.float64) * _UNITS).astype(np.int32)
        rows, columns = units.nonzero()
        self._laid.append((upper[rows], lower[columns], units[rows, columns]))

    def stack(self, layers: Sequence[np.ndarray] | np.ndarray, top: np.ndarray) -> np.ndarray:
        """Lay the layers of a stack, given from the first to the last, below its final states; return its inputs."""
        for layer in layers[::-1]:
            self.lay(top, below := self.nodes(len(top)), layer)
            top = below
        return top

    def flows(self, start: int, ends: np.ndarray) -> Float[np.ndarray, " end"]:
        """Return the maximum flow from one node to each of some others alone."""
        rows, columns, widths = (np.concatenate(parts) for parts in zip(*self._laid, strict=True))
        graph = csr_array((widths, (rows, columns)), shape=(self._n_nodes, self._n_nodes), dtype=np.int32)
        units = np.array([maximum_flow(graph, start, int(end)).flow_value for end in ends])
        return np.minimum(units / _UNITS, 1.0)  # rounded up in every edge, a little more than 1 could leave a node


def _mean_head(patterns: Float[np.ndarray, "layer *head query key"]) -> Float[np.ndarray, "layer query key"]:
    """Return the mean over heads, where there is an axis of them."""
    return patterns if patterns.ndim == 3 else patterns.mean(axis=1)


def _mixed(patterns: Float[np.ndarray, "layer *head pos pos"], residual: float) -> Float[np.ndarray, "layer pos pos"]:
    """Return A = r I + (1 - r) W of each layer."""
    eye = np.eye(patterns.shape[-1], dtype=patterns.dtype)
    return residual * eye + (1 - residual) * _mean_head(patterns)


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """The final states of one side, and how much they may depend on the tokens of a side."""

    of: Where
    side: Where
    values: Float[np.ndarray, "query key"]  # in [0, 1]
    mask: Bool[np.ndarray, "query key"]  # True: there is a way from this token


def follow(model_run: "ModelRun", method: Method) -> tuple[Part, ...]:
    """Return how much final states may depend on each input token, by the patterns of all layers.

    Of the encoder, of the decoder, and of the decoder from the source: each that the model has.

    Args:
        model_run: of a short text.
        method: "rollout" multiplies the layers, "flow" computes maximum flows.

    Source: Abnar and Zuidema 2020, "Quantifying attention flow in transformers".
    """
    means = {
        name: attention_maps.mean_by_layer.astype(np.float64)
        for name, attention_maps in model_run.attention_maps.items()
    }
    parts = []
    if "encoder" in means:
        parts.append(_of_one_stack(means["encoder"], "source", method))
    if "cross" in means:
        stacks = means["encoder"], means["decoder"], means["cross"]
        if method == "rollout":
            by_layer = rollout_to_source(*stacks)
            source, target = by_layer.source[-1], by_layer.target[-1]
        else:
            rows = [flow_to_source(*stacks, query) for query in range(stacks[1].shape[1])]
            source, target = np.stack([row.source for row in rows]), np.stack([row.target for row in rows])
        parts.append(_part("target", "source", source, is_causal=False))
        parts.append(_part("target", "target", target, is_causal=True))
    elif "decoder" in means:
        parts.append(_of_one_stack(means["decoder"], "target", method))
    return tuple(parts)


def _of_one_stack(mean: Float[np.ndarray, "layer query key"], side: Where, method: Method) -> Part:
    if method == "rollout":
        values = rollout(mean)[-1]
    else:
        values = np.stack([flow(mean, query) for query in range(mean.shape[1])])
    return _part(side, side, values, is_causal=side == "target")


def _part(of: Where, side: Where, values: Float[np.ndarray, "query key"], *, is_causal: bool) -> Part:
    mask = causal_mask(len(values)).numpy() if is_causal else np.ones(values.shape, dtype=bool)
    return Part(of=of, side=side, values=values.clip(0, 1), mask=mask)
