"""Which language a person reads: that of their browser, until they choose another."""

import re
from pathlib import Path

import streamlit as st
from starlette.requests import Request

from headlight.language import ENGLISH, LANGUAGES, add_catalogues, ask_for_language, say
from pages.shared import prose
from pages.shared.private_streamlit import is_in_a_run

LANGUAGE = "language"  # in the session, and in the URL where it is not the browser's
_BOX = "language-box"
_CATALOGUES = Path(__file__).resolve().parents[2] / "languages"


def seed() -> None:
    """Take the language from the URL or the browser, at the first run of a session."""
    add_catalogues(_CATALOGUES)
    ask_for_language(_of_reader)
    if LANGUAGE not in st.session_state:
        wanted = st.query_params.get(LANGUAGE, "")
        st.session_state[LANGUAGE] = wanted if wanted in LANGUAGES else _of_browser()


def choose() -> None:
    """Draw the choice."""
    st.session_state[_BOX] = st.session_state[LANGUAGE]
    st.segmented_control(
        say("Language"),
        [*LANGUAGES],
        format_func=lambda name: prose.plain(LANGUAGES[name]),
        required=True,
        key=_BOX,
        on_change=_switch,
        label_visibility="collapsed",
    )


def published() -> dict[str, str]:
    """Return the language in the URL."""
    chosen = st.session_state.get(LANGUAGE, _of_browser())
    return {} if chosen == _of_browser() else {LANGUAGE: chosen}


def _switch() -> None:
    """Use the chosen language, and send the browser all choices again: it has them in the words of the former one."""
    st.session_state[LANGUAGE] = st.session_state[_BOX]
    for key, value in st.session_state.items():
        if isinstance(value, str | int | float | list | tuple) and not isinstance(value, bool):
            st.session_state[key] = value


def _of_reader() -> str:
    """Return the reader's language; English without a reader, as while the server warms up."""
    if not is_in_a_run():
        return ENGLISH
    return str(st.session_state.get(LANGUAGE, ENGLISH))


def asked_for(request: Request) -> str:
    """Return the language that a page will be read in, before anything runs: of the URL, else of the browser."""
    add_catalogues(_CATALOGUES)
    result = request.query_params.get(LANGUAGE)
    return result if result in LANGUAGES else _known(request.headers.get("accept-language"))


def _of_browser() -> str:
    return _known(st.context.locale)


def _known(preferred: str | None) -> str:
    """Return a language that we have: of `de-AT,en;q=0.9` its first, else English."""
    first = re.split("[-,;]", preferred or ENGLISH)[0]
    return first if first in LANGUAGES else ENGLISH
