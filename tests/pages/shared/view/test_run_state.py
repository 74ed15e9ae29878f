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


def a_view() -> None:
    """A page that fills the view of a training from the address, and writes it back."""
    from pages.shared.view import run_state

    run_state.seed()
    run_state.publish()


def test_a_long_text_is_packed_as_on_all_pages():
    text = "The cat sees the dog. " * 100
    app = AppTest.from_function(a_view)
    app.query_params["run"], app.query_params["text"], app.query_params["target"] = "copy", text, "short"
    app.run()
    address = {name: value if isinstance(value, str) else value[-1] for name, value in app.query_params.items()}
    assert set(address) == {"run", "packed", "target"} and len(address["packed"]) < 200
    again = AppTest.from_function(a_view)
    for name, value in address.items():
        again.query_params[name] = value
    again.run()
    assert again.session_state["run-text"] == text.strip()


def test_a_packed_text_that_is_damaged_is_told():
    app = AppTest.from_function(a_view)
    app.query_params["run"], app.query_params["packed"] = "copy", "%%%"
    app.run()
    assert app.session_state["run-text"] == "" and "it is damaged" in app.session_state["run-note"]
