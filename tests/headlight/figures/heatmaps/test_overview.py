"""Weights as whole numbers, with one of its own for what the mask does not allow; and how large pictures are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from headlight.figures.heatmaps.overview import (
    FINE_TOP,
    TOP,
    fine_levels,
    levels,
    thumbnail_side,
)


def test_by_hand():
    pattern = np.array([[1.0, 0.0], [0.2, 0.8]], dtype=np.float32)
    mask = np.array([[True, False], [True, True]])
    np.testing.assert_array_equal(levels(pattern, mask), [[253, 255], [51, 202]])
    np.testing.assert_array_equal(levels(np.full((2, 2), np.nan), mask), [[254, 255], [254, 254]])
    np.testing.assert_array_equal(fine_levels(pattern, mask), [[65_534, 65_535], [13_107, 52_427]])
    with pytest.raises(ValueError, match="0 heads and 5 tokens"):
        thumbnail_side(0, 5)


@given(arrays.arrays(np.float32, (3, 5), elements=st.floats(0, 1, width=32)))
def test_a_level_is_within_half_a_step_of_its_weight(pattern: np.ndarray):
    mask = np.ones(pattern.shape, dtype=bool)
    found, fine = levels(pattern, mask), fine_levels(pattern, mask)
    np.testing.assert_allclose(found / TOP, pattern, atol=0.51 / TOP)
    np.testing.assert_allclose(fine / FINE_TOP, pattern, atol=0.51 / FINE_TOP)
    assert (found <= TOP).all()
    assert (fine <= FINE_TOP).all()


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 3_000_000))
def test_pictures_are_as_large_as_there_is_room_for(n_heads: int, n_tokens: int, most_bytes: int):
    side = thumbnail_side(n_heads, n_tokens, most_bytes=most_bytes)

    def fits(side: int) -> bool:
        return side <= min(n_tokens, 192) and n_heads * side**2 <= most_bytes

    assert side == 1 or fits(side)
    assert not fits(side + 1)
