"""The curves of a training: what is drawn of no, one, some and thousands of steps."""

from typing import Any

import numpy as np
import pytest
from plotly.graph_objects import Figure, Scatter

from headlight.analysis.training.curves import Curve, curves_of, smoothed
from headlight.figures import training_curves


def a_log(n: int, seed: int = 0) -> list[dict[str, Any]]:
    random = np.random.default_rng(seed)
    steps = np.arange(1, n + 1)
    loss = 0.3 + 6 * np.exp(-steps / (n / 5)) + 0.1 * random.normal(size=n)
    records: list[dict[str, Any]] = [
        {"step": int(step), "loss": float(value), "learning_rate": 1e-3 / step, "gradient_norm": float(norm)}
        for step, value, norm in zip(steps, loss, random.gamma(2, size=n), strict=True)
    ]
    held_out = {"held_out_pairs": 256, "held_out_loss": 0.5, "held_out_accuracy": 0.9, "held_out_right": 0.8}
    return records + [{"step": int(step)} | held_out for step in steps[9::10]]


def traces(figure: Figure, name: str) -> list[Scatter]:
    return [trace for trace in figure.data if trace.name == name]


def titles(figure: Figure) -> list[str]:
    return [note.text for note in figure.layout.annotations if note.text.startswith("<b>") and note.x == 0]


def test_every_panel_that_has_something_is_there():
    figure = training_curves(curves_of(a_log(100)))
    names = [trace.name for trace in figure.data if trace.showlegend]
    assert names == ["train", "smoothed", "held-out", "accuracy", "right"]  # how many pairs there were is no share
    loss_only = training_curves({"loss": Curve(np.array([1, 2]), np.array([3.0, 2.0]))})
    assert titles(loss_only) == ["<b>Loss</b>, nats per token"]
    assert loss_only.layout.height < figure.layout.height


def test_the_loss_of_a_guided_head_has_a_panel_of_its_own():
    """Batches without a pronoun have none: its curve has gaps, and the others have none."""
    records = [record | ({"guidance": 1 / record["step"]} if record["step"] % 3 else {}) for record in a_log(30)]
    figure = training_curves(curves_of(records))
    (guidance,) = [trace for trace in figure.data if trace.yaxis == "y2"]
    assert [*guidance.x] == [step for step in range(1, 31) if step % 3]
    assert [*guidance.y] == [1 / step for step in range(1, 31) if step % 3]


@pytest.mark.parametrize("n", [1, 10])
def test_few_points_are_marked_and_not_smoothed(n: int):
    figure = training_curves(curves_of(a_log(n)), n_steps=500)
    (loss,) = traces(figure, "train")
    assert len(loss.x) == n and loss.mode == "lines+markers"
    assert not traces(figure, "smoothed")


def test_thousands_of_points_become_few_and_no_extreme_is_lost():
    records = a_log(5000)
    records[3210]["loss"], records[2222]["gradient_norm"] = 11.0, 99.0
    curves = curves_of(records)
    figure = training_curves(curves)
    (loss,) = traces(figure, "train")
    assert len(loss.x) < 2700
    assert max(loss.y) == 11 and min(loss.y) == curves["loss"].values.min()
    (norm,) = (trace for trace in figure.data if "gradient norm" in (trace.hovertemplate or ""))
    assert max(norm.y) == 99
    low, high = figure.layout.yaxis.range
    assert low < min(loss.y) < max(loss.y) < high


def test_of_thousands_of_points_all_are_smoothed_not_those_that_are_drawn():
    """Each extreme is drawn, and among fewer points it would weigh more."""
    curves = curves_of(a_log(5000))
    (smooth,) = traces(training_curves(curves), "smoothed")
    every = smoothed(curves["loss"])
    expected = dict(zip(every.steps.tolist(), every.values.tolist(), strict=True))
    assert len(smooth.x) < 2700
    np.testing.assert_allclose(smooth.y, [expected[step] for step in smooth.x])


def test_measurements_references_and_appearances_are_named():
    figure = training_curves(curves_of(a_log(60)), references={"unigrams": 9.25, "bigrams": 2.5})
    assert sorted(shape.y0 for shape in figure.layout.shapes) == [2.5, 9.25]
    assert {"unigrams 9.25", "bigrams 2.50"} <= {note.text for note in figure.layout.annotations}
    assert figure.layout.yaxis.range[1] > 9.25
    sentences = [(20, "Head one appears."), (40, "Head two appears."), (20, "Head three appears.")]
    figure = training_curves(curves_of(a_log(60)), appearances=sentences)
    (marks,) = (trace for trace in figure.data if trace.mode == "markers")
    assert list(marks.x) == [20, 40] and list(marks.y) == [0, 0] and figure.layout.yaxis.range == (-1, 1)
    assert list(marks.text) == ["Head one appears.<br>Head three appears.", "Head two appears."]
