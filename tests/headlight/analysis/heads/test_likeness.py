"""Distances, alignments of kernels, the map, groups and matched heads: against loops, scipy, permutations, by hand."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial import distance  # type: ignore[import-untyped]
from scipy.stats import ortho_group  # type: ignore[import-untyped]

from headlight.analysis.heads import likeness
from headlight.analysis.heads.likeness import (
    ClusterName,
    cka_matrix,
    clusters,
    head_map,
    match_heads,
    name_clusters,
    pattern_distances,
)
from transformer_core.errors import ConfigError


def patterns(n_heads: int, mask: np.ndarray, seed: int = 0) -> np.ndarray:
    weights = np.random.default_rng(seed).gamma(0.2, size=(n_heads, *mask.shape)).astype(np.float32) + 1e-6
    weights *= mask
    return weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-9)


def activations(*widths: int, n_positions: int = 9, seed: int = 0) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.normal(size=(n_positions, width)).astype(np.float32) + 3 for width in widths]


def distances_by_loops(a: np.ndarray, b: np.ndarray, mask: np.ndarray) -> np.ndarray:
    queries = [query for query in range(len(mask)) if mask[query].sum() > 1]
    actual = np.zeros((len(a), len(b)))
    for i, j in itertools.product(range(len(a)), range(len(b))):
        rows = [(a[i, query].astype(float), b[j, query].astype(float)) for query in queries]
        actual[i, j] = np.mean([distance.jensenshannon(*row, base=2) for row in rows])
    return actual


def cka_by_kernels(x: np.ndarray, y: np.ndarray) -> float:
    """HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L)), with a written-out centring matrix."""
    n = len(x)
    centring = np.eye(n) - 1 / n
    of_x, of_y = (centring @ (z.astype(float) @ z.astype(float).T) @ centring for z in (x, y))
    return float(np.trace(of_x @ of_y) / math.sqrt(np.trace(of_x @ of_x) * np.trace(of_y @ of_y)))


MASKS = {
    "causal": np.tri(6, dtype=bool),
    "all": np.ones((4, 7), dtype=bool),
    "padded": np.ones((6, 6), dtype=bool) & (np.arange(6) < 4) & (np.arange(6) < 4)[:, None],
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_pattern_distances_are_those_of_loops(mask: np.ndarray):
    a, b = patterns(5, mask, seed=1), patterns(3, mask, seed=2)
    np.testing.assert_allclose(pattern_distances(a, b, mask), distances_by_loops(a, b, mask), atol=1e-7)
    own = pattern_distances(a, None, mask)
    np.testing.assert_allclose(own, distances_by_loops(a, a, mask), atol=1e-7)
    np.testing.assert_array_equal(own, own.T)
    assert not own.diagonal().any()
    assert (own[:, None] <= own[:, :, None] + own[None] + 1e-12).all()  # a metric


@pytest.mark.parametrize("n_positions", [1, 2, 9, 60])
def test_cka_is_that_of_centred_kernels_in_whichever_form(n_positions: int):
    """Of these widths, nine positions are taken by Gram matrices, sixty by features."""
    xs = activations(30, 50, 10, n_positions=n_positions)
    ys = activations(40, 20, n_positions=n_positions, seed=1)
    actual = cka_matrix(xs, ys)
    for i, j in itertools.product(range(3), range(2)):
        expected = cka_by_kernels(xs[i], ys[j]) if n_positions > 1 else 0.0
        assert actual[i, j] == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(cka_matrix(xs), cka_matrix(xs, xs), atol=1e-12)
    np.testing.assert_allclose(cka_matrix(xs).diagonal(), n_positions > 1)


def test_cka_in_strips_is_cka_in_one(monkeypatch: pytest.MonkeyPatch):
    xs, ys = activations(20, 30), activations(25, seed=1)
    whole = cka_matrix(xs, ys), cka_matrix(xs)
    monkeypatch.setattr(likeness, "_STRIP_CELLS", 100)
    for one, other in zip(whole, (cka_matrix(xs, ys), cka_matrix(xs)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_cka_does_not_see_turns_scales_and_shifts_and_knows_what_is_constant():
    (x,) = activations(5, n_positions=12)
    turned = -0.3 * x.astype(float) @ ortho_group.rvs(5, random_state=1) + 7
    assert cka_matrix([x], [turned]).item() == pytest.approx(1)
    constant = np.full((12, 3), 0.1) * [1, 2, 3]
    assert not cka_matrix([x, constant], [constant]).any()
    across = np.array([[1.0], [-1], [1], [-1]]), np.array([[1.0], [1], [-1], [-1]])
    assert cka_matrix(across)[0, 1] == 0


def test_the_map_shows_points_of_a_plane_where_they_are():
    points = np.random.default_rng(0).normal(size=(7, 2)) * [3, 1]
    actual = head_map(distance.squareform(distance.pdist(points)))
    np.testing.assert_allclose(distance.pdist(actual.points), distance.pdist(points), atol=1e-9)
    np.testing.assert_allclose(actual.points.mean(axis=0), 0, atol=1e-9)
    assert actual.kept == pytest.approx(1)
    assert (actual.points[np.abs(actual.points).argmax(axis=0), [0, 1]] > 0).all()


def test_the_map_says_what_a_plane_does_not_show():
    """Of points of four axes, the sum over pairs of squared distances, split by principal axes."""
    points = np.random.default_rng(1).normal(size=(9, 4)) * [4, 3, 2, 1]
    axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    variances = axes.S**2
    actual = head_map(distance.squareform(distance.pdist(points)))
    assert actual.kept == pytest.approx(variances[:2].sum() / variances.sum())


def test_groups_by_hand():
    """On a line at 0, 1, 10, 12, 40: merges at 1, 2, 10.5 and 34.25; the widest gap leaves two groups."""
    places = np.array([40.0, 0, 10, 1, 12])
    between = np.abs(places[:, None] - places)
    assert clusters(between).tolist() == [0, 1, 1, 1, 1]


def test_no_more_groups_than_asked_for():
    """Three pairs, two of them a little nearer to each other than to the third: merges at 0.1, 3 and 4."""
    places = np.array([0.0, 0.1, 3, 3.1, 50, 50.1])
    between = np.abs(places[:, None] - places)
    between[4:, :4] = between[:4, 4:] = 4.0
    assert clusters(between).tolist() == [0, 0, 1, 1, 2, 2]
    assert clusters(between, n_most=2).tolist() == [0, 0, 0, 0, 1, 1]


def test_groups_have_the_name_of_their_strongest_habit():
    scores = {
        "previous-token heads": np.array([0.9, 0.8, 0.1, 0.2, np.nan]),
        "attention sinks (first token)": np.array([0.1, 0.7, 0.7, 0.3, np.nan]),
    }
    names = name_clusters(np.array([0, 0, 1, 1, 2]), scores, 0.5)
    assert [name.habit for name in names] == ["previous-token heads", None, None]
    assert names[0].mean == pytest.approx(0.85) and names[1].mean == 0.5  # at the threshold
    assert names[2] == ClusterName(habit=None, mean=None, n_heads=1)
    assert [name.n_heads for name in names] == [2, 2, 1]


def of_layers(n_layers: int, n_heads: int, mask: np.ndarray, seed: int) -> np.ndarray:
    return patterns(n_layers * n_heads, mask, seed).reshape(n_layers, n_heads, *mask.shape)


def similarities_by_loops(a: list[np.ndarray], b: list[np.ndarray], masks: list[np.ndarray]) -> np.ndarray:
    n_layers, n_heads = a[0].shape[:2]
    heads = list(itertools.product(range(n_layers), range(n_heads)))
    actual = np.zeros((len(heads), len(heads)))
    for i, j in itertools.product(range(len(heads)), repeat=2):
        values = [
            1
            - distance.jensenshannon(one[heads[i]][query].astype(float), other[heads[j]][query].astype(float), base=2)
            ** 2
            for one, other, mask in zip(a, b, masks, strict=True)
            for query in range(mask.shape[0])
            if mask[query].sum() > 1
        ]
        actual[i, j] = sum(values) / len(values)
    return actual


@pytest.mark.parametrize("seed", range(4))
def test_the_assignment_is_the_best_of_all_permutations(seed: int):
    sizes = [(4, 4), (1, 1), (6, 6)]  # in the second text no query has a choice
    masks = [np.tri(*size, dtype=bool) for size in sizes]
    a = [of_layers(2, 3, mask, seed=2 * seed) for mask in masks]
    b = [of_layers(2, 3, mask, seed=2 * seed + 1) for mask in masks]
    matching = match_heads(a, b, masks=masks)
    expected = similarities_by_loops(a, b, masks)
    np.testing.assert_allclose(matching.similarity, expected, atol=1e-6)
    best = max(itertools.permutations(range(6)), key=lambda order: sum(expected[i, j] for i, j in enumerate(order)))
    assert matching.partners.tolist() == list(best)
    assert matching.mean_matched == pytest.approx(np.mean([expected[i, j] for i, j in enumerate(best)]))
    assert matching.mean_same_number == pytest.approx(np.mean([expected[i, i] for i in range(6)]))
    np.testing.assert_allclose(matching.matched, [expected[i, j] for i, j in enumerate(best)], atol=1e-6)


@pytest.mark.parametrize("shapes", [((1, 2, 3, 3), (2, 2, 3, 3)), ((1, 2, 3, 3), (1, 2, 3, 4))])
def test_models_must_have_the_same_shape_and_read_the_same(shapes: tuple[tuple[int, ...], tuple[int, ...]]):
    with pytest.raises(ConfigError, match="models of the same shape on the same texts"):
        match_heads(*(np.ones(shape) for shape in shapes))


def test_texts_without_a_choice_are_told():
    with pytest.raises(ConfigError, match="more than one allowed key"):
        match_heads(np.ones((1, 2, 1, 1)), np.ones((1, 2, 1, 1)))
