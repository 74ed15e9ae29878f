"""Tables of numbers as colors."""

import numpy as np

from headlight.figures import TokenGrid
from headlight.figures.heatmaps.number_panels import Scale, number_panels


def draw(panels, rows=("it", "it"), columns=("a", "<b>", "c"), **more):
    return number_panels(panels, TokenGrid(rows, columns, query_name="token", key_name="word"), title="T", **more)


def test_panels_stand_beside_or_below_each_other_with_one_scale():
    figure = draw({"one": np.eye(2, 3), "two": np.eye(2, 3) / 2}, limits=(0.0, 1.0))
    heatmaps = [trace for trace in figure.data if trace.type == "heatmap"]
    assert [trace.coloraxis for trace in heatmaps] == ["coloraxis", "coloraxis"]
    assert figure.layout.xaxis.domain[1] < figure.layout.xaxis2.domain[0]
    assert figure.layout.xaxis2.domain[1] <= 1
    layout = draw({"one": np.eye(2, 3), "two": np.eye(2, 3)}, stacked=True).layout
    assert layout.yaxis2.domain[1] < layout.yaxis.domain[0] and layout.xaxis.domain == layout.xaxis2.domain


def test_many_rows_and_columns_are_thinned_and_not_written_into():
    figure = number_panels(
        {"": np.zeros((20, 512))}, TokenGrid((), (), query_name="position", key_name="dimension"), title="T"
    )
    assert len(figure.data) == 1
    assert list(figure.layout.xaxis.tickvals[:3]) == [0, 50, 100]
    assert figure.data[0].customdata[3, 500] == "position 3, dimension 500: 0.00"


VALUES = np.array([[-4.0, 1.0], [np.nan, 2.0]])


def test_a_scale_has_room_for_every_finite_number_and_is_never_empty():
    some = [VALUES, np.array([np.inf, 3.0])]
    assert (Scale.of(some).low, Scale.of(some).high) == (0, 4)
    both_ways = Scale.of(some, diverging=True)
    assert (both_ways.low, both_ways.high) == (-4, 4)
    for nothing in ([np.zeros(3)], [np.array([np.nan])]):
        assert (Scale.of(nothing).low, Scale.of(nothing).high) == (0, 1)
    given = Scale.of(some, (2.0, 6.0), diverging=True)
    assert (given.low, given.high) == (2, 6)


def test_a_cell_is_deep_where_its_color_is_and_around_zero_both_ways():
    scale = Scale(low=1, high=3)
    assert scale.is_deep(1 + 2 * np.array([0, 0.4, 0.41, 1])).tolist() == [0, 0, 1, 1]
    around = Scale(low=-2, high=2, diverging=True)
    assert around.is_deep(np.array([-2, -1.8, -1.79, 0, 1.79, 1.8, 2])).tolist() == [1, 1, 0, 0, 0, 1, 1]
