"""The scale of numbers in cells: its ends, the three numbers beside its bar, and which cells are deep."""

import numpy as np

from transformer_core.figures.heatmaps.numbers import Scale, number_heatmap, numbers_in_cells

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


def test_numbers_stand_in_their_cells_and_nowhere_else():
    traces = numbers_in_cells(VALUES, Scale.of([VALUES], diverging=True, decimals=1))
    written = {
        (int(y), int(x)): text
        for trace in traces
        for x, y, text in zip(trace.x, trace.y, trace.text, strict=True)
        if text
    }
    assert written == {(0, 0): "−4.0", (0, 1): "1.0", (1, 1): "2.0"}
    drawn = number_heatmap(np.array([[np.inf, 1.0]]), None, name="a", axis="coloraxis")
    assert np.isnan(drawn.z[0][0]) and drawn.z[0][1] == 1
