"""The page Decoding for a masked model: the blanks of a text are filled one by one, the most certain first."""

import html
from typing import TYPE_CHECKING

import streamlit as st

from pages.explore import decoding_blanks_figures, decoding_blanks_moment
from pages.explore.decoding_blanks_moment import Moment, ask, go_back, start_again
from pages.shared import folded, prose, state
from pages.shared.answer import probability
from pages.shared.models import ModelCard
from pages.shared.sources import Source
from pages.shared.style import theme
from transformer_core.errors import HeadlightError, mark
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.decoding.prediction import Candidate

LOOK_FOR = mark(
    "where one word decides two blanks, the second becomes nearly certain once the first is filled. Put another "
    "token into the first one, and see whether the model lets the second follow."
)


@st.fragment
def show(card: ModelCard, source: Source, text: str) -> None:
    """Draw the text with its blanks, and what belongs to this moment; a step draws only this again."""
    try:
        with st.spinner(say("Reading the text …"), show_time=True):
            moment = decoding_blanks_moment.current(card, source, text)
    except HeadlightError as error:
        prose.note(prose.sentence(error))
    else:
        _draw(moment)
    state.publish()


def _draw(moment: Moment) -> None:
    """Draw one moment."""
    for note in moment.notes:
        prose.note(note)
    _text(moment)
    _buttons(moment)
    with st.container(key="hl-blanks"):
        left, right = st.columns([7, 5], gap="medium")
    with left:
        decoding_blanks_figures.candidates(moment)
        _so_far(moment)
    with right:
        decoding_blanks_figures.one_blank(moment)
    prose.look_for(say(LOOK_FOR))
    folded.code(moment.code)


def _text(moment: Moment) -> None:
    """Draw the tokens of the text: what was given, what was filled in and how probable it was, what is open."""
    steps, tokens = moment.steps, []
    for place, label in enumerate(moment.labels(moment.at)):
        if place in steps:
            share = steps[place].chosen.probability
            told = html.escape(say("blank {place}, {how}", place=place, how=_how(moment, place)))
            tokens.append(
                f"<span class='hl-filled' style='--share:{share:.0%}' title='{told}'>"
                f"<bdi>{html.escape(label)}</bdi><small>{probability(share)}</small></span>"
            )
        elif place in moment.state.blanks:
            kind = "hl-open hl-next" if place == moment.next_place else "hl-open"
            told = html.escape(say("blank {place}, open", place=place))
            tokens.append(f"<span class='{kind}' title='{told}'>____<small>{place}</small></span>")
        else:
            tokens.append(f"<span><bdi>{html.escape(label)}</bdi></span>")
    st.html(f"<div class='hl-blanks-text' style='--hue:{theme().accent}' dir='auto'>{''.join(tokens)}</div>")


def _buttons(moment: Moment) -> None:
    """Draw what leads from one moment to another, and which blank is next and why."""
    n, is_full = len(moment.at.steps), not moment.state.blanks
    with st.container(key="hl-blanks-bar", horizontal=True, gap="small", vertical_alignment="center"):
        st.button(say("Back"), key="blanks-back", disabled=not n, on_click=go_back, args=(n - 1,))
        st.button(
            say("Fill the next one"),
            key="blanks-next",
            type="primary",
            disabled=is_full,
            on_click=ask,
            args=("next",),
            help=say("The most certain blank, with its most probable token"),
        )
        st.button(say("Fill all"), key="blanks-all", disabled=is_full, on_click=ask, args=("all",))
        st.button(say("Start again"), key="blanks-again", disabled=not moment.whole.steps, on_click=start_again)
    st.html(f"<p class='hl-look'>{_why(moment)}</p>")


def _why(moment: Moment) -> str:
    """Say which blank is filled next, and why that one; as HTML."""
    if not moment.state.blanks:
        total = _nats(moment.at.total_log_prob)
        return say(
            "All blanks are filled. One after the other, their tokens have a log-probability of {total} in all.",
            total=total,
        )
    surest, *others = moment.state.certain_first
    told = {"place": surest.position, "token": _told(moment, surest.best), "ms": moment.state.ms}
    if not others:
        return say("<b>Next: blank {place}</b> with {token}. The text was read in {ms:.0f} ms.", **told)
    second = others[0]
    return say(
        "<b>Next: blank {place}</b> with {token}, of which the model is most certain; the second is blank "
        "{second} with {other}. The text was read in {ms:.0f} ms.",
        second=second.position,
        other=_told(moment, second.best),
        **told,
    )


def _so_far(moment: Moment) -> None:
    """Say in which order blanks were filled, and what the model would have said all at once."""
    said = []
    if moment.at.steps:
        filled = (
            say(
                "blank {place} {token} ({how})",
                place=place,
                token=_told(moment, step.chosen),
                how=html.escape(_how(moment, place)),
            )
            for place, step in moment.steps.items()
        )
        said.append(say("<b>Filled so far:</b> {filled}.", filled=say(", then ").join(filled)))
    alone = moment.given.tree.at_once()
    if len(alone) > 1:
        each = ", ".join(
            say("blank {place} {token}", place=place, token=_told(moment, best)) for place, best in alone.items()
        )
        said.append(say("<b>All at once</b>, none knowing of the others: {each}.", each=each))
    if moment.beside is not None and moment.beside.key != moment.at.key:
        own, other = (_nats(one.total_log_prob) for one in (moment.at, moment.beside))
        said.append(
            say(
                "<b>They differ:</b> the tokens in the text have {own} in all, those said at once {other}, filled one "
                "after the other in the same order.",
                own=own,
                other=other,
            )
        )
    if said:
        st.html("".join(f"<p class='hl-small'>{line}</p>" for line in said))


def _how(moment: Moment, place: int) -> str:
    """Say who filled a blank."""
    step = moment.steps[place]
    if step.is_models_own:
        return say("the most certain")
    n = step.chosen.rank
    return say("your choice; {n} were more probable", n=n) if n else say("your choice, and its most probable token")


def _told(moment: Moment, chosen: "Candidate") -> str:
    """Return a candidate with its probability, as HTML."""
    token = f"<bdi>{html.escape(moment.label(chosen.token))}</bdi>"
    return say("“{token}” {probability}", token=token, probability=probability(chosen.probability))


def _nats(log_prob: float) -> str:
    return f"{log_prob:.2f} nats".replace("-", "−")
