"""What there is to see of an activation: cells, lengths, and how its numbers are spread."""

import numpy as np
import pytest

from headlight.analysis.blueprint.activation import N_BINS, picture_of
from transformer_core.errors import SiteError


def test_a_picture_of_a_small_activation_is_all_of_it():
    values = np.array([[3.0, -4.0], [0.0, 0.0], [1.0, 0.0]], dtype=np.float32)
    shown = picture_of(values)
    np.testing.assert_array_equal(shown.cells, values)
    assert shown.lengths is not None
    np.testing.assert_allclose(shown.lengths, [5, 0, 1])
    assert not shown.is_pooled
    assert shown.counts.sum() == shown.n_finite == 6 and shown.counts[N_BINS // 2] == 3
    assert shown.share_of_zeros == pytest.approx(0.5) and shown.mean == pytest.approx(0)
    assert shown.deviation == pytest.approx(values.std())


def test_a_picture_of_a_large_one_keeps_the_largest_of_each_block():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 300, 500)).astype(np.float32)
    shown = picture_of(values, head=1)
    assert shown.is_pooled and (shown.n_rows, shown.n_columns) == (300, 500)
    rows, columns = [*shown.rows.tolist(), 300], [*shown.columns.tolist(), 500]
    for row in range(0, len(shown.rows), 17):
        for column in range(0, len(shown.columns), 13):
            block = values[1, rows[row] : rows[row + 1], columns[column] : columns[column + 1]]
            assert shown.cells[row, column] == block.flat[np.abs(block).argmax()]


def test_what_the_mask_forbids_is_no_number():
    shown = picture_of(np.array([[0.5, -np.inf], [1.0, 2.0]], dtype=np.float32), are_vectors=False)
    assert np.isnan(shown.cells[0, 1]) and shown.n_finite == 3 and shown.lengths is None
    booleans = picture_of(np.array([[[True, False]]]), head=5)
    np.testing.assert_array_equal(booleans.cells, [[1, 0]])
    with pytest.raises(SiteError, match="two or three axes"):
        picture_of(np.zeros(3))
