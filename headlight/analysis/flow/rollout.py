"""Attention across layers: the input tokens that the final state of a position may depend on.

A head attends to states that are themselves mixtures of tokens. Two ways to follow this down to the input: *rollout*
multiplies the attention matrices of the layers; *flow* treats their weights as capacities, and computes the maximum
flow from each token.

Both use attention alone: W is the mean over a layer's heads, and each layer is A = r I + (1 - r) W, with r = 0.5
for the residual stream. In an encoder-decoder each decoder layer mixes twice, first r : 1 - r of itself and
self-attention, then r : 1 - r of that and cross-attention, whose keys are the encoder's final states.

Source: Abnar and Zuidema 2020, "Quantifying attention flow in transformers".
Differs: they follow one stack; the way from decoder to source through cross-attention is put together here from the
    same two rules.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool, Float
from scipy.sparse import lil_array  # type: ignore[import-untyped]
from scipy.sparse.csgraph import maximum_flow  # type: ignore[import-untyped]

from transformer_core.model.masks import causal_mask

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun

RESIDUAL = 0.5  # of a position's new state, the share that it had before; Abnar and Zuidema 2020, eq. (1)

Method = Literal["rollout", "flow"]
Where = Literal["source", "target"]

MOST_TOKENS: Mapping[str, int] = {"rollout": 512, "flow": 96}  # flow is computed for every pair of tokens

_UNITS = 1 << 30  # capacity of an edge of width 1: scipy uses integers below 2^31


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """How much the final states of one side may depend on the input tokens of the same or the other side."""

    of: Where
    side: Where
    values: Float[np.ndarray, "query key"]  # in [0, 1]
    mask: Bool[np.ndarray, "query key"]  # True: there is a path from this token


def follow(model_run: "ModelRun", method: Method) -> tuple[Part, ...]:
    """Return how much final states may depend on each input token, given the patterns of all layers.

    The parts are encoder, decoder, and decoder from source, as far as the model has them.

    Args:
        model_run: of a short text.
        method: as for `across_layers`.
    """
    means = {name: maps.mean_by_layer.astype(np.float64) for name, maps in model_run.attention_maps.items()}
    sides: dict[str, Where] = {"encoder": "source", "decoder": "target"}
    parts = []
    for stack, of in sides.items():
        if stack not in means:
            continue
        for side, values in across_layers(means, stack, method).items():
            is_causal = of == side == "target"
            mask = causal_mask(len(values)).numpy() if is_causal else np.ones(values.shape, dtype=bool)
            parts.append(Part(of=of, side=side, values=values.clip(0, 1), mask=mask))
    return tuple(parts)


def across_layers(
    patterns: Mapping[str, Float[np.ndarray, "layer _ _"]], stack: str, method: Method, *, residual: float = RESIDUAL
) -> dict[Where, Float[np.ndarray, "query _"]]:
    """Return how much each final state of a stack may depend on each input token.

    Both methods go through the graph whose nodes are the positions before and after each layer, and in a decoder with
    cross-attention also those between its two attentions; its edges are as wide as A. *Rollout* is the sum over all
    paths of the product of their widths, *flow* the maximum flow from each input token alone.

    Args:
        patterns: [layer, query, key], the mean over the heads of "encoder", "decoder" and "cross", as far as they are
            there; leave out upper layers for the states of a lower one.
        stack: "encoder" or "decoder".
        method: "rollout" or "flow"; for a hundred tokens, flow takes some seconds.
        residual: r, in [0, 1].

    Returns:
        [query, token] for each side whose tokens the stack reads. A row of rollout sums to 1 over both sides where
        those of attention do. Flows are in [0, 1], and at least what rollout gives; they do not sum to 1. Their widths
        are rounded to multiples of 2^-30, so that a flow is off by at most 2^-31 for each edge where it is narrowest.

    Source: Abnar and Zuidema 2020, sec. 3.1, eq. (1) and (2), and sec. 3.2.
    """
    graph, n = _Graph(residual), patterns[stack].shape[2]
    top = graph.nodes(n)
    inputs: dict[Where, range]
    if stack == "encoder":
        inputs = {"source": graph.stack(patterns["encoder"], top)}
    elif "cross" not in patterns:
        inputs = {"target": graph.stack(patterns["decoder"], top)}
    else:
        states, encoded = top, graph.nodes(patterns["cross"].shape[2])
        for own, cross in zip(patterns["decoder"][::-1], patterns["cross"][::-1], strict=True):
            graph.lay(states, encoded, (1 - residual) * cross)
            graph.lay(states, before_cross := graph.nodes(n), residual * np.eye(n))
            states = graph.stack(own[None], before_cross)
        inputs = {"source": graph.stack(patterns["encoder"], encoded), "target": states}
    if method == "rollout":
        shares = graph.products(top)
        return {side: shares[:, nodes] for side, nodes in inputs.items()}
    return {side: graph.flows(top, nodes) for side, nodes in inputs.items()}


class _Graph:
    """A graph of states, built from the last layer down; nodes are integers."""

    def __init__(self, residual: float) -> None:
        self._residual, self._n_nodes = residual, 0
        self._laid: list[tuple[range, range, np.ndarray]] = []  # from, to, widths

    def nodes(self, n: int) -> range:
        """Return some new nodes."""
        self._n_nodes += n
        return range(self._n_nodes - n, self._n_nodes)

    def lay(self, upper: range, lower: range, widths: Float[np.ndarray, "upper lower"]) -> None:
        """Add an edge from each upper node to each lower one; all edges into the upper nodes must exist already."""
        self._laid.append((upper, lower, widths))

    def stack(self, patterns: Float[np.ndarray, "layer query key"], top: range) -> range:
        """Add the layers A = r I + (1 - r) W of a stack below its final states; return its input nodes."""
        for pattern in patterns[::-1]:
            widths = self._residual * np.eye(len(top)) + (1 - self._residual) * pattern
            self.lay(top, below := self.nodes(len(top)), widths)
            top = below
        return top

    def products(self, top: range) -> Float[np.ndarray, "top node"]:
        """Return, for each top node and each node, the sum over all paths between them of the product of widths."""
        shares = np.eye(len(top), self._n_nodes, top.start)
        for upper, lower, widths in self._laid:
            shares[:, lower.start : lower.stop] += shares[:, upper.start : upper.stop] @ widths
        return shares

    def flows(self, top: range, ends: range) -> Float[np.ndarray, "top end"]:
        """Return the maximum flow from each top node to each end node, computed for one pair at a time."""
        graph = lil_array((self._n_nodes, self._n_nodes), dtype=np.int32)
        for upper, lower, widths in self._laid:
            graph[upper.start : upper.stop, lower.start : lower.stop] = np.rint(widths * _UNITS).astype(np.int32)
        graph = graph.tocsr()
        flows = np.array([[maximum_flow(graph, start, end).flow_value for end in ends] for start in top])
        return np.minimum(flows / _UNITS, 1.0)  # edges that were rounded up may add up to slightly more than 1
