"""The figures of an experiment: a line for each variant, with the same hue everywhere."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.analysis.training.curves import Curve
from headlight.figures.curves.experiment import experiment_curves, experiment_lengths, spaced, variant_hues

NAMES = {"right": "correct mask", "wrong": "<no> mask"}
STEPS = np.arange(1, 61)
LOSSES = {"right": Curve(STEPS, 3.0 / STEPS), "wrong": Curve(STEPS, 1.0 / STEPS)}
SHARES = {"right": Curve(np.array([0, 60]), np.array([0.0, 0.9])), "wrong": Curve(np.array([0, 60]), np.zeros(2))}
HELD_OUT = {"right": Curve(np.array([0, 60]), np.array([3.0, 0.2])), "wrong": Curve(np.array([0, 60]), np.full(2, 9.0))}


def test_each_panel_has_a_line_for_each_variant():
    figure = experiment_curves(NAMES, LOSSES, held_out_losses=HELD_OUT, shares=SHARES, n_steps=100)
    assert [trace.yaxis for trace in figure.data] == ["y", "y", "y2", "y2", "y3", "y3"]
    for place, drawn in enumerate((LOSSES, HELD_OUT, SHARES)):
        for variant, trace in zip(NAMES, figure.data[2 * place : 2 * place + 2], strict=True):
            np.testing.assert_array_equal(trace.y, drawn[variant].values)
            np.testing.assert_array_equal(trace.x, drawn[variant].steps)
            assert trace.line.color == variant_hues([*NAMES])[variant]
            assert trace.showlegend == (place == 0)
    low, high = figure.layout.xaxis.range
    assert low < 0 < 100 < high  # as far as the experiment is to go
    for axis, top in (("yaxis", 3.0), ("yaxis2", 9.0), ("yaxis3", 1.0)):
        low, high = figure.layout[axis].range
        assert -0.1 * top < low < 0 and top < high < 1.1 * top
    assert "<no>" not in json.dumps([trace.name for trace in figure.data])


def test_panels_without_steps():
    figure = experiment_curves(NAMES, {}, shares={}, n_steps=100)
    assert [trace.name for trace in figure.data if trace.showlegend] == ["correct mask", "&lt;no&gt; mask"]
    assert all(len(trace.y) == 0 for trace in figure.data)
    assert "No steps have been trained yet." in [note.text for note in figure.layout.annotations]


VARIANTS = {"rotary": "rotary", "learned": "learned", "none": "no positions"}
LENGTHS = np.array([3, 5, 8, 16, 24])
BY_LENGTH = {
    "rotary": np.array([1.0, 1.0, 0.98, 0.7, 0.4]),
    "learned": np.array([1.0, 0.97, 0.9, 0.2, 0.201]),
    "none": np.array([0.7, 0.5, 0.4, 0.3, 0.2]),
}


def test_each_variant_is_a_line_and_the_trained_lengths_a_band():
    figure = experiment_lengths(VARIANTS, LENGTHS, BY_LENGTH, trained=(3, 8), unit="letters", step=240)
    assert [trace.name for trace in figure.data] == [*VARIANTS.values()]
    for variant, trace in zip(VARIANTS, figure.data, strict=True):
        np.testing.assert_array_equal(trace.x, LENGTHS)
        np.testing.assert_array_equal(trace.y, BY_LENGTH[variant])
        assert trace.line.color == variant_hues([*VARIANTS])[variant]
    (band,) = figure.layout.shapes
    assert 2 < band.x0 < 3 and 8 < band.x1 < 9 and (band.y0, band.y1, band.yref) == (0, 1, "paper")
    low, high = figure.layout.yaxis.range
    assert low < 0 and high > 1
    names = figure.layout.annotations[2:]
    assert [note.text for note in names] == ["no positions", "learned", "rotary"]  # from the lowest end up
    room = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    heights = [note.y * room for note in names]
    ends = [
        room * (values[-1] - low) / (high - low) for values in sorted(BY_LENGTH.values(), key=lambda line: line[-1])
    ]
    assert heights[2] == pytest.approx(ends[2])  # beside the end of its line
    assert np.diff(heights[:2]) > 14 and sum(heights[:2]) == pytest.approx(sum(ends[:2]))


def test_a_variant_that_was_not_measured_is_left_out():
    figure = experiment_lengths(VARIANTS, LENGTHS, {"none": BY_LENGTH["none"]}, trained=(3, 8), unit="letters", step=48)
    assert [trace.name for trace in figure.data] == ["no positions"]
    assert figure.data[0].line.color == variant_hues([*VARIANTS])["none"]  # its hue stays


@given(st.lists(st.floats(0, 400), max_size=8).map(sorted))
def test_what_is_spaced_is_apart_in_order_and_moved_no_more_than_needed(heights: list[float]):
    moved = spaced(heights, apart=15)
    assert len(moved) == len(heights)
    assert all(b - a >= 15 - 1e-6 for a, b in pairwise(moved))
    assert sum(moved) == pytest.approx(sum(heights))  # groups stay around their middles
    if all(b - a >= 15 for a, b in pairwise(heights)):
        assert moved == pytest.approx(heights)
