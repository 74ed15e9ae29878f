"""The entries of the knowledge test in the contents of the Tour."""

from typing import TYPE_CHECKING

import streamlit as st

from headlight.language import say
from pages.learn.tour import view_fields
from pages.learn.tour.knowledge import answers
from pages.shared import prose
from transformer_core.errors import mark

if TYPE_CHECKING:
    from pages.learn.tour.lesson_engine.knowledge.sheet import When

TITLES = {"before": mark("Before: test your knowledge"), "after": mark("After: test your knowledge")}
OPTIONAL = mark("Optional: twelve questions before and after the Tour, with other numbers.")
DONE, TO_DO = ":material/check_circle:", ":material/quiz:"


def title() -> str:
    """Return the name of the open test."""
    return say(TITLES[answers.asked() or "before"])


def show(when: "When", *, key: str) -> None:
    """Draw the entry of a test; `key` tells the places apart in which the contents are drawn."""
    is_open = answers.asked() == when
    st.button(
        prose.plain(say(TITLES[when])),
        key=f"tour-{key}-{'open' if is_open else 'other'}-test-{when}",
        icon=DONE if answers.is_done(when) else TO_DO,
        type="tertiary",
        width="stretch",
        help=prose.plain(say(OPTIONAL)),
        on_click=view_fields.go_to,
        args=(answers.NAMES[when],),
    )
