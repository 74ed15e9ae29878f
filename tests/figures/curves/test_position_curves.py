"""Curves over positions: their values, their words, their axes."""

import numpy as np
import pytest

from transformer_core.figures.curves.position_curves import Line, position_curves

X = np.arange(5)


def draw(*lines: Line, **options):
    """The figure, with names for what is always asked."""
    return position_curves(X, lines, **{"title": "T", "x_title": "x", "y_title": "y"} | options)


def test_each_line_has_its_values_and_its_words():
    first = Line(name="a <b>", values=X**2, words="position {x}: {y}")
    figure = draw(first, Line(name="", values=-X, is_stepped=True), y_format=".4f")
    np.testing.assert_array_equal(figure.data[0].y, X**2)
    assert figure.data[0].name == "a &lt;b&gt;"
    assert figure.data[0].hovertemplate == "position %{x}: %{y:.4f}<extra></extra>"
    assert figure.data[1].line.shape == "hvh" and not figure.data[1].showlegend


def test_a_band_lies_behind_its_line():
    figure = draw(Line(name="", values=X * 1.0, low=X - 1.0, high=X + 1.0))
    low, high, line = figure.data
    assert high.fill == "tonexty" and low.hoverinfo == high.hoverinfo == "skip"
    assert (np.asarray(low.y) <= line.y).all() and (line.y <= np.asarray(high.y)).all()


def test_an_axis_of_powers_of_ten_has_room_for_lines_and_levels():
    values = np.array([1e-7, 2e-7, np.nan, 1e-6, 1e-5])
    figure = draw(Line(name="", values=values), is_log=True, levels={"one": 1.0, "<tiny>": 1e-8})
    low, high = figure.layout.yaxis.range
    assert figure.layout.yaxis.type == "log" and low < -8 and high > 0
    assert [note.y for note in figure.layout.annotations] == [0, -8]
    assert figure.layout.annotations[1].text == "&lt;tiny&gt;"
    assert [shape.y0 for shape in figure.layout.shapes] == [1.0, 1e-8]


def test_a_place_is_marked_and_long_legends_have_rows():
    figure = draw(Line(name="", values=X), mark=3)
    assert [(shape.x0, shape.x1) for shape in figure.layout.shapes] == [(3, 3)]
    names = [Line(name=f"a rather long name of head {number}", values=X) for number in range(8)]
    assert draw(*names).layout.margin.t > draw(names[0]).layout.margin.t + 50


def test_lines_must_fit():
    with pytest.raises(ValueError, match="5 places, but 4 values of 'b'"):
        draw(Line(name="b", values=X[:4]))
