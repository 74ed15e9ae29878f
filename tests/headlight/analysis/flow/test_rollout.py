"""Rollout and flow: by pass on small patterns, and of model runs against the activations of a forward pass."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import linprog  # type: ignore[import-untyped]

import transformer_core as tc
from headlight.analysis.flow.rollout import Method, Part, flow, flow_to_source, follow, rollout, rollout_to_source
from headlight.analysis.trace.attentions import ATTENTIONS, attentions_of
from headlight.analysis.trace.model_run import ModelRun, run_text
from tests.headlight.analysis.conftest import TEXT_OF
from transformer_core.config import Architecture

Node = tuple[str, int, int]  # of which side, below which layer, at which position
Graph = dict[Node, dict[Node, float]]

N_SRC, N_TGT = 3, 4


def attention(*shape: int, seed: int = 0) -> np.ndarray:
    """Rows that sum to 1, some of them sharp."""
    weights = np.random.default_rng(seed).random(shape) ** 5
    return weights / weights.sum(axis=-1, keepdims=True)


ENCODER = attention(2, N_SRC, N_SRC, seed=1)
CROSS = attention(2, N_TGT, N_SRC, seed=2)
_UNMASKED = attention(2, N_TGT, N_TGT, seed=3) * np.tri(N_TGT)
DECODER = _UNMASKED / _UNMASKED.sum(axis=-1, keepdims=True)


def stack_graph(side: str, layers: np.ndarray, residual: float) -> Graph:
    graph: Graph = {}
    for layer, query, key in np.ndindex(layers.shape):
        own = residual if query == key else 0.0
        to = graph.setdefault((side, layer + 1, query), {})
        to[side, layer, key] = own + (1 - residual) * float(layers[layer, query, key])
    return graph


def two_stack_graph(residual: float) -> Graph:
    """Below each state of the decoder one before cross-attention, "mid"; below the lowest, the target's tokens."""
    graph = stack_graph("src", ENCODER, residual)
    for layer, query in np.ndindex(len(DECODER), N_TGT):
        top, mid = ("tgt", layer + 1, query), ("mid", layer + 1, query)
        graph[top] = {("src", len(ENCODER), k): (1 - residual) * float(CROSS[layer, query, k]) for k in range(N_SRC)}
        graph[top][mid] = residual
        graph[mid] = {("tgt", layer, k): (1 - residual) * float(DECODER[layer, query, k]) for k in range(N_TGT)}
        graph[mid]["tgt", layer, query] += residual
    return graph


def sum_over_paths(graph: Graph, node: Node) -> dict[Node, float]:
    """Of each input, the products of the weights along all paths from it, added up one path at a time."""
    if node not in graph:
        return {node: 1.0}
    shares: dict[Node, float] = {}
    for below, weight in graph[node].items():
        for source, product in sum_over_paths(graph, below).items():
            shares[source] = shares.get(source, 0.0) + weight * product
    return shares


def widest(graph: Graph, start: Node, end: Node) -> float:
    """The maximum flow, as a linear programme: a number for each edge, what comes into a node goes out of it."""
    edges = [(above, below, width) for above, to in graph.items() for below, width in to.items()]
    nodes = [node for node in graph if node != start]
    kept = [[(above == node) - (below == node) for above, below, _ in edges] for node in nodes]
    others = {below for _, below, _ in edges if below not in graph and below != end}
    limits = [(0, 0 if below in others else width) for _, below, width in edges]
    gain = [-float(above == start) for above, _, _ in edges]
    optimum: Any = linprog(gain, A_eq=kept, b_eq=np.zeros(len(nodes)), bounds=limits)
    return -float(optimum.fun)


@pytest.mark.parametrize("residual", [0.5, 0.2, 0.0, 1.0])
def test_rollout_is_the_sum_over_all_paths(residual: float):
    layers = attention(3, 4, 4)
    actual = rollout(layers, residual=residual)
    assert actual.shape == layers.shape
    graph = stack_graph("a", layers, residual)
    for layer, query, key in np.ndindex(actual.shape):
        paths = sum_over_paths(graph, ("a", layer + 1, query))
        assert actual[layer, query, key] == pytest.approx(paths.get(("a", 0, key), 0.0), abs=1e-12)
    np.testing.assert_allclose(actual.sum(axis=-1), 1)


def test_heads_count_alike():
    heads = attention(2, 3, 4, 4).astype(np.float32)
    mean = sum(heads[:, head] for head in range(3)) / 3
    np.testing.assert_allclose(rollout(heads), rollout(mean), rtol=1e-5)
    assert rollout(heads).dtype == np.float32
    np.testing.assert_allclose(flow(heads, 1), flow(mean, 1), atol=1e-6)
    sides = [attention(2, 3, n, m) for n, m in ((N_SRC, N_SRC), (N_TGT, N_TGT), (N_TGT, N_SRC))]
    means = [side.mean(axis=1) for side in sides]
    for one, other in zip(rollout_to_source(*sides), rollout_to_source(*means), strict=True):
        np.testing.assert_allclose(one, other)
    for one, other in zip(flow_to_source(*sides, 2), flow_to_source(*means, 2), strict=True):
        np.testing.assert_allclose(one, other)


def test_a_query_that_may_look_at_nothing_keeps_what_is_its_own():
    layers = np.stack([np.zeros((2, 2)), np.eye(2)])
    np.testing.assert_allclose(rollout(layers), [np.eye(2) / 2] * 2)
    np.testing.assert_allclose(flow(layers, 0), [0.5, 0])


@pytest.mark.parametrize("residual", [0.5, 0.3])
def test_both_sides_are_the_sum_over_all_paths(residual: float):
    actual = rollout_to_source(ENCODER, DECODER, CROSS, residual=residual)
    assert actual.source.shape == (2, N_TGT, N_SRC) and actual.target.shape == (2, N_TGT, N_TGT)
    graph = two_stack_graph(residual)
    for layer, query in np.ndindex(2, N_TGT):
        paths = sum_over_paths(graph, ("tgt", layer + 1, query))
        assert actual.source[layer, query].tolist() == pytest.approx(
            [paths.get(("src", 0, k), 0.0) for k in range(N_SRC)]
        )
        assert actual.target[layer, query].tolist() == pytest.approx(
            [paths.get(("tgt", 0, k), 0.0) for k in range(N_TGT)]
        )
    np.testing.assert_allclose(actual.source.sum(axis=-1) + actual.target.sum(axis=-1), 1)


def test_no_more_flows_than_all():
    to_first, alike = (
        np.eye(6)[np.zeros(6, int)],
        np.full((6, 6), 1 / 6),
    )  # six times 2^-30, rounded up, are more than 1
    assert flow(np.stack([to_first, alike]), 0, residual=0.0).tolist() == [1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("residual", [0.5, 0.1])
@pytest.mark.parametrize("layers", [attention(3, 4, 4), DECODER], ids=["full", "causal"])
def test_flow_is_the_best_of_a_linear_programme(layers: np.ndarray, residual: float):
    graph = stack_graph("a", layers, residual)
    actual = flow(layers, 3, residual=residual)
    expected = [widest(graph, ("a", len(layers), 3), ("a", 0, key)) for key in range(4)]
    assert actual.tolist() == pytest.approx(expected, abs=1e-7)
    assert (actual >= rollout(layers, residual=residual)[-1, 3] - 1e-7).all() and (actual <= 1).all()


def test_flow_to_both_sides_is_the_best_of_a_linear_programme():
    graph = two_stack_graph(0.5)
    shares = rollout_to_source(ENCODER, DECODER, CROSS)
    for query in (0, N_TGT - 1):
        actual = flow_to_source(ENCODER, DECODER, CROSS, query)
        top = ("tgt", len(DECODER), query)
        assert actual.source.tolist() == pytest.approx(
            [widest(graph, top, ("src", 0, k)) for k in range(N_SRC)], abs=1e-7
        )
        assert actual.target.tolist() == pytest.approx(
            [widest(graph, top, ("tgt", 0, k)) for k in range(N_TGT)], abs=1e-7
        )
        assert (actual.source >= shares.source[-1, query] - 1e-7).all()
        assert (actual.target >= shares.target[-1, query] - 1e-7).all()


ONE_STACK: dict[Architecture, str] = {"decoder_only": "decoder", "encoder_only": "encoder"}
Make = Callable[..., tuple[tc.Transformer, tc.Tokenizer]]


def seen(make: Make, architecture: Architecture) -> tuple[ModelRun, dict[str, np.ndarray]]:
    """A model run, and the patterns of all heads [layer, head, query, key] of a forward of the same tokens by hand."""
    model, tokenizer = make(architecture)
    model_run = run_text(model, tokenizer, TEXT_OF[architecture], max_tokens=9, max_new_tokens=3)
    with torch.inference_mode(), tc.capture(model, "*.hook_pattern") as acts:
        model(*(torch.tensor([ids]) for ids in model_run.inputs))
    patterns = {
        name: np.stack([acts[attention.site(layer)][0].numpy() for layer in range(attention.n_layers(model.config))])
        for name, attention in attentions_of(model.config).items()
    }
    return model_run, {name: pattern.astype(np.float64) for name, pattern in patterns.items()}


def parts_of(parts: tuple[Part, ...]) -> dict[tuple[str, str], Part]:
    return {(part.of, part.side): part for part in parts}


@pytest.mark.parametrize("method", ["rollout", "flow"])
@pytest.mark.parametrize("architecture", ONE_STACK)
def test_of_one_stack_there_is_one_part(make: Make, architecture: Architecture, method: Method):
    model_run, patterns = seen(make, architecture)
    (part,) = follow(model_run, method)
    kind = ATTENTIONS[ONE_STACK[architecture]]
    assert part.of == part.side == kind.queries_from
    (pattern,) = patterns.values()
    n = pattern.shape[-1]
    by_hand = rollout(pattern)[-1] if method == "rollout" else np.stack([flow(pattern, query) for query in range(n)])
    np.testing.assert_allclose(part.values, by_hand, atol=1e-6)
    can_see_all = architecture == "encoder_only"
    np.testing.assert_array_equal(part.mask, [[key <= query or can_see_all for key in range(n)] for query in range(n)])


@pytest.mark.parametrize("method", ["rollout", "flow"])
def test_an_encoder_decoder_has_three_parts(make: Make, method: Method):
    model_run, patterns = seen(make, "encoder_decoder")
    parts = parts_of(follow(model_run, method))
    assert [*parts] == [("source", "source"), ("target", "source"), ("target", "target")]
    encoder, stacks = patterns["encoder"], (patterns["encoder"], patterns["decoder"], patterns["cross"])
    n_source, n_target = len(model_run.source), len(model_run.target)
    assert n_source != n_target  # or sides that are mixed up would not be seen
    if method == "rollout":
        own, both = rollout(encoder)[-1], rollout_to_source(*stacks)
        source, target = both.source[-1], both.target[-1]
    else:
        own = np.stack([flow(encoder, query) for query in range(n_source)])
        rows = [flow_to_source(*stacks, query) for query in range(n_target)]
        source, target = np.stack([row.source for row in rows]), np.stack([row.target for row in rows])
    for place, by_hand in zip(parts, (own, source, target), strict=True):
        np.testing.assert_allclose(parts[place].values, by_hand, atol=1e-6)
    assert parts["source", "source"].mask.all() and parts["target", "source"].mask.all()
    np.testing.assert_array_equal(parts["target", "target"].mask, np.tri(n_target, dtype=bool))
