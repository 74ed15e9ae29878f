"""Predictions: the questions and what may be seen, what is correct, how they score, and what a browser kept of them."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from headlight.language import say_message, speaking
from pages.shared.predictions import answers, box, calibration
from pages.shared.predictions.calibration import brier_score, calibration_bins, mean_absolute_error
from pages.shared.predictions.prediction import PredictedEdit, Prediction, judge, verdict
from tests.pages.learn.bare import Bare, drawn_bare

LABELS = ("le", "chat", "voit", "le")
ONE = Prediction(guess=0, probability=0.5, confidence=80, is_right=True, error=0.1)
OTHER = Prediction(guess=None, probability=None, confidence=50, is_right=False, error=None)
GOOD: dict[str, Any] = {"guess": 1, "probability": 0.25, "confidence": 70, "is_right": True, "error": -0.5}


def edit(*after: float, of: str = "x") -> PredictedEdit:
    before = np.array([0.9, 0.8, 0.2, 0.5], dtype=np.float32)
    return PredictedEdit(of=of, labels=LABELS, before=before, after=np.array(after or before, dtype=np.float32))


FALLS = edit(0.9, 0.3, 0.25, 0.5)  # "chat" by 0.5
RISES = edit(0.89, 0.7, 0.9, 0.5)  # "voit" by 0.7
STILL = edit(0.905, 0.8, 0.2, 0.5)


@pytest.fixture
def bare() -> Iterator[Bare]:
    """Parts of pages drawn without an app, with predictions asked for."""
    with drawn_bare() as drawn:
        answers.IS_ON.set(True)
        yield drawn


@pytest.mark.parametrize(
    ("result", "guess", "is_right", "text"),
    [
        (FALLS, 1, True, "Correct: “chat” changes most, from 0.80 to 0.30. You predicted 0.60 (70% sure)."),
        (FALLS, 3, False, "“le (3)” changes most, to 0.60; it goes from 0.500 to 0.500. “chat” changes most"),
        (RISES, 2, True, "Correct: “voit” changes most, from 0.20 to 0.90."),
        (RISES, None, False, "no output changes by more than 0.01; but “voit” changes from 0.20 to 0.90."),
        (STILL, None, True, "no output changes by more than 0.01. The largest change is 0.005, for “le (0)”."),
        (STILL, 1, False, "“chat” changes most, to 0.60; but no output changes by more than 0.01. “chat” goes from"),
    ],
)
def test_right_is_the_output_that_changes_most_and_that_is_said(
    result: PredictedEdit, guess: int | None, is_right: bool, text: str
):
    prediction = judge(result, guess, None if guess is None else 0.6, 70)
    assert (prediction.guess, prediction.is_right) == (guess, is_right)
    assert prediction.error == (None if guess is None else pytest.approx(0.6 - float(result.after[guess])))
    assert Prediction.from_payload(prediction.payload()) == prediction
    message = verdict(result, prediction)
    assert text in str(message)
    with speaking("de"):
        say_message(message)  # all values have their places


def test_each_of_several_that_change_equally_as_far_as_one_can_see_is_right():
    result = PredictedEdit(of="x", labels=LABELS, before=np.full(4, 0.5), after=np.array([0.25, 0.747, 0.5, 0.5]))
    assert [judge(result, guess, 0.5, 50).is_right for guess in range(4)] == [True, True, False, False]


@pytest.mark.parametrize(
    "kept",
    [
        *(None, 3, [GOOD], {}),
        *(GOOD | change for change in ({"guess": -1}, {"guess": None}, {"guess": 10**9}, {"probability": 1.5})),
        *(GOOD | change for change in ({"probability": None}, {"probability": math.nan}, {"confidence": 101})),
        *(GOOD | change for change in ({"confidence": "70"}, {"is_right": 1}, {"error": 2}, {"error": None})),
    ],
)
def test_what_cannot_be_a_prediction_is_left_out(bare: Bare, kept: Any):
    assert Prediction.from_payload(GOOD) == Prediction(**GOOD)
    assert Prediction.from_payload(kept) is None
    answers.restore({"x": GOOD} if kept is None else {edit().name: kept})
    assert not answers.given()


def test_the_brier_score_is_half_of_briers_sum_over_both_outcomes():
    """Brier's own example, table 1: rain forecast with these probabilities, and where it fell."""
    rain = [0.7, 0.9, 0.8, 0.4, 0.2, 0.0, 0.0, 0.0, 0.0, 0.1]
    fell = [False, True, True, True, False, False, False, False, False, False]
    assert brier_score(rain, fell) == pytest.approx(0.19 / 2)
    assert mean_absolute_error([0.25, -0.75]) == 0.5


def test_bins_hold_their_lower_end_and_the_last_one_both():
    confidences = [0.5, 0.55, 0.6, 0.75, 0.9, 0.95, 1.0, 0.0, 0.05, 0.1]
    are_right = [True, False, True, False, True, True, False, False, True, False]
    results = [(one.confidence, one.share_right, one.n) for one in calibration_bins(confidences, are_right)]
    assert results == [
        (pytest.approx(0.025), 0.5, 2),
        (0.1, 0.0, 1),
        (pytest.approx(0.525), 0.5, 2),
        (0.6, 1.0, 1),
        (0.75, 0.0, 1),
        (pytest.approx(0.95), pytest.approx(2 / 3), 3),
    ]
    for percent in range(100):  # whatever its binary digits are
        (of_ten,) = calibration_bins([percent / 100, percent // 10 * 10 / 100], [True, True])
        assert of_ten.n == 2


def test_nothing_has_no_score():
    for score, *given in ((brier_score, [], []), (calibration_bins, [], []), (mean_absolute_error, [])):
        with pytest.raises(ValueError, match="at least one"):
            score(*given)
    with pytest.raises(ValueError, match="2 confidences and 1 outcomes"):
        brier_score([0.5, 0.6], [True])


def test_the_first_prediction_of_an_edit_counts(bare: Bare):
    first, skipped = edit(of="a"), edit(of="b")
    answers.give(first, ONE)
    answers.give(skipped, None)
    for one in (edit(0, 0, 0, 0, of="a"), skipped):  # told apart by what they are of
        answers.give(one, OTHER)
    assert answers.given() == {first.name: ONE, skipped.name: None}
    assert answers.predictions() == [ONE]


def test_what_the_browser_kept_is_there_again_and_what_this_session_has_stays(bare: Bare):
    a, b, c = (edit(of=of).name for of in "abc")
    answers.give(edit(of="a"), ONE)
    answers.keep()
    bare.session[f"{answers.STORE}-kept"] = {"kept": {a: OTHER.payload(), b: OTHER.payload(), c: None}}
    bare.components["browser_storage"]["on_kept_change"]()
    assert answers.given() == {a: ONE, b: OTHER, c: None}
    answers.keep()
    parts = {a: ONE.payload(), b: OTHER.payload(), c: None}
    assert bare.components["browser_storage"]["data"] == {"store": answers.STORE, "parts": parts, "isRestored": True}
    answers.restore({edit(of=str(n)).name: None for n in range(answers.MOST_KEPT + 5)})
    assert len(answers.given()) <= answers.MOST_KEPT + 3


def test_the_switch_is_known_before_anything_is_drawn_and_kept_for_the_next_session(
    browser_that_was_here: dict[str, str],
):
    with drawn_bare() as bare:
        for kept, is_on in (("", False), ("on", True), ("off", False), ("<script>", False)):
            browser_that_was_here[answers.COOKIE] = kept
            assert answers.is_on() == is_on
        for is_on, kept in ((True, "=on;"), (False, "=off;")):
            answers.IS_ON.set(is_on)
            answers.keep()
            assert answers.is_on() == is_on
            assert f"{answers.COOKIE}{kept}" in bare.words


OUTPUT, PROBABILITY, CONFIDENCE = (f"predict-{name}-box" for name in ("output", "probability", "confidence"))


def choose(bare: Bare, key: str, value: object) -> None:
    """Do with a widget what a person does."""
    bare.session[key] = value
    bare.widgets[key].how["on_change"]()
    bare.clear()
    box.ask(FALLS)


def press(bare: Bare, key: str) -> bool:
    """Press a button; return whether the effect may be seen then."""
    button = bare.buttons[key]
    button["on_click"](*button.get("args", ()))
    bare.clear()
    return box.ask(FALLS)


def test_nothing_is_asked_with_the_switch_off_or_before_an_edit(bare: Bare):
    assert box.ask(None) and not bare.places
    assert box.ask(None, waiting="Edit the mask.") and "Edit the mask." in bare.words and not bare.widgets
    bare.clear()
    answers.IS_ON.set(False)
    assert box.ask(FALLS) and box.ask(None, waiting="Edit.")
    calibration.show()
    assert not (bare.texts or bare.widgets or bare.places)


def test_an_edit_is_asked_about_and_its_effect_waits_for_the_answer(bare: Bare):
    assert not box.ask(FALLS)
    assert bare.widgets[OUTPUT].names[1] == "“chat”, now 0.80" and len(bare.widgets[OUTPUT].names) == 5
    assert not press(bare, "predict-check") and box.INCOMPLETE in bare.words
    choose(bare, OUTPUT, 1)
    assert not press(bare, "predict-check"), "without a probability a prediction is incomplete"
    choose(bare, CONFIDENCE, 85)
    bare.session[PROBABILITY] = 0.25  # still being typed when the button is pressed
    assert press(bare, "predict-check")
    assert "Correct: “chat” changes most, from 0.80 to 0.30. You predicted 0.25 (85% sure)." in bare.words
    (prediction,) = answers.predictions()
    assert (prediction.guess, prediction.probability, prediction.confidence) == (1, 0.25, 85)


def test_none_needs_no_probability_and_what_is_skipped_does_not_count(bare: Bare):
    box.ask(FALLS)
    choose(bare, OUTPUT, box.NONE)
    assert bare.widgets[PROBABILITY].how["disabled"]
    assert press(bare, "predict-check") and "You predicted (50% sure) that no output changes" in bare.words
    answers._GIVEN.set({FALLS.name: Prediction(**GOOD | {"guess": 4})})  # an output that the edit lacks
    assert not box.ask(FALLS)
    assert press(bare, "predict-skip") and box.SKIPPED in bare.words and not answers.predictions()
    assert not box.ask(edit(of="y")) and bare.session[OUTPUT] is None, "each edit has its own question"
    bare.buttons["predict-check"]["on_click"](FALLS)  # a click that comes late
    assert answers.given() == {FALLS.name: None}


def predict(n: int, confidence: int, *, is_right: bool, error: float | None = 0.2) -> None:
    for _ in range(n):
        guess, probability = (None, None) if error is None else (0, 0.5)
        named: Any = {"guess": guess, "probability": probability, "error": error}
        answers.give(edit(of=str(len(answers.given()))), Prediction(confidence=confidence, is_right=is_right, **named))


def test_the_numbers_are_those_of_the_predictions_and_few_are_called_few(bare: Bare):
    calibration.show()
    assert calibration.NO_PREDICTIONS in bare.words and not bare.figures
    predict(3, 80, is_right=True, error=0.25)
    predict(1, 80, is_right=False, error=-0.75)
    predict(1, 50, is_right=True, error=None)
    calibration.show()
    brier = (3 * 0.2**2 + 0.8**2 + 0.5**2) / 5
    for text in (
        "5 predictions are too few",
        "4 of 5",
        f"{brier:.3f}",
        ">Mean absolute error of the probability</span>0.38<",
    ):
        assert text in bare.words
    figure = bare.figures["predict-calibration-figure"]
    (bins,) = [trace for trace in figure.figure.data if trace.mode == "lines+markers"]
    np.testing.assert_allclose([bins.x, bins.y], [[0.5, 0.8], [1.0, 0.75]])
    assert figure.rows[4:] == ["4,0.8,0,0.5000,-0.7500", "5,0.5,1,,"]
    predict(5, 60, is_right=True)
    bare.clear()
    calibration.show()
    assert "too few" not in bare.words
