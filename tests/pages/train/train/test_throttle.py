"""What takes long is made less often; what a person changes is made at once."""

import pytest
import streamlit as st

from pages.train.train import throttle
from pages.train.train.throttle import throttled


class Maker:
    """Makes something that takes some seconds of a clock, and knows when it did."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self.now, self.seconds, self.made = 0.0, seconds, list[float]()
        monkeypatch.setattr(st, "session_state", {})
        monkeypatch.setattr(throttle, "perf_counter", lambda: self.now)

    def __call__(self) -> int:
        self.made.append(self.now)
        self.now += self.seconds
        return len(self.made)


def test_the_longer_it_takes_the_less_often_it_is_made(monkeypatch: pytest.MonkeyPatch):
    """It rests for 16 times as long, and for 4 s at most."""
    for seconds, expected in ((0.2, [0.0, 4.0]), (2.0, [0.0, 6.0])):
        make = Maker(monkeypatch, seconds)
        for second in range(8):
            make.now = max(make.now, float(second))
            throttled("thing", "a", make)
        assert make.made == expected


def test_of_something_else_it_is_made_at_once_and_what_failed_is_not_kept(monkeypatch: pytest.MonkeyPatch):
    make = Maker(monkeypatch, 0.2)
    assert [throttled("thing", source, make) for source in "aabba"] == [1, 1, 2, 2, 3]
    assert throttled("another", "a", make) == 4
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            throttled("failing", "a", lambda: 1 / 0)
