"""Products of positions against cosines of angles and by hand; the rotation of a shift against its angles."""

import numpy as np
import pytest

from headlight.analysis.positions.products import by_distance, shift, table_products, turned_products
from headlight.analysis.positions.tables import PositionTable, fixed_table, rotary_config
from transformer_core.errors import ConfigError


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


@pytest.mark.parametrize("encoding", ["sinusoidal_halves", "sinusoidal_interleaved"])
@pytest.mark.parametrize("k", [0, 1, 7, 40])
def test_every_row_is_turned_onto_the_row_k_places_on(encoding, k: int):
    table = fixed_table(encoding, 64, 16)
    actual = shift(table, k)
    assert actual.turned.max() < 5e-7 and len(actual.turned) == 64 - k
    np.testing.assert_allclose(actual.matrix @ actual.matrix.T, np.eye(16), atol=1e-6)
    np.testing.assert_allclose(
        actual.unturned, np.abs(table.values[k:] - table.values[: 64 - k]).max(axis=1), atol=1e-7
    )
    if k:
        assert actual.unturned.min() > 1000 * actual.turned.max()


def test_a_table_that_is_no_such_table_is_found_out():
    """The residual can fail: another number in one row is seen there, and in the row that is k places before."""
    table = fixed_table("sinusoidal_halves", 20, 8)
    values = table.values.copy()
    values[11, 3] += 0.25
    actual = shift(PositionTable(values=values, columns=table.columns), 3)
    assert set(np.flatnonzero(actual.turned > 0.1)) == {8, 11}


def test_what_cannot_be_is_said():
    with pytest.raises(ConfigError, match="shifted by 0 to 4"):
        shift(fixed_table("sinusoidal_halves", 5, 8), 5)
    with pytest.raises(ConfigError, match="a shift is not a rotation"):
        shift(PositionTable(values=np.zeros((3, 4), dtype=np.float32), columns=()), 1)
