"""What takes long is made less often; what a person changes is made at once."""

import pytest
import streamlit as st

from pages.train.train import throttle
from pages.train.train.throttle import throttled


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The moments at which something was made, on a clock that the tests turn."""
    monkeypatch.setattr(st, "session_state", {})
    return []


def make(made: list[float], clock: list[float], seconds: float) -> int:
    made.append(clock[0])
    clock[0] += seconds
    return len(made)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.2, [0.0, 4.0]),  # rests for 3.2 s
        (2.0, [0.0, 6.0]),  # rests for 4 s at most
    ],
)
def test_the_longer_it_takes_the_less_often_it_is_made(
    made: list[float], monkeypatch: pytest.MonkeyPatch, seconds: float, expected: list[float]
):
    clock = [0.0]
    monkeypatch.setattr(throttle, "perf_counter", lambda: clock[0])
    for second in range(8):
        clock[0] = max(clock[0], float(second))
        throttled("thing", "a", lambda: make(made, clock, seconds))
    assert made == expected


def test_of_something_else_it_is_made_at_once(made: list[float], monkeypatch: pytest.MonkeyPatch):
    clock = [0.0]
    monkeypatch.setattr(throttle, "perf_counter", lambda: clock[0])
    assert [throttled("thing", source, lambda: make(made, clock, 0.2)) for source in "aabba"] == [1, 1, 2, 2, 3]
    assert throttled("another", "a", lambda: make(made, clock, 0.2)) == 4


def test_what_failed_is_not_kept(made: list[float]):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            throttled("thing", "a", lambda: 1 / 0)
    assert st.session_state == {} and not made
