"""The turn of a shift against sines and cosines of its angles, and what it leaves."""

import numpy as np
import pytest

from headlight.analysis.positions.shift import shift
from headlight.analysis.positions.tables import PositionTable, fixed_table
from transformer_core.errors import ConfigError


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
