"""How well calibrated a learner is: the figure, the Brier score and its parts, and errors of probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
import streamlit as st

from headlight.figures.curves.lines import calibration
from headlight.language import localized, say, say_number
from pages.shared import prose
from pages.shared.drawing import draw
from pages.shared.predictions import answers
from pages.shared.predictions.prediction import Prediction
from pages.shared.recipe import Print, call, each, literal, named, value_of
from transformer_core.errors import mark

FEW = 10  # number of predictions below which calibration cannot be judged
HEIGHT = 300  # px
OF_BINS = ("confidence", "share_right", "n")  # what is known of each
FORMULA = mark(
    "Brier score: (1/N) Σ (confidence − outcome)², where the outcome is 1 for a correct prediction and 0 for a "
    "wrong one (Brier 1950; here with one term per prediction, half of his sum). 0 is best; always stating 50% "
    "gives 0.25."
)
CALIBRATED = mark(
    "You are well calibrated if, of the predictions that you are 80% sure of, 80% are correct. Points below the "
    "dashed line mean overconfidence. Each edit counts once, with your first prediction."
)
NO_PREDICTIONS = mark("You have made no predictions yet.")
BIN_EDGES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Ends of the bins of stated confidence; each has its lower end, the last one also the upper end."""


def show() -> None:
    """Draw the calibration, folded; nothing where no predictions are requested."""
    if not answers.is_on():
        return
    title = say("Your calibration")
    with st.expander(
        prose.plain(title), icon=":material/target:", key="predict-calibration", on_change="rerun"
    ) as part:
        if part.open:
            _content(answers.predictions())


def _content(predictions: list[Prediction]) -> None:
    if not predictions:
        prose.small(say(NO_PREDICTIONS))
        return
    confidences = [one.confidence / 100 for one in predictions]
    are_right = [one.is_right for one in predictions]
    n = len(predictions)
    prose.facts(_facts(predictions, brier_score(confidences, are_right)))
    if n < FEW:
        prose.note(
            say_number(
                n,
                "{n} prediction says nothing about calibration yet: it needs {few} or more.",
                "{n} predictions are too few to judge calibration: with fewer than {few}, chance decides where the "
                "points lie.",
                few=FEW,
            )
        )
    bins = named("bins", call(calibration_bins, confidences, are_right))
    columns = {name: call(np.array, each("one", bins, attrgetter(name))) for name in OF_BINS}
    numbers = named("numbers", literal(columns))
    draw(
        call(calibration, *(numbers[name] for name in OF_BINS), height=HEIGHT),
        Print(numbers, "by bin of the stated confidence"),
        title=say("Your calibration"),
        name="calibration",
        key="predict-calibration-figure",
        csv=lambda: table(predictions),
        arrays=lambda: value_of(numbers),
        model=None,
        view=dict,
        about="",
    )
    prose.small(say(CALIBRATED))
    prose.small(say(FORMULA))


def _facts(predictions: list[Prediction], brier: float) -> list[tuple[str, str]]:
    n, n_right = len(predictions), sum(one.is_right for one in predictions)
    errors = [one.error for one in predictions if one.error is not None]
    error = localized(mean_absolute_error(errors), ".2f") if errors else "–"
    return [
        (say("Predictions"), str(n)),
        (say("Right"), say("{right} of {n}", right=n_right, n=n)),
        (say("Brier score"), localized(brier, ".3f")),
        (say("Mean absolute error of the probability"), error),
    ]


def table(predictions: list[Prediction]) -> str:
    """Return the predictions as CSV: confidence, correctness, predicted probability and its signed error."""
    rows = ["prediction,confidence,right,predicted_probability,error"]
    for number, one in enumerate(predictions, start=1):
        values = ("" if value is None else f"{value:.4f}" for value in (one.probability, one.error))
        rows.append(f"{number},{one.confidence / 100:g},{int(one.is_right)},{','.join(values)}")
    return "\n".join(rows) + "\n"


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
    place_of = np.searchsorted(BIN_EDGES[1:-1], confidences, side="right")
    results = []
    for place in np.unique(place_of):
        inside = np.flatnonzero(place_of == place).tolist()
        confidence, n_right = (sum(values[i] for i in inside) for values in (confidences, are_right))
        results.append(
            CalibrationBin(confidence=confidence / len(inside), share_right=n_right / len(inside), n=len(inside))
        )
    return results


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
