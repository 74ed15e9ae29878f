"""The scale of numbers in cells: its ends, and which cells are deep."""

import numpy as np

from headlight.figures.heatmaps.numbers import Scale

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
