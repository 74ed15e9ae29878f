"""Build: can I write the paper's attention myself, line by line?"""

import streamlit as st

from headlight.language import say
from pages.learn import head_choice
from pages.learn.build import PAGE, results, view_fields
from pages.learn.build.data import BuildData, code
from pages.shared import code_expander, prose
from pages.shared.glossary.links import definitions
from pages.shared.view import state
from transformer_core.errors import HeadlightError, mark

LEAD = mark(
    "Write the paper’s attention in twelve lines of Python. Each line runs on your text with this head’s weights, "
    "and its result is compared with the model’s. Both PyTorch and NumPy spellings work."
)
LOOK_FOR = mark(
    "a wrong line often has the correct shape. Compare the two pictures: which rows, columns or cells differ, and "
    "does each row of the pattern still sum to 1?"
)
CUT = mark("This text is long: {n} of its tokens are left out here.")


@st.fragment
def build() -> None:
    """Draw the open step; entering a line reruns only this fragment."""
    data = None
    try:
        data = BuildData.current(state.card(view_fields.PAGE))
    except HeadlightError as error:
        prose.warning(say("This head cannot be built here: {why}.", why=error))
    if data is None:
        state.publish()
        return
    with st.container(key="hl-build"):
        _controls(data)
        _task(data)
        _line(data)
        results.show_verdict(data)
        results.show_pictures(data)
        if left_out := data.model_run.n_left_out:
            prose.small(say(CUT, n=left_out))
        results.show_program(data)
    prose.look_for(say(LOOK_FOR), definitions("attention", "query-key-value", "attention-pattern", "causal-mask"))
    code_expander.code(lambda: code(data))
    state.publish()


def _controls(data: BuildData) -> None:
    still_open = data.open_steps

    def dot(number: int) -> str:
        return f"{number}" if number in still_open else f"✓ {number}"

    with st.container(key="hl-build-bar", horizontal=True, vertical_alignment="center", gap="small"):
        head_choice.attention(data.card)
        head_choice.head(data.card)
        view_fields.STEP.segmented(say("Step"), range(1, view_fields.N_STEPS + 1), name=dot)


def _task(data: BuildData) -> None:
    step = data.step
    variables = prose.each("<code>{}</code> ", map(data.bench.in_words, data.bench.offered(data.place).items()))
    prose.html(
        "<div class='hl-build-task'><h2>{}. {}</h2><p>{}</p><p class='hl-build-variables'>{} {}</p></div>",
        *(data.place + 1, say(step.title), say(step.task), say("Variables:"), variables),
    )


def _line(data: BuildData) -> None:
    """Draw the input for the line, its hint, shapes and solution, and the button to the next step."""
    place, step = data.place, data.step
    result = data.verdicts[place]
    with st.container(key="hl-build-line", horizontal=True, vertical_alignment="center", gap="small"):
        view_fields.LINES[place].text(
            say("Line {n}", n=place + 1), placeholder=f"{step.name} = …", label_visibility="collapsed"
        )
        with st.popover(say("Hint"), type="tertiary"):
            prose.text(say(step.hint))
        with st.popover(say("Shapes"), type="tertiary"):
            st.code(data.bench.shapes(step), language=None, wrap_lines=True)
        with st.popover(say("Show solution"), type="tertiary"):
            st.code(step.solution, language="python", wrap_lines=True)
        if result and result.is_right and place + 1 < view_fields.N_STEPS:
            title = say(data.bench.steps[place + 1].title)
            st.button(
                prose.plain(say("Next: {title}", title=title)),
                key="build-next",
                icon=":material/arrow_forward:",
                icon_position="right",
                type="primary",
                on_click=view_fields.STEP.set,
                args=(place + 2,),
                shortcut="Shift+Right",
            )


PAGE.show(LEAD, build)
