"""The notice above a page that interventions are active in its model; it links to them and turns them off."""

from dataclasses import replace

import streamlit as st

from headlight.language import say, say_number
from pages.shared import prose
from pages.shared.models import ModelCard
from pages.shared.view import stack_history, state
from transformer_core.errors import mark

MISFIT = mark("The interventions do not fit this model and are not active: {why}.")


def show(card: ModelCard) -> None:
    """Draw the notice if an intervention is active."""
    if not state.STACK.value:
        return
    from headlight.analysis.interventions.stacks import from_json

    n = len(from_json(state.STACK.value).enabled)
    if not n:
        return
    with st.container(key="hl-interventions-sign", horizontal=True, vertical_alignment="center", gap="small"):
        if error := state.misfit(card):
            prose.badge(say(MISFIT, why=error), "gray")
        else:
            prose.badge(say_number(n, "{n} intervention active", "{n} interventions active"), "orange")
        st.page_link(
            "investigate/interventions/page.py",
            label=prose.plain(say("Edit")),
            icon=":material/tune:",
            query_params=state.in_words(),
        )
        st.button(say("Turn off"), key="interventions-off", type="tertiary", on_click=_turn_off)


def _turn_off() -> None:
    """Keep the stack, with nothing active in it."""
    from headlight.analysis.interventions.records import InterventionStack
    from headlight.analysis.interventions.stacks import from_json, to_json

    entries = from_json(state.STACK.value).entries
    stack_history.keep(state.STACK.value)
    state.STACK.set(to_json(InterventionStack(entries=tuple(replace(entry, enabled=False) for entry in entries))))
