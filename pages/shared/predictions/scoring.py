"""How good predictions were: the Brier score, the calibration by bins of confidence, the mean absolute error."""

from collections.abc import Sequence
from dataclasses import dataclass

BIN_EDGES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Ends of the bins of stated confidence; each has its lower end, the last one also the upper end."""


@dataclass(frozen=True, kw_only=True)
class CalibrationBin:
    """The predictions whose stated confidence lies in one bin; at least one."""

    confidence: float  # their mean, in [0, 1]
    share_right: float  # in [0, 1]
    n: int


def brier_score(confidences: Sequence[float], are_right: Sequence[bool]) -> float:
    """Return the mean of (confidence - outcome)^2, where the outcome is 1 if the prediction was correct and 0 if not.

    0 is best; always stating 0.5 gives 0.25, and being certain and wrong gives 1.

    Args:
        confidences: stated probabilities of being right, in [0, 1]; at least one.
        are_right: whether each prediction was correct.

    Raises:
        ValueError: no predictions, or not as many outcomes.

    Source: Brier 1950, eq. (2), whose sum has a term for "right" and an equal one for "wrong".
    Differs: the usual form for two outcomes, half of Brier's sum.
    """
    _check(confidences, are_right)
    return sum((p - o) ** 2 for p, o in zip(confidences, are_right, strict=True)) / len(confidences)


def calibration_bins(confidences: Sequence[float], are_right: Sequence[bool]) -> list[CalibrationBin]:
    """Return the bins of `BIN_EDGES` that hold predictions, from the lowest confidence to the highest.

    Args:
        confidences: stated probabilities of being right, in [0, 1]; at least one.
        are_right: whether each prediction was correct.

    Raises:
        ValueError: no predictions, or not as many outcomes.

    Source: Murphy and Winkler 1977, the reliability diagram.
    """
    _check(confidences, are_right)
    results: dict[int, list[tuple[float, bool]]] = {}
    for confidence, is_right in zip(confidences, are_right, strict=True):
        inner = BIN_EDGES[1:-1]
        results.setdefault(sum(confidence >= edge for edge in inner), []).append((confidence, is_right))
    return [
        CalibrationBin(
            confidence=sum(confidence for confidence, _ in of_bin) / len(of_bin),
            share_right=sum(is_right for _, is_right in of_bin) / len(of_bin),
            n=len(of_bin),
        )
        for _, of_bin in sorted(results.items())
    ]


def mean_absolute_error(errors: Sequence[float]) -> float:
    """Return the mean of |predicted - actual probability|, in [0, 1].

    Args:
        errors: the differences, of either sign; at least one.

    Raises:
        ValueError: none.
    """
    if not errors:
        raise ValueError("There are no errors to average; give at least one.")
    return sum(map(abs, errors)) / len(errors)


def _check(confidences: Sequence[float], are_right: Sequence[bool]) -> None:
    if not confidences or len(confidences) != len(are_right):
        raise ValueError(
            f"There are {len(confidences)} confidences and {len(are_right)} outcomes; give at least one, and one each."
        )
