"""Levels: weights as bytes, with one level of its own for what the mask does not allow."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from transformer_core.figures.overview import FORBIDDEN, TOP, levels


def test_by_hand():
    pattern = np.array([[1.0, 0.0], [0.5, 0.5]], dtype=np.float32)
    mask = np.array([[True, False], [True, True]])
    np.testing.assert_array_equal(levels(pattern, mask), [[254, 255], [127, 127]])


def test_many_heads_share_a_mask():
    patterns = np.full((2, 3, 4, 4), 0.25, dtype=np.float32)
    mask = np.tril(np.ones((4, 4), dtype=bool))
    found = levels(patterns, mask)
    assert (found.shape, found.dtype) == (patterns.shape, np.uint8)
    assert ((found == FORBIDDEN) == ~mask).all()


@given(arrays.arrays(np.float32, (3, 5), elements=st.floats(0, 1, width=32)))
def test_a_level_is_within_half_a_step_of_its_weight(pattern: np.ndarray):
    before = pattern.copy()
    found = levels(pattern, np.ones(pattern.shape, dtype=bool))
    np.testing.assert_allclose(found / TOP, pattern, atol=0.51 / TOP)
    assert (found <= TOP).all()
    np.testing.assert_array_equal(pattern, before)
