"""The number that a person asked for, with its own formula and the numbers that it was made of."""

import streamlit as st

from pages.learn.steps import view_fields
from pages.learn.steps.components.steps.number import steps_number
from pages.learn.steps.data import StepsData
from pages.shared import prose
from transformer_core.errors import mark
from transformer_core.language import say

ASK = mark("Click any number in the figure or below it to see its formula here, with its inputs.")


def show(data: StepsData) -> None:
    """Draw the number; where none was requested, say how to ask."""
    number = data.number
    if number is None:
        prose.small(say(ASK))
        return
    with st.container(key="hl-steps-number"):
        steps_number(number, torch_name=data.walk.proof().torch_function, key="steps-number")
        st.button(
            say("Close"),
            key="steps-close",
            type="tertiary",
            icon=":material/close:",
            on_click=view_fields.CELL.set,
            args=(None,),
        )
