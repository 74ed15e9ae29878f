"""Lines over one axis."""

import numpy as np

from transformer_core.figures.curves.plain_lines import plain_lines

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
    end, guess = figure.layout.annotations
    assert (end.text, end.x, end.y, end.xref, end.yref, end.yanchor) == ("end", 2.0, 1, None, "paper", "bottom")
    assert (guess.text, guess.x, guess.y, guess.xref, guess.yref) == ("guess", 1, 1.0, "paper", None)
    assert list(figure.layout.yaxis.range) == [0, 2] and figure.layout.xaxis.range is None
    assert figure.layout.showlegend and len({trace.line.color for trace in figure.data}) == 2
    assert figure.data[1].hovertemplate == "step %{x:,}: &lt;two&gt; %{y:.3g}<extra></extra>"
    alone = plain_lines({"": (X, Y)}, title="T", x_name="step", y_name="loss", x_limits=(0.0, 4.0))
    assert list(alone.layout.xaxis.range) == [0, 4] and alone.layout.yaxis.rangemode == "tozero"
    assert alone.data[0].hovertemplate == "step %{x:,}: %{y:.3g}<extra></extra>" and not alone.layout.showlegend
