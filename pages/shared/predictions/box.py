"""The box that asks for a prediction of an edit before its effect is shown, and then gives the verdict."""

import streamlit as st

from headlight.language import localized, say, say_message
from pages.shared import prose
from pages.shared.predictions import answers
from pages.shared.predictions.prediction import HIGHEST, LOWEST, NEGLIGIBLE, PredictedEdit, judge, numbered, verdict
from pages.shared.view.fields import Kept
from transformer_core.errors import mark

NONE = -1  # chosen instead of an output: none of them
HELP = mark(
    "Before the effect of an edit is shown, you predict which output changes most. All predictions together show how "
    "well calibrated you are."
)
INCOMPLETE = mark("Choose an output, and type the probability that it will have, from 0 to 1.")
SKIPPED = mark("Shown without a prediction.")
_OF = Kept("predict-of")  # the edit of the question
_OUTPUT = Kept("predict-output")  # the predicted one; `NONE`
_PROBABILITY = Kept("predict-probability")
_CONFIDENCE = Kept("predict-confidence", 50)  # percent
_IS_INCOMPLETE = Kept("predict-incomplete", False)  # the button was pressed too early


def switch() -> None:
    """Draw the switch that turns predictions on or off."""
    answers.IS_ON.toggle(say("Predict first"), shown=answers.is_on(), help=prose.plain(say(HELP)))


def ask(edit: PredictedEdit | None, *, waiting: str = "") -> bool:
    """Ask for a prediction of an edit if predictions are requested, or show its outcome.

    Args:
        edit: the edit; None: nothing was edited yet.
        waiting: shown until something is edited; "": nothing.

    Returns:
        Whether the effect of the edit may be shown.
    """
    if not answers.is_on() or (edit is None and not waiting):
        return True
    with st.container(key="hl-predict"):
        if edit is None:
            prose.small(waiting)
            return True
        if not answers.is_given(edit):
            _question(edit)
            return False
        prediction = answers.given()[edit.name]
        if prediction is None:
            prose.small(say(SKIPPED))
        else:
            sign, text = "✓" if prediction.is_right else "✗", say_message(verdict(edit, prediction))
            prose.html("<p class='hl-predict-verdict' data-right='{}'>{} {}</p>", prediction.is_right, sign, text)
    return True


def _question(edit: PredictedEdit) -> None:
    if _OF.value != edit.name:
        _OF.set(edit.name)
        for choice in (_OUTPUT, _PROBABILITY, _CONFIDENCE, _IS_INCOMPLETE):
            choice.set(choice.usual)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        _OUTPUT.selectbox(
            say("Which output changes most?"),
            [*range(len(edit.labels)), NONE],
            name=lambda place: _option(edit, place),
            index=None,
            placeholder=say("Choose an output"),
            width=250,
        )
        _PROBABILITY.number(
            say("Its probability afterwards"),
            0.0,
            1.0,
            value=None,
            step=0.05,
            format="%.2f",
            placeholder=say("0 to 1"),
            disabled=_OUTPUT.value == NONE,
            width=185,
        )
        _CONFIDENCE.slider(say("Confidence"), LOWEST, HIGHEST, step=5, format="%d%%", width=130)
        st.button(say("Check prediction"), key="predict-check", type="primary", on_click=_check, args=(edit,))
        st.button(say("Skip"), key="predict-skip", on_click=answers.give, args=(edit, None))
    if _IS_INCOMPLETE.value:
        prose.small(say(INCOMPLETE))


def _option(edit: PredictedEdit, place: int) -> str:
    if place == NONE:
        return say("none changes by more than {least}", least=localized(NEGLIGIBLE, "g"))
    label, before = numbered(edit.labels, place), float(edit.before[place])
    return say("“{label}”, now {before:.2f}", label=label, before=before)


def _check(edit: PredictedEdit) -> None:
    """Record the prediction, including a number that is still being typed."""
    output, probability, confidence = (
        Kept(f"{choice.key}-box").value for choice in (_OUTPUT, _PROBABILITY, _CONFIDENCE)
    )
    is_none = output == NONE
    is_whole = is_none or None not in (output, probability)
    _IS_INCOMPLETE.set(not is_whole)
    if is_whole:
        guess, probability = (None, None) if is_none else (output, probability)
        answers.give(edit, judge(edit, guess, probability, confidence))
