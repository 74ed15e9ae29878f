"""A view and its address: links and steps back are followed, and no act of a person is lost to an older URL."""

from collections.abc import Callable

import pytest
import streamlit as st
from streamlit.runtime.state.query_params_proxy import QueryParamsProxy
from streamlit.testing.v1 import AppTest

from pages.shared import machine
from tests.pages.conftest import url_of


def a_page() -> None:
    """One run of a page: perhaps after an act of a person, and perhaps interrupted before its end."""
    import streamlit as st

    from pages.shared.address import Address

    address, session = Address("test"), st.session_state
    if session["acts"]:
        session["n"] = session.get("n", 0) + 1
        session["view"] = f"act {session['n']}"
        address.act()
    if address.is_from_outside():
        session["view"] = st.query_params.get("view", "usual")
        address.follow()
    if session["ends"]:
        address.write({"view": session["view"]})


def after(*runs: tuple[str | None, bool, bool]) -> str:
    """What is seen after these runs, each with the view that its URL names, whether there was an act, and an end."""
    app = AppTest.from_function(a_page)
    for url, app.session_state["acts"], app.session_state["ends"] in runs:
        app.query_params.clear()
        if url is not None:
            app.query_params["view"] = url
        app.run()
        assert not app.exception
    return str(app.session_state["view"])


@pytest.mark.parametrize(
    ("runs", "view"),
    [
        ([(None, False, True)], "usual"),
        ([("a", False, True)], "a"),
        ([("a", False, True), ("b", False, True)], "b"),  # a link, or Back
        ([("a", False, True), (None, False, True)], "a"),  # another page was opened from this one
        ([("a", False, True), ("a", True, True)], "act 1"),
        ([("a", False, False), ("a", True, True)], "act 1"),  # before the first run came to its end
        ([(None, False, False), (None, True, True)], "act 1"),
        ([("a", False, True), ("a", True, False), ("a", False, True)], "act 1"),  # interrupted before its URL was there
        ([("a", False, True), ("a", True, True), ("a", True, True)], "act 2"),  # the browser was late
        ([("a", False, True), ("a", True, True), ("act 1", True, True)], "act 2"),
        ([("a", False, True), ("a", True, True), ("act 1", False, True), ("a", False, True)], "a"),  # Back
        ([("a", False, True), ("a", True, False), ("b", False, True)], "b"),  # an act, and a link before it was done
        ([("a", False, True), ("b", False, False), ("b", True, True)], "act 1"),
    ],
)
def test_who_is_right(runs: list[tuple[str | None, bool, bool]], view: str):
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

    from pages.shared.address import Address

    address, session = Address("test"), st.session_state
    if "view" in session:
        session["view"] = "off" if session["view"] == "on" else "on"
        address.act()
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
        app = open_app(model="en-fr")
    app.text_input(key="text").set_value("The dog sleeps.").run()
    assert not app.exception
    assert (app.text_input(key="text").value, url_of(app)["text"]) == ("The dog sleeps.", "The dog sleeps.")
