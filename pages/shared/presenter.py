"""The presenter layout, for a projector: the pages are above, not beside, and no text is smaller than `LEAST_TEXT`.

The browser keeps the choice; an address with `presenter=on` or `presenter=off` makes it, too.
"""

from functools import cache
from pathlib import Path

import streamlit as st

from headlight.language import say
from pages.shared import least_text
from pages.shared.view import visits
from pages.shared.view.fields import Kept

LEAST_TEXT = 14  # px
COOKIE = "headlight-presenter"
PRESENTER = Kept("presenter", False)
_UNSAVED = Kept("presenter-unsaved", False)  # the browser has another choice


def seed() -> None:
    """Set the choice from the URL or the browser at the first run of a session."""
    if not PRESENTER.is_chosen:
        kept = visits.read(COOKIE)
        wanted = st.query_params.get(PRESENTER.key, kept)
        PRESENTER.set(wanted == "on")
        _UNSAVED.set(wanted != kept)


def choose() -> None:
    """Draw the switch."""
    PRESENTER.toggle(say("Presenter layout"), take=_choose)


def remember() -> None:
    """Have the browser keep a new choice; call at the end of a run."""
    if _UNSAVED.pop():
        visits.keep(COOKIE, "on" if PRESENTER.value else "off")


def style() -> str:
    """Return the CSS of the layout; "" without it."""
    return f":root {{ {least_text.VARIABLE}: {LEAST_TEXT}px; }}\n{_sheet()}" if PRESENTER.value else ""


@cache
def _sheet() -> str:
    """Return the style sheet, which has no character that HTML escapes."""
    return Path(__file__).with_name("presenter.css").read_text(encoding="utf-8")


def _choose(is_on: bool) -> None:
    PRESENTER.set(is_on)
    _UNSAVED.set(True)
