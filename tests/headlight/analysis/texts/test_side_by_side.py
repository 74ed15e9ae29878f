"""Texts and model runs side by side: against naive loops, hand-computed cases, and invariants."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon  # type: ignore[import-untyped]

from headlight.analysis.heads.likeness import cka_matrix
from headlight.analysis.heads.measures import HeadName
from headlight.analysis.texts.side_by_side import (
    SharedTokens,
    align_tokens,
    aligned_head,
    aligned_patterns,
    changes,
    distances_by_looking,
    distances_by_writing,
    layer_likeness,
    ranked_heads,
)
from transformer_core.errors import ConfigError

CAT = ("the", "cat", "was", "tired", ".")
DOG = ("the", "cat", "was", "wide", ".")
LONG = ("the", "small", "cat", "was", "tired", ".")


class Patterns:
    """Random patterns of all heads over tokens, causal or not."""

    def __init__(
        self, n_layers: int, n_heads: int, n_tokens: int, *, seed: int, causal: bool = False, narrow: int | None = None
    ) -> None:
        self.shape = (n_layers, n_heads, n_tokens, n_tokens)
        self._mask = np.ones((n_layers, n_tokens, n_tokens), dtype=bool)
        if causal:
            self._mask &= np.tri(n_tokens, dtype=bool)
        if narrow is not None:  # the layer in which each token sees itself alone
            self._mask[narrow] &= np.eye(n_tokens, dtype=bool)
        weights = np.random.default_rng(seed).random(self.shape) * self._mask[:, None]
        self.weights = (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)

    def pattern(self, layer: int, head: int) -> np.ndarray:
        return self.weights[layer, head]

    def mask(self, layer: int) -> np.ndarray:
        return self._mask[layer]


def shared(a: tuple[str, ...], b: tuple[str, ...]) -> SharedTokens:
    return SharedTokens.of((a, a), (b, b))


def test_what_can_be_compared():
    assert shared(CAT, CAT).is_telling
    assert shared(CAT, DOG).is_telling
    assert shared(CAT, LONG).is_telling
    assert not shared(CAT, ("un", "chat", "est", "las", ".")).is_telling  # five pairs, one of a token that is the same
    assert not shared(CAT, ("so",)).is_telling
    assert shared(("the", "cat"), LONG).is_telling  # all of the shorter one
    assert not shared(CAT, ("the", "a", "b", "c", "d", "e", ".")).is_telling  # two pairs of seven, both the same
    assert not SharedTokens.of((CAT, CAT), (CAT, ("le", "chat", "est"))).is_telling


def test_the_queries_with_a_choice_are_those_of_the_heads_own_layers():
    """In layer 0 each token sees itself alone: nothing could change there; among all heads, all queries count."""
    a, b = (Patterns(2, 3, 5, seed=seed, narrow=0) for seed in (1, 2))
    actual = changes(a, b, shared(CAT, DOG))
    for head in range(3):
        rows = [jensenshannon(a.weights[1, head, q], b.weights[1, head, q], base=2) for q in range(5)]
        assert actual[1, head] == pytest.approx(np.mean(rows), abs=1e-6)
    assert not actual[0].any()
    pair = aligned_head(a, b, shared(CAT, DOG), (0, 0), (1, 2))
    assert (pair.mask_a == np.eye(5)).all() and pair.mask_b.all()
    both = [*a.weights.reshape(6, 5, 5), *b.weights.reshape(6, 5, 5)]
    by_hand = [[np.mean(jensenshannon(p, q, base=2, axis=1)) for q in both] for p in both]
    np.testing.assert_allclose(distances_by_looking(a, b, shared(CAT, DOG)), by_hand, atol=1e-6)
    np.testing.assert_allclose(distances_by_looking(a, None, None), np.array(by_hand)[:6, :6], atol=1e-6)


def test_a_token_of_one_text_only_is_elsewhere():
    a, b = Patterns(1, 1, 5, seed=3), Patterns(1, 2, 6, seed=4)
    pair = aligned_head(a, b, shared(CAT, LONG), (0, 0), (0, 1))
    assert pair.key_labels == CAT and pair.has_elsewhere
    kept = [0, 2, 3, 4, 5]
    np.testing.assert_allclose(pair.b[:, :5], b.weights[0, 1][np.ix_(kept, kept)])
    np.testing.assert_allclose(pair.b[:, 5], b.weights[0, 1][kept, 1])
    np.testing.assert_allclose(pair.a[:, 5], 0)
    rows = [jensenshannon(pair.a[q], pair.b[q], base=2) for q in range(5)]
    assert pair.distance == pytest.approx(np.mean(rows), abs=1e-6)


def test_models_of_other_shapes_are_refused_calmly():
    with pytest.raises(ConfigError, match=r"1 layers of 2 heads and 2 layers of 2 heads; use the head map"):
        changes(Patterns(1, 2, 5, seed=0), Patterns(2, 2, 5, seed=0), shared(CAT, CAT))


def test_distances_by_writing_come_from_cka_on_paired_positions():
    random = np.random.default_rng(7)
    a, b = random.normal(size=(2, 2, 5, 4)), random.normal(size=(1, 3, 6, 8))
    actual = distances_by_writing(a, b, align_tokens(CAT, LONG))
    kept = [0, 2, 3, 4, 5]
    assert actual[1, 4] == pytest.approx(sqrt(1 - cka_matrix([a[0, 1]], [b[0, 0][kept]]).item()))
    np.testing.assert_allclose(actual.diagonal(), 0)
    turned = np.concatenate([a, a @ np.linalg.qr(random.normal(size=(4, 4)))[0] * 3 + 1])
    alone = distances_by_writing(turned, None, None)
    np.testing.assert_allclose(alone[range(4), range(4, 8)], 0, atol=1e-6)


def test_a_head_that_writes_nothing_is_like_itself_alone():
    a = np.random.default_rng(8).normal(size=(1, 2, 5, 4))
    a[0, 0] = 0
    np.testing.assert_allclose(distances_by_writing(a, None, None), [[0, 1], [1, 0]])


def test_layers_are_compared_on_paired_positions():
    random = np.random.default_rng(9)
    a, b = random.normal(size=(3, 5, 4)), random.normal(size=(2, 6, 8))
    actual = layer_likeness(a, b, align_tokens(CAT, LONG))
    assert actual.shape == (3, 2)
    assert actual[2, 1] == pytest.approx(cka_matrix([a[2]], [b[1][[0, 2, 3, 4, 5]]]).item())
    np.testing.assert_allclose(layer_likeness(a, a, align_tokens(CAT, CAT)).diagonal(), 1)


def test_ranked_heads_have_the_greatest_change_first_and_ties_in_order():
    by_name = {"encoder": np.array([[0.1, 0.5]]), "cross": np.array([[0.5, 0.7], [0.0, 0.1]])}
    assert ranked_heads(by_name) == [
        (HeadName("cross", 0, 1), 0.7),
        (HeadName("encoder", 0, 1), 0.5),
        (HeadName("cross", 0, 0), 0.5),
        (HeadName("encoder", 0, 0), 0.1),
        (HeadName("cross", 1, 1), 0.1),
        (HeadName("cross", 1, 0), 0.0),
    ]


texts = st.lists(st.sampled_from("abc"), max_size=12)


def pattern(n_queries: int, n_keys: int, mask: np.ndarray, seed: int = 0) -> np.ndarray:
    weights = np.random.default_rng(seed).gamma(0.5, size=(n_queries, n_keys)).astype(np.float32) * mask + 1e-3 * mask
    return weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-9)


def test_words_that_came_and_went():
    alignment = align_tokens("a black cat sat down".split(), "a cat sat on it now".split())
    assert [(pair.a, pair.b) for pair in alignment.pairs] == [(0, 0), (2, 1), (3, 2)]
    assert alignment.labels == ("a", "cat", "sat")
    assert alignment.only_a == (1, 4)  # "down" stands for "on it now", nobody can say for which
    assert alignment.only_b == (3, 4, 5)


def test_frequent_tokens_are_paired_too():
    """From 200 tokens on difflib on its own takes what is frequent for noise."""
    text = ["a", "b"] * 150
    assert len(align_tokens(text, [*text, "c"]).pairs) == 300


@given(texts, texts)
def test_every_place_is_paired_or_alone_and_pairs_keep_the_order(a: list[str], b: list[str]):
    alignment = align_tokens(a, b)
    assert sorted([*alignment.places_a, *alignment.only_a]) == list(range(len(a)))
    assert sorted([*alignment.places_b, *alignment.only_b]) == list(range(len(b)))
    assert alignment.places_a == sorted(alignment.places_a) and alignment.places_b == sorted(alignment.places_b)
    for pair in alignment.pairs:
        assert pair.is_replaced == (a[pair.a] != b[pair.b])
        assert pair.label == (f"{a[pair.a]} → {b[pair.b]}" if pair.is_replaced else a[pair.a])


def test_what_lies_on_unpaired_keys_is_kept_elsewhere():
    words_a, words_b = "a black cat sat".split(), "a cat sat there now".split()
    mask_a, mask_b = np.tri(4, dtype=bool), np.tri(5, dtype=bool)
    a, b = pattern(4, 4, mask_a, seed=1), pattern(5, 5, mask_b, seed=2)
    tokens = align_tokens(words_a, words_b)
    aligned = aligned_patterns(a, b, mask_a, mask_b, SharedTokens(queries=tokens, keys=tokens))
    assert aligned.key_labels == ("a", "cat", "sat") and aligned.query_labels == ("a", "cat", "sat")
    assert aligned.has_elsewhere
    for row, (place_a, place_b) in enumerate([(0, 0), (2, 1), (3, 2)]):
        np.testing.assert_allclose(aligned.a[row], [*(a[place_a, key] for key in (0, 2, 3)), a[place_a, 1]])
        np.testing.assert_allclose(aligned.b[row], [*b[place_b, :3], b[place_b, 3] + b[place_b, 4]])
    np.testing.assert_allclose(aligned.a.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(aligned.b.sum(axis=1), 1, rtol=1e-6)
    assert aligned.mask_a[:, -1].tolist() == [False, True, True]  # "black" comes after "a"
    assert aligned.mask_b[:, -1].tolist() == [False, False, False]  # "there now" comes after all
    assert aligned.mask[:, -1].tolist() == [False, True, True]


def test_queries_and_keys_of_different_texts():
    """Cross-attention: rows from the targets, columns from the sources; a row of nothing stays one."""
    queries, keys = align_tokens(["<bos>", "le"], ["<bos>", "le", "chat"]), align_tokens(["x", "y"], ["x"])
    mask_a, mask_b = np.ones((2, 2), dtype=bool), np.array([[True], [True], [False]])
    a, b = pattern(2, 2, mask_a), pattern(3, 1, mask_b)
    aligned = aligned_patterns(a, b, mask_a, mask_b, SharedTokens(queries=queries, keys=keys))
    assert aligned.a.shape == aligned.b.shape == aligned.mask.shape == (2, 2)
    assert aligned.key_labels == ("x",) and aligned.has_elsewhere
    assert aligned.b.tolist() == [[1, 0], [1, 0]]
    assert a.dtype == aligned.a.dtype
