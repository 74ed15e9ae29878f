"""The part of a page that shows calibration: its numbers, and what it says of few predictions."""

from typing import Any

import numpy as np
import pytest

from pages.shared.predictions import answers, calibration
from pages.shared.predictions.prediction import Edit, Prediction
from tests.pages.learn.bare import Bare

FIGURE = "predict-calibration-figure"


def predict(n: int, confidence: int, *, is_right: bool, error: float | None = 0.2) -> None:
    for _ in range(n):
        edit = Edit(of=str(len(answers.given())), labels=("a",), before=np.zeros(1), after=np.zeros(1))
        guess, probability = (None, None) if error is None else (0, 0.5)
        named: Any = {"guess": guess, "probability": probability, "error": error}
        answers.give(edit, Prediction(confidence=confidence, is_right=is_right, **named))


def test_without_predictions_there_is_no_figure_and_where_none_are_asked_for_nothing(bare: Bare):
    calibration.show()
    assert calibration.NO_PREDICTIONS in bare.words and not bare.figures
    bare.clear()
    answers.IS_ON.set(False)
    calibration.show()
    assert not bare.texts and not bare.places


@pytest.mark.parametrize(
    ("n", "told"),
    [
        (1, "1 prediction says nothing about calibration yet: it needs 10 or more."),
        (9, "9 predictions are too few to judge calibration"),
        (10, ""),
    ],
)
def test_few_predictions_are_called_few(bare: Bare, n: int, told: str):
    predict(n, 60, is_right=True)
    calibration.show()
    assert told in bare.words and ("too few" in bare.words or "says nothing" in bare.words) == bool(told)


def test_the_numbers_are_those_of_the_predictions(bare: Bare):
    predict(3, 80, is_right=True, error=0.25)
    predict(1, 80, is_right=False, error=-0.75)
    predict(1, 50, is_right=True, error=None)
    calibration.show()
    brier = (3 * 0.2**2 + 0.8**2 + 0.5**2) / 5
    for told in (
        ">Predictions</span>5<",
        "4 of 5",
        f"{brier:.3f}",
        ">Mean absolute error of the probability</span>0.38<",
    ):
        assert told in bare.words
    assert "Brier 1950" in bare.words
    (bins,) = [trace for trace in bare.figures[FIGURE].figure.data if trace.mode == "lines+markers"]
    np.testing.assert_allclose(bins.x, [0.5, 0.8])
    np.testing.assert_allclose(bins.y, [1.0, 0.75])
    rows = bare.figures[FIGURE].rows
    assert rows[0] == "prediction,confidence,right,predicted_probability,error"
    assert rows[4:] == ["4,0.8,0,0.5000,-0.7500", "5,0.5,1,,"] and len(rows) == 6
