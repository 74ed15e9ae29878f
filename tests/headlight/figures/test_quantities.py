"""Quantities: ranges of colors that hold all values, and numbers that say what they are."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.figures.quantities import BELOW, QUANTITIES, QuantityName


@pytest.mark.parametrize("name", QUANTITIES)
def test_every_value_is_within_the_range(name: QuantityName):
    what = QUANTITIES[name]
    values = np.random.default_rng(0).dirichlet(np.ones(50)) * (1 if name in ("pattern", "log") else 30)
    values = values - 10 if name == "scores" else values
    low, high = what.limits(values)
    drawn = what.drawn(values)
    assert (drawn <= high).all()
    assert (drawn >= low).all() or name == "log"  # less than the palest is as pale
    axis = what.colors((low, high))
    assert (axis["cmin"], axis["cmax"]) == (low, high)
    ticks = axis["colorbar"]["tickvals"]
    assert {min(ticks), max(ticks)} == {low, high}
    assert (what.color_axis == "coloraxis3") == ("colorscale" in axis) == (name == "scores")


def test_numbers_by_hand():
    assert QUANTITIES["scores"].limits(np.array([-3.0, 1.0])) == (-3, 3)
    assert QUANTITIES["scores"].written([-2.314, -0.001], 2) == ["−2.31", "0.00"]
    assert QUANTITIES["log"].written([0.1, 0.00042, 3e-7, 1.0], 2) == ["0.1", "0.00042", BELOW, "1"]
    texts, is_deep = QUANTITIES["pattern"].in_cells(np.array([0.04, 0.05, 0.3, 1.0]), (0, 1))
    assert texts == ["", ".05", ".30", "1.00"]
    assert is_deep.tolist() == [False, False, False, True]
    texts, is_deep = QUANTITIES["log"].in_cells(np.array([0.96, 0.096, 0.004, 0.0001, 0.00001]), (-4, 0))
    assert texts == [".96", ".10", ".004", ".0001", ""]
    assert is_deep.tolist() == [True, True, False, False, False]  # (-2.4 + 4) / 4 = 0.4 is just below DEEP
    texts, is_deep = QUANTITIES["scores"].in_cells(np.array([-10.0, 3.0, -0.04]), (-10, 10))
    assert (texts, is_deep.tolist()) == (["−10.0", "3.0", "0.0"], [True, False, False])


@given(st.floats(1e-6, 1.0, exclude_min=True))
def test_a_power_of_ten_is_told_as_a_weight_of_two_digits(weight: float):
    (text,) = QUANTITIES["log"].written([weight], 2)
    if text != BELOW:
        assert "e" not in text
        assert math.isclose(float(text), weight, rel_tol=0.05)
    else:
        assert weight <= 1e-6
