"""Calibration: a point a bin, its count, and the diagonal."""

import numpy as np

from headlight.figures.curves.calibration import calibration


def test_points_counts_and_the_diagonal():
    confidence, share, counts = np.array([0.55, 0.9]), np.array([1.0, 0.25]), np.array([1, 4])
    figure = calibration(confidence, share, counts)
    diagonal, bins = figure.data
    assert [*diagonal.x] == [*diagonal.y] == [0, 1]
    np.testing.assert_array_equal(bins.x, confidence)
    np.testing.assert_array_equal(bins.y, share)
    assert [*bins.customdata] == [
        "stated confidence 55%, right 100%; 1 prediction",
        "stated confidence 90%, right 25%; 4 predictions",
    ]
    assert [one.text for one in figure.layout.annotations] == ["n = 1", "n = 4", "perfect calibration"]
    (low, high), (bottom, top) = figure.layout.xaxis.range, figure.layout.yaxis.range
    assert low < 0 and high > 1 and bottom < 0 and top > 1
