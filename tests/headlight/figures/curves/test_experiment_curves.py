"""The curves of an experiment: a line for each variant in each panel, the same hue everywhere."""

import json

import numpy as np

from headlight.analysis.training.curves import Curve
from headlight.figures.curves.experiment_curves import experiment_curves, variant_hues

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
