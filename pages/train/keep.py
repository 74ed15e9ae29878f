"""A training that is over: keep its model, make it again, or put it away."""

import streamlit as st

from pages.shared import models, run_state, runs, shelf
from pages.shared.runs import Run
from transformer_core.errors import HeadlightError


def offer(run: Run) -> None:
    """Keep the model, so that all pages can choose it; and the command that makes it again."""
    st.html("<h2 class='hl-subtitle'>Keep it<span>then every page can choose it</span></h2>")
    with st.form("keep-model", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Name", value=run.name, max_chars=60)
        if st.form_submit_button("Keep as a model", type="primary", icon=":material/inventory_2:"):
            st.session_state[_WANTED] = name.strip() or run.name
    if wanted := st.session_state.get(_WANTED, ""):
        try:
            with st.spinner("Measuring what its heads do …", show_time=True):
                kept = shelf.keep_run(run.path, wanted)
                st.session_state[_KEPT], st.session_state[_WANTED] = kept, ""
        except HeadlightError as error:
            st.session_state[_WANTED] = ""
            st.warning(f"The model was not kept: {error}.")
    kept = st.session_state.get(_KEPT, "")
    if kept in models.available():
        st.success(f"It is kept as “{kept}”.")
        if st.button("Look at its heads", icon=":material/grid_view:", key="open-kept"):
            st.session_state[_KEPT] = ""
            st.switch_page("explore/heads.py", query_params={"model": kept})
    if run.request:
        with st.expander("The command that makes it again", icon=":material/terminal:"):
            st.code(str(run.request["command"]), language="bash")


def put_away(run: Run) -> None:
    """Delete a run that nobody works on."""
    with st.popover("Delete this training …", type="tertiary", icon=":material/delete:", key="delete-run"):
        st.html(
            "<p class='hl-small'>Its weights, its film and its measurements go. Models that you kept of it stay.</p>"
        )
        st.button(f"Delete {run.name}", key="delete-run-really", type="primary", on_click=_delete, args=(run,))


def _delete(run: Run) -> None:
    try:
        runs.delete(run)
    except HeadlightError as error:
        st.session_state[run_state.NOTE] = f"It was not deleted: {error}."
    else:
        run_state.choose_run("")


_WANTED, _KEPT = "train-keep-wanted", "train-kept"  # names; another run of the page may come between the two
