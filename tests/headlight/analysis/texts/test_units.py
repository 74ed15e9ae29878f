"""Patterns in words, sinks, and patterns of several heads as one: by hand, and against loops over single cells."""

import numpy as np
import pytest

from headlight.analysis.texts.units import combine, merge_mask, merge_tokens, sink_keys
from transformer_core.errors import ConfigError, TextError

CAUSAL = np.tri(6, dtype=bool)


def patterns(*shape: int, mask: np.ndarray | None = None, seed: int = 0) -> np.ndarray:
    weights = np.random.default_rng(seed).random(shape).astype(np.float32) * (1 if mask is None else mask)
    return weights / weights.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("places", [(0, 1), (0, 1, 3), (1, 2, 3), (0, 1, 0), (0, 0, 0, 0), ()])
def test_words_of_another_text(places: tuple[int, ...]):
    with pytest.raises(TextError, match="the words do not match the pattern, which has 3 "):
        merge_tokens(patterns(3, 3), (0, 1, 2), places)
    with pytest.raises(TextError, match="3 queries"):
        merge_mask(np.ones((3, 3), dtype=bool), places, (0, 1, 2))


def test_a_sink_takes_more_than_its_share_of_a_mean_query():
    pattern = np.zeros((6, 6), dtype=np.float32)
    pattern[0, 0] = 1
    for query in range(1, 6):
        pattern[query, 0], pattern[query, query] = 0.6, 0.4
    # of five queries with a choice: key 0 gets 0.6, where even attention gives (1/2 + 1/3 + 1/4 + 1/5 + 1/6) / 5 = 0.29
    assert sink_keys(pattern, CAUSAL).tolist() == [True, False, False, False, False, False]
    assert not sink_keys(pattern, CAUSAL, share=0.61).any()
    pattern[1:, 0], pattern[1:, 1] = 0.5, pattern[1:, 1] + 0.1  # below 2 * 0.29
    assert not sink_keys(pattern, CAUSAL).any()


def test_even_attention_has_no_sink_and_the_last_token_that_looks_at_itself_is_none():
    for n in (1, 2, 3, 10):
        for mask in (np.tri(n, dtype=bool), np.ones((n, n), dtype=bool), np.zeros((n, n), dtype=bool)):
            even = mask / np.maximum(mask.sum(axis=1, keepdims=True), 1)
            assert not sink_keys(even, mask).any()
    assert not sink_keys(np.eye(6), CAUSAL).any()


def test_only_the_proportions_of_weights_count():
    heads, weights = patterns(4, 3, 5), np.array([1.0, 0.0, 2.0, 5.0])
    expected = sum(weight * head.astype(float) for weight, head in zip(weights, heads, strict=True)) / 8
    for scale in (1.0, 1e-9, 1e307):
        actual = combine(heads, weights * scale)
        np.testing.assert_allclose(actual, expected, rtol=1e-5)
        np.testing.assert_allclose(actual.sum(axis=-1), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([0.0, 0.0], "all heads have weight 0"),
        ([1.0, -0.5], "0 or more, got -0.5"),
        ([1.0, np.nan], "0 or more, got nan"),
    ],
)
def test_weights_that_make_no_mean(weights: list[float], says: str):
    with pytest.raises(ConfigError, match=says):
        combine(patterns(2, 3, 3), np.array(weights))
