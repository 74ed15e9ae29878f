"""A fragment that looks again while something is awaited: it gets its clock, and loses it again."""

from streamlit.testing.v1 import AppTest


def script() -> None:
    import streamlit as st

    from pages.shared import ticking

    periods = st.session_state.setdefault("periods", [])
    make = st.fragment

    def noted(draw, *, run_every=None):
        periods.append(run_every)
        return make(draw, run_every=run_every)

    st.fragment = noted  # type: ignore[assignment]

    @ticking.fragment
    def show(name: str) -> None:
        st.text(name)
        for after in st.session_state.get("awaited", []):
            ticking.look_again(after=after)

    try:
        show("drawn")
    finally:
        st.fragment = make


def open_it(*awaited: float) -> AppTest:
    app = AppTest.from_function(script)
    app.session_state["awaited"] = awaited
    return app.run()


def periods(app: AppTest) -> list[float | None]:
    return list(app.session_state["periods"])


def test_nothing_is_awaited():
    app = open_it()
    assert [text.value for text in app.text] == ["drawn"] and periods(app) == [None]


def test_the_clock_is_set_by_the_page_and_goes_as_often_as_the_most_impatient_part_asks():
    app = open_it(4.0, 1.0, 3.0)
    assert not app.exception and [text.value for text in app.text] == ["drawn"]
    assert periods(app) == [None, 1.0]
    assert periods(app.run()) == [None, 1.0, 1.0]


def test_the_clock_stops_when_it_is_there():
    app = open_it(1.0)
    app.session_state["awaited"] = ()
    assert periods(app.run()) == [None, 1.0, 1.0, None]
    assert [text.value for text in app.text] == ["drawn"]
