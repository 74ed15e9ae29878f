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


def test_the_clock_goes_as_often_as_the_most_impatient_part_asks_and_stops_when_all_is_there():
    app = AppTest.from_function(script)
    for awaited, periods in (
        ((), [None]),
        ((4.0, 1.0, 3.0), [None, None, 1.0]),
        ((4.0, 1.0, 3.0), [None, None, 1.0, 1.0]),
        ((), [None, None, 1.0, 1.0, 1.0, None]),
    ):
        app.session_state["awaited"] = awaited
        app.run()
        assert not app.exception and [text.value for text in app.text] == ["drawn"]
        assert list(app.session_state["periods"]) == periods
