"""Compare: how do these two differ: heads, layers, texts, checkpoints, moments of a training, models, interventions?"""

import html

import streamlit as st

from pages.explore import (
    compare_changed,
    compare_choices,
    compare_head,
    compare_layers,
    compare_map,
    compare_texts,
)
from pages.explore.compare_scene import MOST_TOKENS, Scene, calm
from pages.explore.compare_sides import Side, led, resolve
from pages.shared import compare_state, models, state
from pages.shared.compare_state import box
from transformer_core.errors import HeadlightError, TextError

LEAD = (
    "Two sides, A and B: another text, another head, another model, a moment of a training, or the same model with a "
    "head switched off. What is different then?"
)
VIEWS = {
    "one": ("One head", compare_head),
    "changed": ("Which heads changed", compare_changed),
    "map": ("Map of heads", compare_map),
    "layers": ("Layers", compare_layers),
    "texts": ("Many texts", compare_texts),
}


def page() -> None:
    """Draw the page, in the order of all pages."""
    st.html(f"<h1 class='hl-title'>Compare</h1><p class='hl-lead'>{html.escape(LEAD)}</p>")
    if state.current().text:
        compare()


@st.fragment
def compare() -> None:
    """Draw the choices and the view; what is chosen here draws only this again."""
    cards = models.available()
    state.fit(cards[state.current().model])
    a, b, notes = resolve(cards)
    compare_choices.choose(a, b, cards)
    if notes:
        calm(" ".join(notes))
    scene = _read(a, b)
    if scene is not None:
        compare_choices.say(scene.a, scene.b, scene.readings)
        _view(scene)
    state.publish()


def _read(a: Side, b: Side) -> Scene | None:
    """Return both sides read; None, with a sentence on the page, where one cannot be."""
    side = a
    try:
        with st.spinner("Reading the texts …", show_time=True):
            reading = a.read()
            side = led(b, a, reading)
            return Scene(a=a, b=side, readings=(reading, side.read()))
    except HeadlightError as error:
        what = "cannot read its text" if isinstance(error, TextError) else "cannot be used"
        st.warning(f"{side.letter}, {side.name}, {what}: {error}.")
        return None


def _view(scene: Scene) -> None:
    """Draw the chosen view and its code."""
    st.segmented_control(
        "View",
        [*VIEWS],
        format_func=lambda name: VIEWS[name][0],
        required=True,
        label_visibility="collapsed",
        **box(compare_state.VIEW, compare_state.VIEW.value),
    )
    name = compare_state.VIEW.value
    view = VIEWS[name][1]
    if name != "texts" and scene.n_tokens > MOST_TOKENS:
        calm(
            f"Texts of up to {MOST_TOKENS} tokens are compared here, and one of these has {scene.n_tokens:,}: all "
            "pairs of its tokens are too many to be looked at. Shorten the text."
        )
        return
    try:
        with st.container(key=f"hl-compare-view-{name}"):
            view.show(scene)
            with st.expander("Show the code", icon=":material/code:"):
                st.code(view.code(scene), language="python")
    except HeadlightError as error:
        st.warning(f"This cannot be compared: {error}.")


page()
