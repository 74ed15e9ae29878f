"""The number that a person asked for, with its own formula and the numbers that it was made of."""

import html

import streamlit as st

from pages.components.steps.number import steps_number
from pages.learn.steps_data import StepsData
from pages.shared import steps_state
from transformer_core.errors import mark
from transformer_core.language import say

ASK = mark("Click any number, in the figure or below it, and its formula opens here with the numbers it was made of.")


def show(data: StepsData) -> None:
    """Draw the number; where none was asked for, say how to ask."""
    number = data.number
    if number is None:
        st.html(f"<p class='hl-small'>{html.escape(say(ASK))}</p>")
        return
    with st.container(key="hl-steps-number"):
        steps_number(number, torch_name=data.walk.proof().torch_function, key="steps-number")
        st.button(
            say("Close"),
            key="steps-close",
            type="tertiary",
            icon=":material/close:",
            on_click=steps_state.CELL.set,
            args=(None,),
        )
