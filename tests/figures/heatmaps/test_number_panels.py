"""Tables of numbers as colors."""

import numpy as np
import pytest

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


def test_what_is_no_finite_number_is_told_as_it_is():
    cells = draw({"": np.array([[np.nan, np.inf, -np.inf]])}, rows=("it",)).data[0]
    assert [words.rpartition(": ")[2] for words in cells.customdata[0]] == ["NaN", "∞", "−∞"]


def test_panels_stand_beside_each_other_with_one_scale():
    figure = draw({"one": np.eye(2, 3), "two": np.eye(2, 3) / 2}, limits=(0.0, 1.0))
    heatmaps = [trace for trace in figure.data if trace.type == "heatmap"]
    assert [trace.coloraxis for trace in heatmaps] == ["coloraxis", "coloraxis"]
    assert figure.layout.xaxis.domain[1] < figure.layout.xaxis2.domain[0]
    assert figure.layout.xaxis2.domain[1] <= 1
    assert list(figure.layout.yaxis.range) == [1.5, -0.5]  # first row on top
    assert not figure.layout.yaxis2.showticklabels
    assert {note.text for note in figure.layout.annotations} == {"<b>one</b>", "<b>two</b>", "word"}


def test_panels_stand_below_each_other():
    figure = draw({"one": np.eye(2, 3), "two": np.eye(2, 3)}, stacked=True)
    assert figure.layout.xaxis.domain == figure.layout.xaxis2.domain
    assert figure.layout.yaxis2.domain[1] < figure.layout.yaxis.domain[0]
    assert figure.layout.yaxis2.domain[0] >= 0
    assert (figure.layout.xaxis.showticklabels, figure.layout.xaxis2.showticklabels) == (True, False)
    assert figure.layout.yaxis2.showticklabels
    assert [note.text for note in figure.layout.annotations] == ["<b>one</b>", "<b>two</b>", "word"]


@pytest.mark.parametrize("stacked", [False, True])
def test_each_panel_has_its_own_cells_numbers_and_name(stacked: bool):
    panels = {"one": np.full((2, 3), 1.0), "two": np.full((2, 3), 2.0)}
    figure = draw(panels, stacked=stacked)
    layout = figure.layout
    for trace in figure.data:
        values = trace.z.ravel() if trace.type == "heatmap" else [float(text) for text in trace.text]
        assert set(values) <= {{"x": 1.0, "x2": 2.0}[trace.xaxis]} and trace.yaxis == trace.xaxis.replace("x", "y")
    assert [sum(len(t.x) for t in figure.data if t.type == "scatter" and t.xaxis == x) for x in ("x", "x2")] == [6, 6]
    room = layout.height - layout.margin.t - layout.margin.b
    names = [note for note in layout.annotations if note.text != "word"]
    for name, number in zip(names, ("", "2"), strict=True):
        x, y = layout[f"xaxis{number}"], layout[f"yaxis{number}"]
        assert (name.x, name.y, name.yanchor) == (pytest.approx(sum(x.domain) / 2), y.domain[1], "bottom")
        assert (x.range, y.range) == ((-0.5, 2.5), (1.5, -0.5))
        inner = 560 - layout.margin.l - layout.margin.r
        assert (x.domain[1] - x.domain[0]) * inner == pytest.approx(inner if stacked else (inner - 26) / 2)
        assert (y.domain[1] - y.domain[0]) * room == pytest.approx(2 * 26)
    below = [note for note in layout.annotations if note.text == "word"]
    assert [(note.y, note.yanchor) for note in below] == [(0, "top")] * (1 if stacked else 2)
    if stacked:
        gap = (layout.yaxis.domain[0] - layout.yaxis2.domain[1]) * room
        assert gap == pytest.approx(30) and names[1].yshift < names[0].yshift
    else:
        assert layout.xaxis2.domain[1] == pytest.approx(1)


def test_margins_have_room_for_labels_and_the_bar_of_colors():
    plain, slanted = draw({"": VALUES}).layout, draw({"": VALUES}, columns=("a" * 13, "b", "c"), width=350).layout
    assert (plain.xaxis.tickangle, slanted.xaxis.tickangle) == (0, -45)
    assert slanted.margin.t - plain.margin.t >= 13 * 7 / np.sqrt(2) - 14
    assert draw({"": VALUES}, rows=("a long label", "b")).layout.margin.l - plain.margin.l == 10 * 7
    bare = draw({"": VALUES}, with_colors=False).layout
    assert bare.coloraxis.showscale is False and plain.margin.r - bare.margin.r >= 60
    assert draw({"named": VALUES}).layout.margin.t - plain.margin.t >= 20


def test_many_rows_and_columns_are_thinned_and_not_written_into():
    figure = number_panels({"": np.zeros((20, 512))}, (), (), title="T", row_name="position", column_name="dimension")
    assert len(figure.data) == 1
    assert list(figure.layout.xaxis.tickvals[:3]) == [0, 50, 100]
    assert figure.data[0].customdata[3, 500] == "position 3, dimension 500: 0.00"


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="one panel at least"):
        draw({})
    with pytest.raises(ValueError, match="all of one shape"):
        draw({"a": np.eye(2, 3), "b": np.eye(2)})
    with pytest.raises(ValueError, match="but there are 1 and 3 labels"):
        draw({"": np.eye(2, 3)}, rows=("a",))


def test_a_marked_cell_has_a_frame_in_each_panel():
    figure = draw({"one": np.eye(2, 3), "two": np.eye(2, 3)}, marked=(1, 2))
    frames = [(shape.xref, shape.yref, shape.x0, shape.x1, shape.y0, shape.y1) for shape in figure.layout.shapes]
    assert frames == [("x", "y", 1.5, 2.5, 0.5, 1.5), ("x2", "y2", 1.5, 2.5, 0.5, 1.5)]
    assert not draw({"": VALUES}).layout.shapes


def test_a_row_whose_label_says_what_it_is_is_called_by_it():
    figure = number_panels({"": np.array([[0.25]])}, ["L1.H0"], ["the"], title="T", row_name="", column_name="position")
    assert figure.data[0].customdata[0][0] == "L1.H0, position 0 'the': 0.25"
