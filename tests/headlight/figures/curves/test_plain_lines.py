"""Lines over one axis."""

import numpy as np

from headlight.figures.curves.plain_lines import plain_lines

X, Y = np.array([1, 2, 3]), np.array([0.5, 0.25, 0.125])


def test_lines_marks_and_levels():
    figure = plain_lines(
        {"one": (X, Y), "<two>": (X, 2 * Y)},
        title="T",
        x_name="step",
        y_name="loss",
        marks={"end": 2.0},
        levels={"guess": 1.0},
        y_limits=(0.0, 2.0),
    )
    assert [trace.name for trace in figure.data] == ["one", "&lt;two&gt;"]
    np.testing.assert_array_equal(figure.data[1].y, 2 * Y)
    upright, level = figure.layout.shapes
    assert (upright.x0, upright.x1, upright.yref) == (2.0, 2.0, "paper")
    assert (level.y0, level.y1, level.xref) == (1.0, 1.0, "paper")
    assert list(figure.layout.yaxis.range) == [0, 2] and figure.layout.xaxis.range is None
