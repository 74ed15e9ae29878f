"""Products of positions against cosines of angles, and by hand."""

import numpy as np
import pytest

from headlight.analysis.positions.products import by_distance, table_products, turned_products
from headlight.analysis.positions.tables import fixed_table, rotary_config


def test_sinusoidal_products_depend_on_the_distance_alone_and_begin_at_half_the_width():
    actual = by_distance(table_products(fixed_table("sinusoidal_halves", 40, 32).values))
    assert actual.spread < 1e-5
    assert actual.mean[0] == pytest.approx(16)
    assert actual.mean[0] == actual.mean.max()


@pytest.mark.parametrize("encoding", ["rotary_halves", "rotary_interleaved"])
def test_turned_products_are_the_mean_of_turned_unit_numbers(encoding):
    actual = turned_products(rotary_config(encoding, 8), 12)
    speeds = 10_000.0 ** (-np.arange(0, 8, 2) / 8)
    angles = speeds * (np.arange(12)[:, None] - np.arange(12))[..., None]
    np.testing.assert_allclose(actual, np.cos(angles).mean(axis=-1), atol=1e-6)
    assert by_distance(actual).spread < 1e-6


def test_by_distance_takes_each_pair_above_the_diagonal():
    products = np.array([[1.0, 2.0, 7.0], [2.0, 3.0, 6.0], [7.0, 6.0, 5.0]])
    actual = by_distance(products)
    np.testing.assert_array_equal(actual.mean, [3, 4, 7])
    np.testing.assert_array_equal(actual.least, [1, 2, 7])
    np.testing.assert_array_equal(actual.most, [5, 6, 7])
    assert actual.spread == 4
