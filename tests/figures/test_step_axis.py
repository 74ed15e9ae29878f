"""The axis of steps: where a step lies, and numbers that are round."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_core.figures.step_axis import log_ticks, places, step_axis


def test_steps_lie_where_they_are_and_step_0_left_of_step_1():
    steps = np.array([0, 1, 10, 2500])
    assert places(steps, log=False).tolist() == [0, 1, 10, 2500]
    on_log = places(steps, log=True)
    assert on_log[1:].tolist() == [1, 10, 2500]
    assert 0 < on_log[0] < 0.5  # a hover text rounds it to 0


@pytest.mark.parametrize(("first", "last"), [(0, 1), (0, 1800), (1, 1), (1, 300_000), (7, 9)])
@pytest.mark.parametrize("log", [False, True])
def test_all_steps_are_within_the_range(first: int, last: int, log: bool):
    axis = step_axis(first, last, log=log)
    ends = places(np.array([first, last]), log=log)
    ends = np.log10(ends) if log else ends
    assert axis["range"][0] < ends[0] <= ends[1] < axis["range"][1]
    room = 0.021 * max(ends[1] - ends[0], 0.1 if log else 1)
    assert ends[0] - axis["range"][0] <= room and axis["range"][1] - ends[1] <= room


def test_a_logarithmic_axis_says_0_where_step_0_lies():
    axis = step_axis(0, 2000, log=True)
    assert axis["type"] == "log"
    labels = dict(zip(axis["tickvals"], axis["ticktext"], strict=True))
    assert labels[places(np.array([0]), log=True)[0]] == "0"
    assert {1: "1", 10: "10", 1000: "1,000"}.items() <= labels.items()
    assert "0" not in step_axis(1, 2000, log=True)["ticktext"]


@settings(max_examples=50)
@given(st.floats(1e-6, 1e6), st.floats(1.0, 1e6), st.integers(2, 8))
def test_ticks_are_few_round_and_seen(low: float, factor: float, n_most: int):
    high = low * factor
    ticks = log_ticks(low, high, n_most=n_most)
    assert 1 <= len(ticks) <= n_most
    assert ticks == sorted(ticks)
    for tick in ticks:
        assert low * (1 - 1e-6) <= tick <= high * (1 + 1e-6)
        mantissa = tick / 10 ** math.floor(math.log10(tick) + 1e-9)
        assert tick == low or mantissa == pytest.approx(round(mantissa))


def test_ticks_by_hand():
    assert log_ticks(1.0, 1800.0, n_most=7) == [1, 3, 10, 30, 100, 300, 1000]
    assert log_ticks(0.7, 13.0, n_most=4) == pytest.approx([1, 2, 5, 10])
    assert log_ticks(2.0, 5.0, n_most=4) == [2, 3, 4, 5]
    assert log_ticks(1.0, 1e6, n_most=4) == pytest.approx([1, 100, 10_000, 1e6])
    assert log_ticks(6.2, 6.4, n_most=4) == [6.2]
