"""Lines over an axis: values, hover texts, axes; and calibration."""

import numpy as np

from headlight.figures.curves.lines import Line, calibration, line_figure

X = np.arange(5)


def draw(*lines: Line, **options):
    """The figure, with names for what is always asked."""
    return line_figure(X, lines, **{"title": "T", "x_title": "x", "y_title": "y"} | options)


def test_each_line_has_its_values_its_words_and_its_band():
    first = Line(name="a <b>", values=X**2, words="position {x}: {y}")
    figure = draw(first, Line(name="", values=-X, is_stepped=True), y_format=".4f")
    np.testing.assert_array_equal(figure.data[0].y, X**2)
    assert figure.data[0].hovertemplate == "position %{x}: %{y:.4f}<extra></extra>"
    figure = draw(Line(name="", values=X * 1.0, low=X - 1.0, high=X + 1.0))
    low, high, line = figure.data
    assert high.fill == "tonexty" and low.hoverinfo == high.hoverinfo == "skip" and not low.fill
    for trace, values in ((low, X - 1), (line, X), (high, X + 1)):
        np.testing.assert_array_equal(trace.x, X)
        np.testing.assert_array_equal(trace.y, values)


def test_the_axes_have_room_for_all_and_no_more():
    figure = line_figure(X + 7, [Line(name="", values=X)], title="T", x_title="x", y_title="y", y_range=(-2, 9))
    low, high = figure.layout.xaxis.range
    assert 6.8 < low < 7 and 11 < high < 11.2 and figure.layout.yaxis.range == (-2, 9)


def test_an_axis_of_powers_of_ten_has_room_for_lines_and_levels():
    values = np.array([1e-7, 2e-7, np.nan, 1e-6, 1e-5])
    figure = draw(Line(name="", values=values), is_log=True, levels={"one": 1.0, "<tiny>": 1e-8})
    low, high = figure.layout.yaxis.range
    assert figure.layout.yaxis.type == "log" and -9 < low < -8 and 0 < high < 1
    assert [note.y for note in figure.layout.annotations] == [0, -8]
    assert [shape.y0 for shape in figure.layout.shapes] == [1.0, 1e-8]


def test_marks_are_vertical_lines_with_their_labels():
    figure = draw(Line(name="", values=X), marks={"<end>": 2.0, "": 3.0}, x_range=(0, 10))
    assert [(shape.x0, shape.x1, shape.yref) for shape in figure.layout.shapes] == [(2, 2, "paper"), (3, 3, "paper")]
    assert [(one.text, one.x) for one in figure.layout.annotations] == [("&lt;end&gt;", 2.0)]
    assert figure.layout.xaxis.range == (-0.2, 10.2) and figure.data[0].hovertemplate.startswith("x %{x}: %{y")


def test_points_counts_and_the_diagonal():
    confidence, share, counts = np.array([0.55, 0.9]), np.array([1.0, 0.25]), np.array([1, 4])
    figure = calibration(confidence, share, counts)
    diagonal, bins = figure.data
    assert [*diagonal.x] == [*diagonal.y] == [0, 1]
    np.testing.assert_array_equal(bins.x, confidence)
    np.testing.assert_array_equal(bins.y, share)
    assert [*bins.customdata] == [
        "stated confidence 55%, correct 100%; 1 prediction",
        "stated confidence 90%, correct 25%; 4 predictions",
    ]
    assert [one.text for one in figure.layout.annotations] == ["n = 1", "n = 4", "perfect calibration"]
    (low, high), (bottom, top) = figure.layout.xaxis.range, figure.layout.yaxis.range
    assert low < 0 and high > 1 and bottom < 0 and top > 1
