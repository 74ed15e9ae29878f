"""A fragment that looks again while something is awaited: it gets its clock, and loses it again."""

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.shared import ticking
from pages.shared.ticking import throttled


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


class Maker:
    """Makes something that takes some seconds of a clock, and knows when it did."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self.now, self.seconds, self.times = 0.0, seconds, list[float]()
        monkeypatch.setattr(st, "session_state", {})
        monkeypatch.setattr(ticking, "perf_counter", lambda: self.now)

    def __call__(self) -> int:
        self.times.append(self.now)
        self.now += self.seconds
        return len(self.times)


def test_the_longer_it_takes_the_less_often_it_is_made(monkeypatch: pytest.MonkeyPatch):
    """It rests for 16 times as long, and for 4 s at most."""
    for seconds, expected in ((0.2, [0.0, 4.0]), (2.0, [0.0, 6.0])):
        make = Maker(monkeypatch, seconds)
        for second in range(8):
            make.now = max(make.now, float(second))
            throttled("thing", "a", make)
        assert make.times == expected


def test_of_something_else_it_is_made_at_once_and_what_failed_is_not_kept(monkeypatch: pytest.MonkeyPatch):
    make = Maker(monkeypatch, 0.2)
    assert [throttled("thing", source, make) for source in "aabba"] == [1, 1, 2, 2, 3]
    assert throttled("another", "a", make) == 4
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            throttled("failing", "a", lambda: 1 / 0)
