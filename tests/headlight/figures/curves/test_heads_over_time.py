"""All heads over the steps: a line each, its hue its layer, and the highlighted ones."""

import numpy as np
import pytest
from plotly.graph_objects import Figure, Scatter

from headlight.figures import heads_over_time
from headlight.figures.theme import layer_hues

STEPS = np.array([0, 1, 5, 20, 100])


def scores(*shape: int, seed: int = 0, steps: np.ndarray = STEPS) -> np.ndarray:
    return np.random.default_rng(seed).random((*shape, len(steps)))


def lines(figure: Figure, words: str = "</b>") -> list[Scatter]:
    return [trace for trace in figure.data if words in (trace.hovertemplate or "")]


def test_a_line_for_each_head_in_a_panel_for_each_attention():
    given = {"decoder": scores(2, 3), "cross": scores(2, 3, seed=1)}
    figure = heads_over_time(STEPS, given)
    actual = lines(figure)
    assert len(actual) == 12
    for trace in actual:
        words, *_ = trace.hovertemplate.removeprefix("<b>").partition("</b>")
        attention, _, place = words.rpartition(" L")
        name = {"Decoder self-attention": "decoder", "Cross-attention": "cross"}[attention]
        at = tuple(map(int, place.split(".H")))
        np.testing.assert_array_equal(trace.y, given[name][at])
        assert trace.yaxis == {"decoder": "y", "cross": "y2"}[name]
        assert trace.line.color == layer_hues(2)[at[0]]


def test_the_chosen_head_is_strong_drawn_last_and_named_at_its_end():
    given = {"cross": scores(2, 3)}
    figure = heads_over_time(STEPS, given, chosen=("cross", 0, 1))
    *others, chosen = lines(figure)
    np.testing.assert_array_equal(chosen.y, given["cross"][0, 1])
    assert all(chosen.line.width > 2 * other.line.width and chosen.opacity > other.opacity for other in others)
    (label,) = (note for note in figure.layout.annotations if "H1" in note.text)
    assert (label.text, label.y, label.yref) == ("<b>L0.H1</b>", given["cross"][0, 1, -1], "y")
    given["cross"][0, 1, [0, -1]] = np.nan
    figure = heads_over_time(STEPS, given, chosen=("cross", 0, 1))
    (label,) = (note for note in figure.layout.annotations if "H1" in note.text)
    assert label.y == given["cross"][0, 1, -2]  # where its line ends


@pytest.mark.parametrize(("n_steps", "snapshot", "last"), [(None, None, 100), (500, None, 500), (50, 700, 700)])
def test_the_axis_goes_as_far_as_the_training_and_what_is_marked(n_steps: int | None, snapshot: int | None, last: int):
    figure = heads_over_time(STEPS[2:], {"cross": scores(1, 2)[..., 2:]}, n_steps=n_steps, snapshot=snapshot)
    low, high = figure.layout.xaxis.range
    assert low == pytest.approx(-0.02 * last) and high == pytest.approx(1.02 * last)


def test_thresholds_and_habits_are_marked():
    figure = heads_over_time(STEPS, {"encoder": scores(1, 2), "cross": scores(1, 2)}, threshold=0.3)
    assert [(shape.yref, shape.y0, shape.y1) for shape in figure.layout.shapes] == [("y", 0.3, 0.3), ("y2", 0.3, 0.3)]
    given = {"cross": scores(2, 3)}
    appearances = [(("cross", 1, 2), 20, "It appears."), (("decoder", 0, 0), 5, "Another does.")]
    figure = heads_over_time(STEPS, given, appearances=appearances)
    (marks,) = (trace for trace in figure.data if trace.mode == "markers")
    assert (list(marks.x), list(marks.y), list(marks.text)) == ([20], [given["cross"][1, 2, 3]], ["It appears."])


def test_chance_is_a_band_over_all_heads_and_a_dotted_line_for_the_chosen_one():
    chances = {"cross": scores(2, 3, seed=2) / 5}
    figure = heads_over_time(STEPS, {"cross": scores(2, 3)}, chances=chances, chosen=("cross", 1, 2))
    (band,) = (trace for trace in figure.data if trace.fill)
    n = len(STEPS)
    np.testing.assert_allclose(band.y[:n], chances["cross"].max(axis=(0, 1)))
    np.testing.assert_allclose(band.y[n:][::-1], chances["cross"].min(axis=(0, 1)))
    assert list(band.x) == [*STEPS, *STEPS[::-1]]
    (dotted,) = (trace for trace in figure.data if trace.line.dash == "dot")
    np.testing.assert_array_equal(dotted.y, chances["cross"][1, 2])
    assert all("shuffled tokens: %{customdata:.2f}" in trace.hovertemplate for trace in lines(figure))
    np.testing.assert_array_equal(lines(figure)[-1].customdata, chances["cross"][1, 2])


def test_what_is_not_known_is_no_point():
    given = scores(1, 2)
    given[0, 1, :2] = np.nan
    figure = heads_over_time(STEPS, {"cross": given}, chances={"cross": np.full_like(given, np.nan)})
    assert [len(trace.x) for trace in lines(figure)] == [5, 3]
    assert not [trace for trace in figure.data if trace.fill]
    given[0, 1, :4] = np.nan
    assert [trace.mode for trace in lines(heads_over_time(STEPS, {"cross": given}))] == ["lines", "markers"]
    for none in ({}, {"cross": scores(1, 2)[..., :0]}):
        figure = heads_over_time(STEPS[:0], none, n_steps=100)
        assert [note.text for note in figure.layout.annotations][1:] == ["No snapshots have been measured yet."]
