"""The Decoding page for a masked model: the blanks of a text are filled one by one, the most certain first."""

import math
from typing import TYPE_CHECKING

import streamlit as st

from headlight.language import say
from pages.explore.decoding import blanks_data, blanks_figures
from pages.explore.decoding.blanks_data import BlanksData, ask, go_back, start_again
from pages.explore.decoding.data import signed
from pages.shared import code_expander, prose
from pages.shared.answer import probability
from pages.shared.glossary.links import definitions
from pages.shared.models import ModelCard
from pages.shared.recipe import script
from pages.shared.sources import Source
from pages.shared.style import theme
from pages.shared.view import state
from transformer_core.errors import HeadlightError, NotFiniteError, mark
from transformer_core.text.interface import Given

if TYPE_CHECKING:
    from transformer_core.decoding.decoding_step import Candidate

LOOK_FOR = mark(
    "where one word determines two blanks, filling the first makes the second almost certain. Put a different token "
    "into the first and see whether the second follows."
)
NEXT = mark(
    "<b>Next: blank {place}</b> with {token}, the most confident prediction, ahead of blank {second} with {other}. "
    "Forward pass: {ms:.0f} ms."
)
LAST = mark("<b>Next: blank {place}</b> with {token}. Forward pass: {ms:.0f} ms.")
SO_FAR, FILLED = mark("<b>Filled so far:</b> {filled}."), mark("blank {place} {token} ({how})")
AT_ONCE, ALONE = mark("<b>All at once</b> (independently): {each}."), mark("blank {place} {token}")
DIFFER = mark(
    "<b>They differ:</b> total log-probability {own} for the tokens in the text, {other} for the independent "
    "predictions, filled one at a time in the same order."
)
CANDIDATE = mark("“{token}” {probability}")


@st.fragment
def show(card: ModelCard, source: Source, text: Given) -> None:
    """Draw the text with its blanks and the figures of this step; a step reruns only this fragment."""
    try:
        with st.spinner(say("Reading the text …"), show_time=True):
            data = blanks_data.current(card, source, text)
    except HeadlightError as error:
        prose.note(prose.sentence(error))
    else:
        _draw(data)
    state.publish()


def _draw(data: BlanksData) -> None:
    for note in data.notes:
        prose.note(note)
    _text(data)
    _buttons(data)
    with st.container(key="hl-blanks"):
        left, right = st.columns([7, 5], gap="medium")
    with left:
        blanks_figures.candidates(data)
        _so_far(data)
    with right:
        blanks_figures.one_blank(data)
    prose.look_for(say(LOOK_FOR), definitions("masked-language-modelling"))
    code_expander.code(lambda: script(*blanks_figures.printed(data)))


def _text(data: BlanksData) -> None:
    """Draw the tokens of the text: given tokens, filled blanks with their probabilities, and open blanks."""
    steps, tokens = data.steps, []
    for place, label in enumerate(data.labels(data.at)):
        if place in steps:
            share = steps[place].chosen.probability
            result = say("blank {place}, {how}", place=place, how=_how(data, place))
            tokens.append(
                prose.markup(
                    "<span class='hl-filled' style='--share:{:.0%}' title='{}'><bdi>{}</bdi><small>{}</small></span>",
                    *(share, result, label, probability(share)),
                )
            )
        elif place in data.state.blanks:
            kind = "hl-open hl-next" if place == data.next_place else "hl-open"
            result = say("blank {place}, open", place=place)
            tokens.append(prose.markup("<span class='{}' title='{}'>____<small>{}</small></span>", kind, result, place))
        else:
            tokens.append(prose.markup("<span><bdi>{}</bdi></span>", label))
    text = prose.joined("", tokens)
    prose.html("<div class='hl-blanks-text' style='--hue:{}' dir='auto'>{}</div>", theme().accent, text)


def _buttons(data: BlanksData) -> None:
    """Draw the buttons that move between steps, and say which blank is next and why."""
    n, is_full = len(data.at.steps), not data.state.blanks
    with st.container(key="hl-blanks-bar", horizontal=True, gap="small", vertical_alignment="center"):
        st.button(say("Back"), key="blanks-back", disabled=not n, on_click=go_back, args=(n - 1,))
        st.button(
            say("Fill next"),
            key="blanks-next",
            type="primary",
            disabled=is_full,
            on_click=ask,
            args=("next",),
            help=say("Fills the most confident blank with its most probable token"),
        )
        st.button(say("Fill all"), key="blanks-all", disabled=is_full, on_click=ask, args=("all",))
        st.button(say("Start over"), key="blanks-again", disabled=not data.whole.steps, on_click=start_again)
    prose.paragraph(_why(data))


def _why(data: BlanksData) -> str | prose.Markup:
    """Say which blank is filled next, and why."""
    if not data.state.blanks:
        total = _nats(data.at.total_log_prob)
        return say(
            "All blanks are filled. Filled one at a time, their tokens have a total log-probability of {total}.",
            total=total,
        )
    try:
        data.tree.refuse_not_finite(data.state)
    except NotFiniteError as error:
        return prose.sentence(error)
    surest, *others = data.state.certain_first
    payload = {"place": surest.position, "token": _told(data, surest.best), "ms": data.state.ms}
    if not others:
        return prose.say_markup(LAST, **payload)
    second = others[0]
    return prose.say_markup(NEXT, second=second.position, other=_told(data, second.best), **payload)


def _so_far(data: BlanksData) -> None:
    """Say in which order the blanks were filled, and what the model predicts for each blank independently."""
    messages = []
    if data.at.steps:
        filled = (
            prose.say_markup(FILLED, place=place, token=_told(data, step.chosen), how=_how(data, place))
            for place, step in data.steps.items()
        )
        messages.append(prose.say_markup(SO_FAR, filled=prose.joined(say(", then "), filled)))
    alone = {place: best for place, best in data.tree.at_once().items() if not math.isnan(best.log_prob)}
    if len(alone) > 1:
        each = (prose.say_markup(ALONE, place=place, token=_told(data, best)) for place, best in alone.items())
        messages.append(prose.say_markup(AT_ONCE, each=prose.joined(", ", each)))
    if data.beside is not None and data.beside.key != data.at.key:
        own, other = (_nats(one.total_log_prob) for one in (data.at, data.beside))
        messages.append(prose.say_markup(DIFFER, own=own, other=other))
    if messages:
        prose.html("{}", prose.each("<p class='hl-small'>{}</p>", messages))


def _how(data: BlanksData, place: int) -> str:
    """Say who filled a blank."""
    step = data.steps[place]
    if step.is_models_own:
        return say("most confident prediction")
    n = step.chosen.rank
    return say("your choice; {n} more probable", n=n) if n else say("your choice, also the most probable token")


def _told(data: BlanksData, chosen: "Candidate") -> prose.Markup:
    """Return a candidate with its probability, as HTML."""
    token = prose.markup("<bdi>{}</bdi>", data.label(chosen.token))
    return prose.say_markup(CANDIDATE, token=token, probability=probability(chosen.probability))


def _nats(log_prob: float) -> str:
    return f"{signed(log_prob)} nats"
