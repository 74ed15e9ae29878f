"""The log as curves: what is damaged is passed over, what is smoothed is bounded, and a change is told from noise."""

import math
import random
from itertools import pairwise

import pytest

from headlight.diagnosis.curves import change, read_curves


def test_lines_become_curves_in_the_order_of_steps():
    curves = read_curves(
        [
            {"step": 20, "loss": 2.0, "learning_rate": 0.1, "gradient_norm": 3.0, "tokens_per_second": 5.0},
            {"step": 10, "loss": 3.0},
            {"step": 20, "held_out_pairs": 4, "held_out_loss": 2.5, "held_out_accuracy": 0.5, "held_out_pronoun": 0.25},
        ]
    )
    assert [(step.step, step.loss, step.learning_rate) for step in curves.steps] == [(10, 3.0, None), (20, 2.0, 0.1)]
    (held_out,) = curves.held_out
    assert (held_out.step, held_out.loss, held_out.accuracy, held_out.outputs) == (20, 2.5, 0.5, {"pronoun": 0.25})
    assert curves.steps_done == 20
    assert curves.first_not_finite is None
    assert curves.losses(10, 20) == [2.0]


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"step": None, "loss": 1.0},
        {"step": "3", "loss": 1.0},
        {"step": math.nan, "loss": 1.0},
        {"step": 3, "loss": "low"},
    ],
)
def test_a_line_that_says_nothing_is_passed_over(record: dict):
    curves = read_curves([record])
    assert (curves.steps, curves.held_out, curves.steps_done) == ((), (), 0)


@pytest.mark.parametrize("value", [math.nan, None])
def test_a_number_that_is_none_is_remembered(value: float | None):
    curves = read_curves([{"step": 1, "loss": 2.0}, {"step": 2, "loss": value}, {"step": 3, "loss": value}])
    assert curves.first_not_finite == 2
    assert [step.step for step in curves.steps] == [1]


def test_of_very_many_lines_some_are_read_and_the_last():
    lines = [{"step": step, "loss": step / 10_000} for step in range(1, 10_001)]
    curves = read_curves([*lines, *({"step": step, "held_out_loss": 1.0} for step in range(1, 101))])
    assert 1000 < len(curves.steps) <= 2000
    assert len(curves.held_out) == 100
    assert curves.steps_done == 10_000
    distances = [b.step - a.step for a, b in pairwise(curves.steps)]
    assert min(distances) == max(distances)


def test_numbers_too_large_to_reckon_with_are_cut():
    curves = read_curves([{"step": 1, "loss": 10**400}, {"step": 2, "loss": 1e308, "gradient_norm": -(10**400)}])
    assert [step.loss for step in curves.steps] == [1e30, 1e30]
    assert sum(step.loss**2 for step in curves.steps) < math.inf


def test_a_change_is_told_from_noise():
    draw = random.Random(1)
    level = [2.0 + draw.gauss(0, 0.2) for _ in range(40)]
    lower = [1.5 + draw.gauss(0, 0.2) for _ in range(40)]
    again = [2.0 + draw.gauss(0, 0.2) for _ in range(40)]
    fall, rise, none = change(level, lower), change(lower, level), change(level, again)
    assert fall and fall.is_fall and not fall.is_rise
    assert rise and rise.is_rise and not rise.is_fall
    assert none and not none.is_fall and not none.is_rise
    assert change(level, lower[:3]) is None
