"""The scores of predictions, against cases worked out by hand."""

import pytest

from pages.shared.predictions.scoring import brier_score, calibration_bins, mean_absolute_error


def test_the_brier_score_of_three_predictions():
    assert brier_score([0.9, 0.6, 0.8], [True, True, False]) == pytest.approx((0.01 + 0.16 + 0.64) / 3)


def test_it_is_half_of_briers_sum_over_both_outcomes():
    """Brier's own example, table 1: rain forecast with these probabilities, and where it fell."""
    rain = [0.7, 0.9, 0.8, 0.4, 0.2, 0.0, 0.0, 0.0, 0.0, 0.1]
    fell = [False, True, True, True, False, False, False, False, False, False]
    both = sum((p - o) ** 2 + ((1 - p) - (1 - o)) ** 2 for p, o in zip(rain, fell, strict=True)) / 10
    assert both == pytest.approx(0.19)
    assert brier_score(rain, fell) == pytest.approx(both / 2)


def test_bins_hold_their_lower_end_and_the_last_one_both():
    confidences = [0.5, 0.55, 0.6, 0.75, 0.9, 0.95, 1.0, 0.0, 0.05, 0.1]
    are_right = [True, False, True, False, True, True, False, False, True, False]
    found = [(one.confidence, one.share_right, one.n) for one in calibration_bins(confidences, are_right)]
    assert found == [
        (pytest.approx(0.025), 0.5, 2),
        (0.1, 0.0, 1),
        (pytest.approx(0.525), 0.5, 2),
        (0.6, 1.0, 1),
        (0.75, 0.0, 1),
        (pytest.approx(0.95), pytest.approx(2 / 3), 3),
    ]


def test_each_confidence_that_can_be_stated_lies_in_the_bin_of_its_ten_percent():
    for percent in range(101):
        (lower,) = calibration_bins([percent / 100, percent // 10 * 10 / 100], [True, True])[:1]
        assert lower.n == 2 or percent == 100
    assert calibration_bins([0.9, 1.0], [True, False])[0].n == 2


def test_errors_count_without_their_sign():
    assert mean_absolute_error([0.25, -0.75]) == 0.5


def test_nothing_has_no_score():
    for score in (brier_score, calibration_bins):
        with pytest.raises(ValueError, match="at least one"):
            score([], [])
        with pytest.raises(ValueError, match="2 confidences and 1 outcomes"):
            score([0.5, 0.6], [True])
    with pytest.raises(ValueError, match="at least one"):
        mean_absolute_error([])
