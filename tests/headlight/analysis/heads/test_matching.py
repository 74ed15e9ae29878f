"""Heads of two models, matched: against all permutations, and against models whose heads were only renumbered."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon  # type: ignore[import-untyped]

from headlight.analysis.heads.matching import match_heads
from transformer_core.errors import ConfigError


def patterns(shape: tuple[int, ...], seed: int = 0, mask: np.ndarray | None = None) -> np.ndarray:
    weights = np.random.default_rng(seed).gamma(0.3, size=shape).astype(np.float32) + 1e-6
    weights = weights if mask is None else weights * mask
    return weights / weights.sum(axis=-1, keepdims=True)


def by_loops(a: list[np.ndarray], b: list[np.ndarray], masks: list[np.ndarray]) -> np.ndarray:
    n_layers, n_heads = a[0].shape[:2]
    heads = list(itertools.product(range(n_layers), range(n_heads)))
    actual = np.zeros((len(heads), len(heads)))
    for i, j in itertools.product(range(len(heads)), repeat=2):
        values = [
            1 - jensenshannon(one[heads[i]][query].astype(float), other[heads[j]][query].astype(float), base=2) ** 2
            for one, other, mask in zip(a, b, masks, strict=True)
            for query in range(mask.shape[0])
            if mask[query].sum() > 1
        ]
        actual[i, j] = sum(values) / len(values)
    return actual


@pytest.mark.parametrize("seed", range(4))
def test_the_assignment_is_the_best_of_all_permutations(seed: int):
    sizes = [(4, 4), (6, 6)]
    masks = [np.tri(*size, dtype=bool) for size in sizes]
    a = [patterns((2, 3, *mask.shape), seed=2 * seed, mask=mask) for mask in masks]
    b = [patterns((2, 3, *mask.shape), seed=2 * seed + 1, mask=mask) for mask in masks]
    matching = match_heads(a, b, masks=masks)
    expected = by_loops(a, b, masks)
    np.testing.assert_allclose(matching.similarity, expected, atol=1e-6)
    best = max(itertools.permutations(range(6)), key=lambda order: sum(expected[i, j] for i, j in enumerate(order)))
    assert matching.partners.tolist() == list(best)
    assert matching.mean_matched == pytest.approx(np.mean([expected[i, j] for i, j in enumerate(best)]))
    assert matching.mean_same_number == pytest.approx(np.mean([expected[i, i] for i in range(6)]))
    np.testing.assert_allclose(matching.matched, [expected[i, j] for i, j in enumerate(best)], atol=1e-6)


def test_within_layers_the_best_of_those_permutations():
    a, b = patterns((2, 3, 5, 5), seed=1), patterns((2, 3, 5, 5), seed=2)
    matching = match_heads(a, b, within_layers=True)
    similarity = match_heads(a, b).similarity
    orders = [
        (*first, *(3 + i for i in second))
        for first, second in itertools.product(itertools.permutations(range(3)), repeat=2)
    ]
    best = max(orders, key=lambda order: sum(similarity[i, j] for i, j in enumerate(order)))
    assert matching.partners.tolist() == list(best)
    assert all(matching.partner(layer, head)[0] == layer for layer in range(2) for head in range(3))


@pytest.mark.parametrize("shapes", [((1, 2, 3, 3), (2, 2, 3, 3)), ((1, 2, 3, 3), (1, 2, 3, 4))])
def test_models_must_have_the_same_shape_and_read_the_same(shapes: tuple[tuple[int, ...], tuple[int, ...]]):
    with pytest.raises(ConfigError, match="models of the same shape on the same texts"):
        match_heads(patterns(shapes[0]), patterns(shapes[1]))


def test_texts_without_a_choice_are_told():
    with pytest.raises(ConfigError, match="more than one allowed key"):
        match_heads(patterns((1, 2, 1, 1)), patterns((1, 2, 1, 1)))
