"""The view of a training: what a browser sends late does not change it."""

import pytest
from streamlit.testing.v1 import AppTest


def a_choice() -> None:
    """A page on which the run "copy" is looked at, and a browser sends what the address says."""
    import streamlit as st

    from pages.shared.view import run_state

    run_state.choose({run_state.RUN: "copy", run_state.TEXT: "mine"})
    run_state.on_run(st.query_params["sent"], ["", "copy", "dates"])


@pytest.mark.parametrize(
    ("sent", "run", "text"),
    [
        ("copy · at work", "copy", "mine"),  # its title until a moment ago: it has stopped since
        ("copy", "copy", "mine"),  # sent again, since its title is another one now
        ("dates", "dates", ""),
        ("", "", ""),  # a new training
    ],
)
def test_only_a_run_that_is_there_can_be_chosen(sent: str, run: str, text: str):
    from pages.shared.view import run_state

    app = AppTest.from_function(a_choice)
    app.query_params["sent"] = sent
    app.run()
    assert not app.exception
    assert (app.session_state[run_state.RUN.key], app.session_state[run_state.TEXT.key]) == (run, text)
