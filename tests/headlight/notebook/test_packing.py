"""Packed patterns: every number comes back within the error that is stated, in at most the bytes that are promised."""

import zlib
from collections.abc import Sequence

import numpy as np
import pytest

from headlight.notebook.packing import EXACT, FORBIDDEN, MOST_CELLS, NOT_FINITE, USUAL_BYTES, pack
from headlight.notebook.static_picture import overview_png
from transformer_core.errors import ArgumentError


def random_patterns(shape: tuple[int, ...], *, is_causal: bool) -> tuple[np.ndarray, np.ndarray]:
    """Dense random patterns, the worst case of any compression, and their mask."""
    n_layers, _, n_queries, n_keys = shape
    mask = np.tri(n_queries, n_keys, 0 if is_causal else n_keys, dtype=bool)
    scores = np.where(mask, np.random.default_rng(0).normal(size=shape), -np.inf)
    weights = np.exp(scores)
    patterns = (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)
    return patterns, np.broadcast_to(mask, (n_layers, n_queries, n_keys))


def unpacked(packed: bytes, shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """The numbers, as the browser reads them: low bytes, then high ones."""
    low, high = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(2, -1).astype(np.int64)
    ends = np.cumsum([np.prod(shape) for shape in shapes])
    parts = np.split(low + 256 * high, ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def test_the_static_picture_has_all_heads_of_a_large_model():
    patterns = np.zeros((2, 64, 1, 1), dtype=np.float32)
    patterns[1, -1] = 1  # the last head
    assert overview_png([patterns]) != overview_png([0 * patterns])


@pytest.mark.parametrize("exact", [False, True])
def test_every_weight_comes_back_within_the_stated_error(exact: bool):
    shapes = [(2, 3, 7, 7), (1, 2, 4, 5)]
    (causal, its_mask), (cross, all_seen) = (random_patterns(s, is_causal=i == 0) for i, s in enumerate(shapes))
    cross[0, 1, 2, 3] = np.nan
    packed, top = pack([causal, cross], [its_mask, all_seen], exact=exact)
    assert top == EXACT
    numbers = unpacked(packed, shapes)
    is_masked = np.broadcast_to(~its_mask[:, None], shapes[0])
    np.testing.assert_array_equal(numbers[0] == FORBIDDEN, is_masked)
    np.testing.assert_array_equal(numbers[1] == NOT_FINITE, np.isnan(cross))
    for values, of in zip((causal, cross), numbers, strict=True):
        is_weight = of < NOT_FINITE
        assert np.abs(of[is_weight] / top - values[is_weight]).max() <= 0.5 / top + 1e-7


@pytest.mark.parametrize(("is_causal", "error", "exact_bytes"), [(True, 5e-4, 1_950_000), (False, 2e-3, 3_250_000)])
def test_a_model_of_144_heads_on_128_tokens_fits(is_causal: bool, error: float, exact_bytes: int):
    """With base64, the script and a picture: 1.5 MB in all; exactly, 3 MB where half of the cells are masked."""
    patterns, mask = random_patterns((12, 12, 128, 128), is_causal=is_causal)
    packed, top = pack([patterns], [mask])
    assert len(packed) <= USUAL_BYTES and 0.5 / top <= error
    assert len(pack([patterns], [mask], exact=True)[0]) <= exact_bytes


def test_too_many_cells_are_refused_before_they_are_packed():
    pattern = np.broadcast_to(np.float32(0), (MOST_CELLS // 1000 + 1, 10, 10, 10))
    with pytest.raises(ArgumentError, match="at most 24,000,000; use fewer tokens"):
        pack([pattern], [np.broadcast_to(True, (len(pattern), 10, 10))])
