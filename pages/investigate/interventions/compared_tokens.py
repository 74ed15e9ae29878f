"""The two tokens of the logit difference at one output token: the usual ones, or those that a person chooses."""

import streamlit as st

from headlight.language import say
from pages.investigate.interventions import view_fields
from pages.investigate.interventions.data import InterventionsData
from pages.shared import prose
from pages.shared.view.fields import Kept
from transformer_core.errors import HeadlightError, mark

NO_OUTPUT = mark("This text has no output token to compare. A masked model needs a blank: type ____ in the text.")
_NOTE = Kept("interventions-pair-note", "")  # why what was typed is no token


def show(data: InterventionsData) -> None:
    """Draw in one line at which output token what is compared, and say why a choice cannot be taken."""
    labels = data.result.labels
    if not labels:
        prose.small(say(NO_OUTPUT))
        return
    token, other = pair = data.result.pairs[data.index]
    labelled = {"label": labels[data.index], "token": data.label(token), "other": data.label(other)}
    title = say("Logit difference at {index} “{label}”: “{token}” − “{other}”", index=data.index, **labelled)
    with st.popover(prose.plain(title), key="hl-interventions-pair", type="tertiary"):
        view_fields.TOKEN.selectbox(
            say("Output token"),
            range(len(labels)),
            name=lambda i: f"{i} {labels[i]}",
            shown=data.index,
            take=_look_at,
        )
        before_and_after = data.result.candidates[:, data.index].ravel().tolist()
        # A browser may send what it showed on another text as if a person had typed it: each text has its own widgets.
        of = hash((data.view.model, data.view.text, data.view.target, data.index))
        names = {token: data.label(token) for token in (*pair, *before_and_after)}
        for place, (token, name) in enumerate(zip(pair, (say("Token"), say("Other token")), strict=True)):
            view_fields.PAIR.selectbox(
                name,
                [*names],
                part=f"{place}-{of}",
                name=names.get,
                shown=token,
                take=lambda chosen, place=place: _choose(data, place, chosen),
                accept_new_options=True,
            )
        if note := _NOTE.pop():
            prose.warning(note)
        if view_fields.PAIR.value is not None:
            st.button(
                say("Compare the output token and the most probable other one"),
                key="interventions-usual-pair",
                icon=":material/restart_alt:",
                type="tertiary",
                on_click=view_fields.PAIR.set,
                args=(None,),
            )
    if data.pair_error is not None:
        prose.warning(prose.sentence(data.pair_error))


def _look_at(index: int) -> None:
    """Take another output token, with the two tokens that are usual there."""
    view_fields.TOKEN.set(index)
    view_fields.PAIR.set(None)


def _choose(data: InterventionsData, place: int, chosen: int | str | None) -> None:
    """Take a token, chosen by its id or typed; one that is the other of the two already: both change places."""
    if chosen is None:
        return
    pair = [*data.result.pairs[data.index]]
    tokenizer = data.output_tokenizer
    try:
        token = tokenizer.token_of(chosen, instead_of=pair[place]) if isinstance(chosen, str) else chosen
    except HeadlightError as error:
        _NOTE.set(prose.sentence(error))
        return
    if token == pair[1 - place]:
        pair[1 - place] = pair[place]
    pair[place] = token
    view_fields.TOKEN.set(data.index)
    view_fields.PAIR.set(tuple(pair))
