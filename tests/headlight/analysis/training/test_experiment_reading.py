"""The log of an experiment, read: nothing, a beginning, and variants of which one ended."""

from typing import Any

import numpy as np

from headlight.analysis.training.experiment_reading import read_experiment
from transformer_core.errors import Message

VARIANTS = ("rotary_halves", "none")
MEASURED: dict[str, Any] = {
    "held_out": {"none": {"loss": 3.0, "exact_match": 0.0}, "rotary_halves": {"loss": 2.0, "exact_match": 0.25}},
    "lengths": [3, 9],
    "by_length": {"none": [0.5, 0.25], "rotary_halves": [1.0, 0.5]},
    "samples": [["abc", "cba"]],
    "outputs": {"none": ["aaa"], "rotary_halves": ["cba"]},
}
LOG: list[dict[str, Any]] = [
    {"step": 0} | MEASURED,
    {"step": 1, "loss": {"none": 3.5, "rotary_halves": 3.25}, "ended": {}, "seconds": 0.5},
    {"step": 2, "loss": {"rotary_halves": 3.0}, "ended": {"none": "it exploded"}, "seconds": 1.5},
    {"step": 2, "held_out": {"rotary_halves": {"loss": 1.0, "exact_match": 0.5}}, "lengths": [3, 9]}
    | {"by_length": {"rotary_halves": [1.0, 0.75]}, "samples": [["abc", "cba"]], "outputs": {"rotary_halves": ["cba"]}},
]


def test_before_the_first_line_there_is_nothing():
    reading = read_experiment([], VARIANTS)
    assert (reading.step, reading.last("loss"), reading.losses) == (0, {}, {})


def test_each_variant_has_its_curve_in_the_order_that_was_asked():
    reading = read_experiment(LOG, VARIANTS)
    assert [*reading.losses] == [*VARIANTS] == [*reading.held_out["loss"]]
    assert reading.losses["rotary_halves"].steps.tolist() == [1, 2]
    assert reading.losses["rotary_halves"].values.tolist() == [3.25, 3.0]
    assert reading.losses["none"].values.tolist() == [3.5]
    assert reading.held_out["exact_match"]["rotary_halves"].values.tolist() == [0.25, 0.5]
    assert reading.last("loss") == {"rotary_halves": 1.0, "none": 3.0}
    assert (reading.step, reading.seconds) == (2, 1.5)
    assert reading.ended == {"none": Message("it exploded")}


def test_what_was_measured_last_counts():
    first, last = read_experiment(LOG[:2], VARIANTS), read_experiment(LOG, VARIANTS)
    assert (first.measured_at, last.measured_at) == (0, 2)
    assert [*first.by_length] == [*VARIANTS]
    np.testing.assert_array_equal(first.by_length["none"], [0.5, 0.25])
    assert [*last.by_length] == ["rotary_halves"]
    np.testing.assert_array_equal(last.by_length["rotary_halves"], [1.0, 0.75])
    assert (last.samples, last.outputs) == ([("abc", "cba")], {"rotary_halves": ["cba"]})
