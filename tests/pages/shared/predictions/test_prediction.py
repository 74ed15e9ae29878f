"""What is right, and what is said of it; what a browser kept is taken, but for what cannot be."""

import math
from typing import Any

import numpy as np
import pytest

from pages.shared.predictions.prediction import Edit, Prediction, judge, verdict
from transformer_core.language import say_message, speaking

LABELS = ("le", "chat", "voit", "le")


def edit(*after: float, of: str = "x") -> Edit:
    before = np.array([0.9, 0.8, 0.2, 0.5], dtype=np.float32)
    return Edit(of=of, labels=LABELS, before=before, after=np.array(after, dtype=np.float32))


FALLS = edit(0.9, 0.3, 0.25, 0.5)  # "chat" by 0.5
RISES = edit(0.89, 0.7, 0.9, 0.5)  # "voit" by 0.7
STILL = edit(0.905, 0.8, 0.2, 0.5)


@pytest.mark.parametrize(
    ("made", "guess", "is_right"),
    [
        *((FALLS, 1, True), (FALLS, 2, False), (FALLS, None, False)),
        *((RISES, 2, True), (RISES, 1, False), (STILL, None, True), (STILL, 0, False)),
    ],
)
def test_right_is_the_output_that_rises_or_falls_most(made: Edit, guess: int | None, is_right: bool):
    prediction = judge(made, guess, None if guess is None else 0.6, 70)
    assert (prediction.guess, prediction.confidence, prediction.is_right) == (guess, 70, is_right)
    if guess is not None:
        assert prediction.error == pytest.approx(0.6 - float(made.after[guess]))
    else:
        assert prediction.probability is prediction.error is None


def test_each_of_several_that_change_equally_is_right():
    made = Edit(of="x", labels=LABELS, before=np.array([0.5, 0.5, 0.5, 0.5]), after=np.array([0.25, 0.75, 0.5, 0.5]))
    assert [judge(made, guess, 0.5, 50).is_right for guess in range(4)] == [True, True, False, False]


@pytest.mark.parametrize(
    ("made", "guess", "told"),
    [
        (FALLS, 1, "Correct: “chat” changes most, from 0.80 to 0.30. You predicted 0.60 (70% sure)."),
        (FALLS, 3, "“le (3)” changes most, to 0.60; it goes from 0.500 to 0.500. “chat” changes most, from 0.80 to 0."),
        (RISES, None, "no output changes by more than 0.01; but “voit” changes from 0.20 to 0.90."),
        (STILL, None, "no output changes by more than 0.01. The largest change is 0.005, for “le (0)”."),
        (STILL, 1, "“chat” changes most, to 0.60; but no output changes by more than 0.01. “chat” goes from 0.800 to"),
    ],
)
def test_the_verdict_says_what_was_predicted_and_what_happened(made: Edit, guess: int | None, told: str):
    message = verdict(made, judge(made, guess, None if guess is None else 0.6, 70))
    assert told in str(message)
    with speaking("de"):
        say_message(message)  # all values have their places


def test_edits_are_told_apart_by_what_they_are_of():
    names = {edit(0, 0, 0, 0, of=of).name for of in ("mask 1", "mask 2", "heads 1")}
    assert len(names) == 3 and all(len(name) == 16 for name in names)
    assert edit(0, 0, 0, 0).name == edit(1, 1, 1, 1).name
    assert Edit(of="x", labels=LABELS[:3], before=np.zeros(3), after=np.zeros(3)).name != edit(0, 0, 0, 0).name


GOOD: dict[str, Any] = {"guess": 1, "probability": 0.25, "confidence": 70, "is_right": True, "error": -0.5}


def test_a_prediction_comes_back_as_it_went():
    for made, guess in ((FALLS, 1), (FALLS, None)):
        prediction = judge(made, guess, None if guess is None else 0.5, 100)
        assert Prediction.from_payload(prediction.payload()) == prediction
    assert Prediction.from_payload(GOOD) == Prediction(**GOOD)


@pytest.mark.parametrize(
    "change",
    [
        *({"guess": -1}, {"guess": "1"}, {"guess": None}, {"guess": 10**9}, {"probability": 1.5}),
        *({"probability": None}, {"probability": math.nan}, {"confidence": -1}, {"confidence": 101}),
        *({"confidence": "70"}, {"is_right": 1}, {"error": 2}, {"error": None}, {"error": math.inf}, {"more": 1}),
    ],
)
def test_what_cannot_be_a_prediction_is_none(change: dict[str, Any]):
    assert Prediction.from_payload(GOOD | change) is None


def test_what_is_no_prediction_is_none():
    for kept in (None, 3, "x", [], {}, [GOOD]):
        assert Prediction.from_payload(kept) is None
