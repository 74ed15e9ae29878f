"""The answers of the Tour: what a browser kept is taken, but for what cannot be."""

import pytest

from pages.learn.tour import view_fields
from pages.shared.view import fields


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """A new session."""
    new: dict[str, object] = {}
    monkeypatch.setattr(fields.st, "session_state", new)
    return new


def test_what_the_browser_kept_is_done_again(session: dict[str, object]):
    view_fields.see("masks")
    assert not view_fields.is_restored()
    view_fields.restore({"masks": ["28"], "training": [None, "1.79"], "positions": []})
    assert view_fields.is_restored()
    assert view_fields.answers("masks") == ("28",)
    assert view_fields.n_done([("masks", 1), ("training", 2), ("positions", 1), ("decoding", 0)]) == 2


def test_what_was_answered_or_asked_again_in_this_session_stays(session: dict[str, object]):
    view_fields.answer("masks", 0, "27")
    view_fields.answer("training", 0, "1")
    view_fields.ask_again("training", 0)
    view_fields.restore({"masks": ["28"], "training": ["1"]})
    assert (view_fields.answers("masks"), view_fields.answers("training")) == (("27",), ())


@pytest.mark.parametrize(
    "kept",
    [
        *(None, 3, "x", ["masks"], {"masks": "28"}, {"masks": [28]}),
        *({"masks": [["28"]]}, {"masks": ["2" * 5000]}, {"masks": ["1"] * 1000}),
    ],
)
def test_what_is_damaged_is_left_out(session: dict[str, object], kept: object):
    view_fields.restore(kept)
    assert view_fields.answers("masks") == ()
    assert view_fields.is_restored()
