"""Masks: what may look at what, and what goes wrong otherwise?"""

import streamlit as st

from headlight.language import say
from pages.learn.masks import PAGE, dropout, edit, leak, view_fields, which
from pages.learn.masks.data import MOST_TOKENS, MasksData
from pages.shared import prose, ticking
from pages.shared.answer import NO_HEAD
from pages.shared.predictions import answers
from pages.shared.view import state
from transformer_core.errors import HeadlightError, mark

LEAD = mark(
    "A mask says which keys each query may attend to. A masked score becomes −∞ before the softmax, so its weight is "
    "0. Choose a mask or draw your own; the model runs again."
)
PARTS = {
    "edit": mark("Edit mask"),
    "which": mark("Masks by attention"),
    "leak": mark("Leak test"),
    "dropout": mark("Dropout"),
    "training": mark("Wrong mask in training"),
}
DRAWN_BY = {
    "edit": edit.show,
    "which": which.show,
    "leak": leak.show,
    "dropout": dropout.show,
}


@ticking.fragment
def masks() -> None:
    """Draw the chosen part; a click reruns only this fragment."""
    card = state.card()
    part = view_fields.PART.value
    with st.container(key="hl-masks-parts"):
        view_fields.PART.segmented(say("Show"), [*PARTS], name=lambda name: say(PARTS[name]), wrap=True, shown=part)
    try:
        if part == "training":
            _training()
        else:
            data = MasksData.current(card)
            if data.alone.left_out:
                prose.note(say("The text is long; only the first {n} tokens of each side are shown.", n=MOST_TOKENS))
            if part == "leak" and not card.config.unembed:
                prose.note(say(NO_HEAD))
            else:
                DRAWN_BY[part](data)
    except HeadlightError as error:
        prose.note(say("This cannot be shown: {error}.", error=error))
    answers.keep()
    state.publish()


def _training() -> None:
    from pages.learn.masks import training

    training.show()


PAGE.show(LEAD, masks)
