"""Programs: which heads does this program become?"""

import streamlit as st

from headlight.language import say
from pages.learn.programs import PAGE, editor, line, matched, training
from pages.learn.programs.data import ProgramsData
from pages.shared import code_expander, prose, ticking
from pages.shared.glossary.links import definitions
from pages.shared.recipe import script
from pages.shared.view import state
from transformer_core.errors import HeadlightError, ProgramError, mark

LEAD = mark(
    "A program of a few lines is compiled into the weights of a real Transformer: each line that selects becomes a "
    "head, each line that computes becomes a feed-forward network. So here you know what every head does, and why."
)
LOOK_FOR = mark(
    "choose a line, compare its pattern with what the line says, then make a mistake in it: which tokens does the head "
    "attend to now, and which outputs change?"
)


@ticking.fragment
def programs() -> None:
    """Draw the program; a choice on the page reruns only this fragment."""
    with st.container(key="hl-programs"):
        beside_lines = editor.choices()
        try:
            data = ProgramsData.current()
        except HeadlightError as error:
            prose.warning(prose.sentence(error))
            if isinstance(error, ProgramError):
                with beside_lines:  # they cover the page
                    prose.warning(prose.sentence(error))
            state.publish()
            return
        editor.show_lines(data)
        line.show(data)
        training.show(data.as_written)
        matched.show(data.as_written)
    prose.look_for(
        say(LOOK_FOR), definitions("select-and-aggregate", "compiled-model", "attention-pattern", "residual-stream")
    )
    code_expander.code(lambda: script(*line.code(data), *matched.code(data.as_written)))
    state.publish()


PAGE.show(LEAD, programs)
