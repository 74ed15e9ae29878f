"""A view and its address: links and steps back are followed, and no act of a person is lost to an older URL."""

from collections.abc import Callable
from contextlib import nullcontext

import pytest
import streamlit as st
from streamlit.runtime.state.query_params_proxy import QueryParamsProxy
from streamlit.testing.v1 import AppTest

from pages.shared import machine
from tests.pages.conftest import through_history, url_of


def a_page() -> None:
    """One run of a page: perhaps after an act of a person, and perhaps interrupted before its end."""
    import streamlit as st

    from pages.shared.view.address import Address

    session = st.session_state
    address = Address("test")
    if session["how"] == "act":
        session["n"] = session.get("n", 0) + 1
        session["view"] = f"act {session['n']}"
    if address.is_from_outside():
        session["view"] = st.query_params.get("view", "usual")
        address.follow()
    if session["ends"]:
        address.write({"view": session["view"]})


def after(*runs: tuple[str | None, str, bool]) -> str:
    """What is seen after these runs, each with the view that its URL names, what led to it, and whether it ends."""
    app = AppTest.from_function(a_page)
    for url, how, app.session_state["ends"] in runs:
        app.session_state["how"] = how
        app.query_params.clear()
        if url is not None:
            app.query_params["view"] = url
        if how == "link":
            app._page_hash += "another page"
        with through_history() if how == "back" else nullcontext():
            app.run()
        assert not app.exception
    return str(app.session_state["view"])


@pytest.mark.parametrize(
    ("runs", "view"),
    [
        ([(None, "open", True)], "usual"),
        ([("a", "open", True)], "a"),
        ([("a", "open", True), (None, "back", True)], "usual"),  # where nothing is named, all is as usual
        ([("a", "open", True), ("b", "link", True)], "b"),
        ([("a", "open", True), (None, "link", True)], "a"),  # another page was opened from this one
        ([("a", "open", False), ("a", "act", True)], "act 1"),  # before the first run came to its end
        ([("a", "open", True), ("a", "act", False), ("a", "again", True)], "act 1"),  # interrupted before its end
        ([("a", "open", True), ("a", "act", True), ("a", "act", True)], "act 2"),  # the browser was late
        ([("a", "open", True), ("a", "act", True), ("act 1", "act", True)], "act 2"),
        ([("a", "open", True), ("a", "act", True), ("a", "back", True)], "a"),
        ([("a", "open", True), ("a", "act", False), ("b", "link", True)], "b"),  # an act, and a link before it was done
        ([("a", "open", True), ("b", "back", False), ("b", "act", True)], "act 1"),
        ([("a", "open", True), (None, "link", False), (None, "act", True), ("a", "again", True)], "act 1"),
    ],
)
def test_who_is_right(runs: list[tuple[str | None, str, bool]], view: str):
    assert after(*runs) == view


def test_an_act_that_undoes_the_one_before_is_written_too(monkeypatch: pytest.MonkeyPatch):
    """It may come with the URL of before both, while the browser is about to show the one of the first."""
    written = []

    def write(query: QueryParamsProxy, values: dict[str, str]) -> None:
        written.append(values["view"])
        from_dict(query, values)

    from_dict = QueryParamsProxy.from_dict
    monkeypatch.setattr(QueryParamsProxy, "from_dict", write)
    app = AppTest.from_function(a_page_that_is_turned)
    for _ in range(3):
        app.query_params["view"] = "on"
        app.run()
        assert not app.exception
    assert written == ["off", "on"]


def a_page_that_is_turned() -> None:
    """Opened by a link, and turned by each act after that."""
    import streamlit as st

    from pages.shared.view.address import Address

    address, session = Address("test"), st.session_state
    if "view" in session:
        session["view"] = "off" if session["view"] == "on" else "on"
    if address.is_from_outside():
        session["view"] = st.query_params["view"]
        address.follow()
    address.write({"view": session["view"]})


@pytest.mark.usefixtures("checkpoints")
def test_a_text_that_is_typed_before_the_first_run_has_ended_is_kept(
    open_app: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        patch.setattr(machine, "choose", st.stop)  # here the run is interrupted: the text can be typed already
        app = open_app("heads", model="en-fr")
    app.text_input(key="text-line").set_value("The dog sleeps.").run()
    assert not app.exception
    assert (app.text_input(key="text-line").value, url_of(app)["text"]) == ("The dog sleeps.", "The dog sleeps.")
