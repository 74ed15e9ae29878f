"""Alignments by hand and by their invariants; aligned patterns against what was in the whole ones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headlight.analysis.texts.token_alignment import ELSEWHERE, align_tokens, aligned_patterns

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
    aligned = aligned_patterns(a, b, mask_a, mask_b, tokens, tokens)
    assert aligned.key_labels == ("a", "cat", "sat", ELSEWHERE) and aligned.query_labels == ("a", "cat", "sat")
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
    aligned = aligned_patterns(a, b, mask_a, mask_b, queries, keys)
    assert aligned.a.shape == aligned.b.shape == aligned.mask.shape == (2, 2)
    assert aligned.key_labels == ("x", ELSEWHERE)
    assert aligned.b.tolist() == [[1, 0], [1, 0]]
    assert a.dtype == aligned.a.dtype
