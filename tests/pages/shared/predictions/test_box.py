"""The box: what it asks, when the effect may be seen, and what is taken as an answer."""

import numpy as np

from pages.shared.predictions import answers, box
from pages.shared.predictions.prediction import Edit, Prediction
from tests.pages.learn.bare import Bare

EDIT = Edit(of="x", labels=("le", "chat"), before=np.array([0.9, 0.8]), after=np.array([0.9, 0.3]))
OUTPUT, PROBABILITY, CONFIDENCE = (f"predict-{name}-box" for name in ("output", "probability", "confidence"))


def choose(bare: Bare, key: str, value: object) -> None:
    """Do with a widget what a person does."""
    bare.session[key] = value
    bare.widgets[key].how["on_change"]()
    bare.clear()
    box.ask(EDIT)


def press(bare: Bare, key: str) -> bool:
    """Press a button; return whether the effect may be seen then."""
    button = bare.buttons[key]
    button["on_click"](*button.get("args", ()))
    bare.clear()
    return box.ask(EDIT)


def test_with_the_switch_off_nothing_is_drawn(bare: Bare):
    answers.IS_ON.set(False)
    assert box.ask(EDIT) and box.ask(None, waiting="Edit.")
    assert not (bare.texts or bare.widgets or bare.places)


def test_until_something_is_edited_nothing_is_asked(bare: Bare):
    assert box.ask(None)
    assert not bare.places
    assert box.ask(None, waiting="Edit the mask.")
    assert "Edit the mask." in bare.words and not bare.widgets


def test_an_edit_is_asked_about_and_its_effect_waits_for_the_answer(bare: Bare):
    assert not box.ask(EDIT)
    names = ["“le”, now 0.90", "“chat”, now 0.80", "none changes by more than 0.01"]
    assert bare.widgets[OUTPUT].names == names
    assert not press(bare, "predict-check") and box.INCOMPLETE in bare.words
    choose(bare, OUTPUT, 1)
    assert not press(bare, "predict-check"), "without a probability it is no whole prediction"
    choose(bare, CONFIDENCE, 85)
    bare.session[PROBABILITY] = 0.25  # still being typed when the button is pressed
    assert press(bare, "predict-check")
    assert "Correct: “chat” changes most, from 0.80 to 0.30. You predicted 0.25 (85% sure)." in bare.words
    (prediction,) = answers.predictions()
    assert (prediction.guess, prediction.probability, prediction.confidence) == (1, 0.25, 85)


def test_none_needs_no_probability(bare: Bare):
    box.ask(EDIT)
    choose(bare, OUTPUT, box.NONE)
    assert bare.widgets[PROBABILITY].how["disabled"]
    assert press(bare, "predict-check")
    assert "You predicted (50% sure) that no output changes" in bare.words


def test_what_is_skipped_is_shown_and_not_counted(bare: Bare):
    box.ask(EDIT)
    assert press(bare, "predict-skip")
    assert box.SKIPPED in bare.words and not answers.predictions()


def test_each_edit_is_asked_about_anew(bare: Bare):
    box.ask(EDIT)
    choose(bare, OUTPUT, 1)
    other = Edit(of="y", labels=EDIT.labels, before=EDIT.before, after=EDIT.after)
    assert not box.ask(other)
    assert bare.session[OUTPUT] is None
    bare.buttons["predict-check"]["on_click"](EDIT)  # a click that comes late
    assert not answers.given()


def test_a_kept_prediction_of_an_output_that_the_edit_lacks_is_asked_for_again(bare: Bare):
    for guess, is_asked in ((1, False), (2, True)):
        prediction = Prediction(guess=guess, probability=0.5, confidence=70, is_right=True, error=0.1)
        answers._GIVEN.set({EDIT.name: prediction})
        assert box.ask(EDIT) != is_asked
    assert press(bare, "predict-skip") and not answers.predictions()
