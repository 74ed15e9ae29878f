"""A training that is over: keep its model, make it again, or put it away."""

import streamlit as st

from pages.shared import models, run_state, runs, shelf
from pages.shared.runs import Run
from transformer_core.errors import HeadlightError
from transformer_core.language import say


def offer(run: Run) -> None:
    """Keep the model, so that all pages can choose it; and the command that makes it again."""
    aside = say("then every page can choose it")
    st.html(f"<h2 class='hl-subtitle'>{say('Keep it')}<span>{aside}</span></h2>")
    with st.form("keep-model", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input(say("Name"), value=run.name, max_chars=60)
        if st.form_submit_button(say("Keep as a model"), type="primary", icon=":material/inventory_2:"):
            st.session_state[_WANTED] = name.strip() or run.name
    if wanted := st.session_state.get(_WANTED, ""):
        try:
            with st.spinner(say("Measuring what its heads do …"), show_time=True):
                kept = shelf.keep_run(run.path, wanted)
                st.session_state[_KEPT], st.session_state[_WANTED] = kept, ""
        except HeadlightError as error:
            st.session_state[_WANTED] = ""
            st.warning(say("The model was not kept: {error}.", error=error))
    kept = st.session_state.get(_KEPT, "")
    if kept in models.available():
        st.success(say("It is kept as “{name}”.", name=kept))
        if st.button(say("Look at its heads"), icon=":material/grid_view:", key="open-kept"):
            st.session_state[_KEPT] = ""
            st.switch_page("explore/heads.py", query_params={"model": kept})
    if run.request:
        with st.expander(say("The command that makes it again"), icon=":material/terminal:"):
            st.code(str(run.request["command"]), language="bash")


def put_away(run: Run) -> None:
    """Delete a run that nobody works on."""
    with st.popover(say("Delete this training …"), type="tertiary", icon=":material/delete:", key="delete-run"):
        gone = say("Its weights, its film and its measurements go. Models that you kept of it stay.")
        st.html(f"<p class='hl-small'>{gone}</p>")
        st.button(
            say("Delete {name}", name=run.name), key="delete-run-really", type="primary", on_click=_delete, args=(run,)
        )


def _delete(run: Run) -> None:
    try:
        runs.delete(run)
    except HeadlightError as error:
        st.session_state[run_state.NOTE] = say("It was not deleted: {error}.", error=error)
    else:
        run_state.choose_run("")


_WANTED, _KEPT = "train-keep-wanted", "train-kept"  # names; another run of the page may come between the two
