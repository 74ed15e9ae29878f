"""Rollout and flow: by pass on small patterns, and of model runs against the activations of a forward pass."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import linprog  # type: ignore[import-untyped]

import transformer_core as tc
from headlight.analysis.flow.rollout import Method, Part, Where, across_layers, follow
from headlight.analysis.trace.attentions import ATTENTIONS, attentions_of
from headlight.analysis.trace.model_run import ModelRun, run_text
from tests.headlight.analysis.conftest import TEXT_OF
from transformer_core.config import Architecture

Node = tuple[str, int, int]  # of which side, below which layer, at which position
Graph = dict[Node, dict[Node, float]]

N_SRC, N_TGT = 3, 4
SIDES: tuple[tuple[Where, str, int], ...] = (("source", "src", N_SRC), ("target", "tgt", N_TGT))


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


def of_one_stack(layers: np.ndarray, method: Method, residual: float = 0.5) -> np.ndarray:
    return across_layers({"encoder": layers}, "encoder", method, residual=residual)["source"]


@pytest.mark.parametrize("residual", [0.5, 0.2, 0.0, 1.0])
def test_rollout_is_the_sum_over_all_paths(residual: float):
    layers = attention(3, 4, 4)
    graph = stack_graph("a", layers, residual)
    for layer in range(3):
        actual = of_one_stack(layers[: layer + 1], "rollout", residual)
        for query, key in np.ndindex(actual.shape):
            paths = sum_over_paths(graph, ("a", layer + 1, query))
            assert actual[query, key] == pytest.approx(paths.get(("a", 0, key), 0.0), abs=1e-12)
        np.testing.assert_allclose(actual.sum(axis=-1), 1)


def test_a_query_that_may_look_at_nothing_keeps_what_is_its_own():
    layers = np.stack([np.zeros((2, 2)), np.eye(2)])
    np.testing.assert_allclose(of_one_stack(layers, "rollout"), np.eye(2) / 2)
    np.testing.assert_allclose(of_one_stack(layers, "flow"), np.eye(2) / 2)


@pytest.mark.parametrize("residual", [0.5, 0.3])
def test_both_sides_are_the_sum_over_all_paths(residual: float):
    graph = two_stack_graph(residual)
    for layer in range(2):
        patterns = {"encoder": ENCODER, "decoder": DECODER[: layer + 1], "cross": CROSS[: layer + 1]}
        actual = across_layers(patterns, "decoder", "rollout", residual=residual)
        for query in range(N_TGT):
            paths = sum_over_paths(graph, ("tgt", layer + 1, query))
            for side, name, n in SIDES:
                expected = [paths.get((name, 0, k), 0.0) for k in range(n)]
                assert actual[side][query].tolist() == pytest.approx(expected)
        np.testing.assert_allclose(actual["source"].sum(axis=-1) + actual["target"].sum(axis=-1), 1)


def test_no_more_flows_than_all():
    to_first, alike = np.eye(6)[np.zeros(6, int)], np.full((6, 6), 1 / 6)
    # six times 2^-30, rounded up, are more than 1
    assert of_one_stack(np.stack([to_first, alike]), "flow", 0.0)[0].tolist() == [1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("residual", [0.5, 0.1])
@pytest.mark.parametrize("layers", [attention(3, 4, 4), DECODER], ids=["full", "causal"])
def test_flow_is_the_best_of_a_linear_programme(layers: np.ndarray, residual: float):
    graph = stack_graph("a", layers, residual)
    actual = of_one_stack(layers, "flow", residual)
    expected = [widest(graph, ("a", len(layers), 3), ("a", 0, key)) for key in range(4)]
    assert actual[3].tolist() == pytest.approx(expected, abs=1e-7)
    assert (actual >= of_one_stack(layers, "rollout", residual) - 1e-7).all() and (actual <= 1).all()


def test_flow_to_both_sides_is_the_best_of_a_linear_programme():
    graph, patterns = two_stack_graph(0.5), {"encoder": ENCODER, "decoder": DECODER, "cross": CROSS}
    shares, actual = (across_layers(patterns, "decoder", method) for method in ("rollout", "flow"))
    for side, name, n in SIDES:
        assert (actual[side] >= shares[side] - 1e-7).all()
        for query in (0, N_TGT - 1):
            expected = [widest(graph, ("tgt", len(DECODER), query), (name, 0, k)) for k in range(n)]
            assert actual[side][query].tolist() == pytest.approx(expected, abs=1e-7)


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
    n = len(part.values)
    means = {name: pattern.mean(axis=1) for name, pattern in patterns.items()}
    direct = across_layers(means, ONE_STACK[architecture], method)[kind.queries_from]
    np.testing.assert_allclose(part.values, direct, atol=1e-6)
    can_see_all = architecture == "encoder_only"
    np.testing.assert_array_equal(part.mask, [[key <= query or can_see_all for key in range(n)] for query in range(n)])


@pytest.mark.parametrize("method", ["rollout", "flow"])
def test_an_encoder_decoder_has_three_parts(make: Make, method: Method):
    model_run, patterns = seen(make, "encoder_decoder")
    parts = parts_of(follow(model_run, method))
    assert [*parts] == [("source", "source"), ("target", "source"), ("target", "target")]
    n_source, n_target = len(model_run.source), len(model_run.target)
    assert n_source != n_target  # or sides that are mixed up would not be seen
    means = {name: pattern.mean(axis=1) for name, pattern in patterns.items()}
    encoder, decoder = (across_layers(means, stack, method) for stack in ("encoder", "decoder"))
    np.testing.assert_allclose(parts["source", "source"].values, encoder["source"], atol=1e-6)
    for side in ("source", "target"):
        np.testing.assert_allclose(parts["target", side].values, decoder[side], atol=1e-6)
    assert parts["source", "source"].mask.all() and parts["target", "source"].mask.all()
    np.testing.assert_array_equal(parts["target", "target"].mask, np.tri(n_target, dtype=bool))
