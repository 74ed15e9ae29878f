"""Tables of numbers as colors."""

import numpy as np

from transformer_core.figures.heatmaps.number_panels import number_panels

VALUES = np.array([[0.0, 0.25, 1.0], [0.5, -0.5, -np.inf]])


def draw(panels, rows=("it", "it"), columns=("a", "<b>", "c"), **more):
    return number_panels(panels, rows, columns, title="T", row_name="token", column_name="word", **more)


def test_cells_hold_the_numbers_and_tell_them():
    figure = draw({"": VALUES}, diverging=True)
    cells = figure.data[0]
    np.testing.assert_array_equal(cells.z[0], VALUES[0])
    assert np.isnan(cells.z[1, 2])
    assert cells.customdata[0, 1] == "token 0 'it', word 1 '&lt;b&gt;': 0.25"
    assert cells.customdata[1, 2] == "token 1 'it', word 2 'c': −∞"
    assert (figure.layout.coloraxis3.cmin, figure.layout.coloraxis3.cmax) == (-1, 1)
    written = {
        (x, y): text for trace in figure.data[1:] for x, y, text in zip(trace.x, trace.y, trace.text, strict=True)
    }
    assert written == {(0, 0): "0.00", (1, 0): "0.25", (2, 0): "1.00", (0, 1): "0.50", (1, 1): "−0.50"}


def test_panels_stand_beside_or_below_each_other_with_one_scale():
    figure = draw({"one": np.eye(2, 3), "two": np.eye(2, 3) / 2}, limits=(0.0, 1.0))
    heatmaps = [trace for trace in figure.data if trace.type == "heatmap"]
    assert [trace.coloraxis for trace in heatmaps] == ["coloraxis", "coloraxis"]
    assert figure.layout.xaxis.domain[1] < figure.layout.xaxis2.domain[0]
    assert figure.layout.xaxis2.domain[1] <= 1
    layout = draw({"one": np.eye(2, 3), "two": np.eye(2, 3)}, stacked=True).layout
    assert layout.yaxis2.domain[1] < layout.yaxis.domain[0] and layout.xaxis.domain == layout.xaxis2.domain


def test_many_rows_and_columns_are_thinned_and_not_written_into():
    figure = number_panels({"": np.zeros((20, 512))}, (), (), title="T", row_name="position", column_name="dimension")
    assert len(figure.data) == 1
    assert list(figure.layout.xaxis.tickvals[:3]) == [0, 50, 100]
    assert figure.data[0].customdata[3, 500] == "position 3, dimension 500: 0.00"
