"""The answers of the Tour: what a browser kept is taken, but for what cannot be."""

import pytest

from pages.shared import tour_state


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """A new session."""
    new: dict[str, object] = {}
    monkeypatch.setattr(tour_state.st, "session_state", new)
    return new


def test_what_the_browser_kept_is_done_again(session: dict[str, object]):
    tour_state.see("masks")
    assert not tour_state.is_restored()
    tour_state.restore({"masks": ["28"], "training": [None, "1.79"], "positions": []})
    assert tour_state.is_restored()
    assert tour_state.answers("masks") == ("28",)
    assert tour_state.n_done([("masks", 1), ("training", 2), ("positions", 1), ("decoding", 0)]) == 2


def test_what_was_answered_or_asked_again_in_this_session_stays(session: dict[str, object]):
    tour_state.answer("masks", 0, "27")
    tour_state.answer("training", 0, "1")
    tour_state.ask_again("training", 0)
    tour_state.restore({"masks": ["28"], "training": ["1"]})
    assert (tour_state.answers("masks"), tour_state.answers("training")) == (("27",), ())


@pytest.mark.parametrize(
    "kept",
    [
        *(None, 3, "x", ["masks"], {"masks": "28"}, {"masks": [28]}),
        *({"masks": [["28"]]}, {"masks": ["2" * 5000]}, {"masks": ["1"] * 1000}),
    ],
)
def test_what_is_damaged_is_left_out(session: dict[str, object], kept: object):
    tour_state.restore(kept)
    assert tour_state.answers("masks") == ()
    assert tour_state.is_restored()
