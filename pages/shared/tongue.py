"""Which language a person reads: that of their browser, until they choose another."""

from pathlib import Path

import streamlit as st

from transformer_core.language import ENGLISH, LANGUAGES, add_catalogues, ask_for_language, say

LANGUAGE = "language"  # in the session, and in the URL where it is not the browser's
_BOX = "language-box"


def seed() -> None:
    """Take the language from the URL or the browser, at the first run of a session."""
    add_catalogues(Path(__file__).resolve().parents[1] / "languages")
    ask_for_language(lambda: st.session_state.get(LANGUAGE, ENGLISH))
    if LANGUAGE not in st.session_state:
        wanted = st.query_params.get(LANGUAGE, "")
        st.session_state[LANGUAGE] = wanted if wanted in LANGUAGES else _of_browser()


def choose() -> None:
    """Draw the choice."""
    st.session_state[_BOX] = st.session_state[LANGUAGE]
    st.segmented_control(
        say("Language"),
        [*LANGUAGES],
        format_func=LANGUAGES.__getitem__,
        required=True,
        key=_BOX,
        on_change=lambda: st.session_state.update({LANGUAGE: st.session_state[_BOX]}),
        label_visibility="collapsed",
    )


def published() -> dict[str, str]:
    """Return what the URL says of the language."""
    chosen = st.session_state[LANGUAGE]
    return {} if chosen == _of_browser() else {LANGUAGE: chosen}


def _of_browser() -> str:
    preferred = (st.context.locale or ENGLISH).split("-")[0]
    return preferred if preferred in LANGUAGES else ENGLISH
