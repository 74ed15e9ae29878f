"""Attention step by step: how does this head turn these vectors into this pattern and this output, number by number?"""

import streamlit as st

from headlight.language import say
from pages.learn import dropout_step
from pages.learn.steps import all_heads, figure, view_fields
from pages.learn.steps.data import StepsData
from pages.shared import code_expander, prose
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Lines, Print, script
from pages.shared.view import state
from transformer_core.errors import HeadlightError, mark

LEAD = mark(
    "Follow one token through one head: its query, the keys it is compared with, the attention weights and the "
    "output. All numbers come from the model on your text; click any of them to see how it is computed."
)
LOOK_FOR = mark(
    "choose another query above the figure and see how its weights differ. The softmax amplifies differences: a key "
    "whose score is a few units higher gets nearly all the weight, and z is almost its value. At the addition, "
    "compare O (what attention adds) with X (the residual)."
)
GUIDED = mark(
    "This head was guided: in training, an extra loss told it which noun each pronoun refers to. All other heads "
    "found their roles without guidance."
)
MATRICES = """
for stage in walk_through.stages:
    for name in stage.matrices:
        matrix = walk_through.quantities[name]
        print(stage.name, matrix.symbol, matrix.values[{row}])
"""


def page() -> None:
    """Draw the page, in the order of all pages."""
    prose.heading(say("Attention step by step"), say(LEAD))
    if state.current().text:
        view_fields.PLACE.forget()
        steps()


@st.fragment
def steps() -> None:
    """Draw the figure and its texts; moving the figure reruns only this fragment."""
    try:
        data = StepsData.current(state.card(view_fields.PAGE))
    except HeadlightError as error:
        prose.warning(say("This head cannot be shown step by step: {why}.", why=error))
        return
    if data is None:
        return
    with st.container(key="hl-steps"):
        figure.controls(data)
        figure.draw(data)
        figure.remarks(data)
        _guidance(data)
        figure.number(data)
        figure.proof(data)
        dropout_step.controls(data.card.config)
    prose.look_for(say(LOOK_FOR), definitions("attention", "query-key-value", "attention-score"))
    if data.card.config.has_decoder:
        st.page_link(
            "explore/decoding/page.py",
            label=say("√d_k acts as a temperature on the scores: compare the temperature on the logits in Decoding"),
            icon=":material/thermostat:",
            query_params={state.MODEL.key: data.view.model, **state.text_parameters(), "temperature": "2"},
        )
    all_heads.show(data)
    figure.why(data)
    code_expander.code(lambda: _code(data))
    state.publish()


def _guidance(data: StepsData) -> None:
    view = data.view
    if view.attention != "encoder" or (view.layer, view.head) != data.card.guided_head:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        prose.small(say(GUIDED), width="content")
        st.page_link(
            "learn/tour/page.py",
            label=say("Does it matter? See the Tour"),
            icon=":material/menu_book:",
            query_params={"lesson": "does-the-picture-matter"},
            width="content",
        )


def _code(data: StepsData) -> str:
    """Return the lines that walk through the head and print its numbers, and the chosen one with its formula."""
    walked, cell = data.walk_recipe, view_fields.CELL.value
    matrices = Lines(MATRICES.format(row=data.query), (walked,))
    return script(matrices, *([Print(walked.number(*cell))] if cell else []), Print(walked.proof()))


page()
