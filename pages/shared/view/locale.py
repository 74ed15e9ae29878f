"""The reader's language: that of the browser until another one is chosen."""

import re
from pathlib import Path

import streamlit as st
from starlette.requests import Request

from headlight.language import ENGLISH, LANGUAGES, add_catalogues, ask_for_language, say
from pages.shared.private_streamlit import is_in_a_run
from pages.shared.view.fields import Kept

LANGUAGE = Kept("language", ENGLISH)  # in the URL if it differs from the browser's
_CATALOGUES = Path(__file__).resolve().parents[2] / "languages"


def seed() -> None:
    """Set the language from the URL or the browser at the first run of a session."""
    add_catalogues(_CATALOGUES)
    ask_for_language(_of_reader)
    if not LANGUAGE.is_chosen:
        wanted = st.query_params.get(LANGUAGE.key, "")
        LANGUAGE.set(wanted if wanted in LANGUAGES else _of_browser())


def choose() -> None:
    """Draw the choice."""
    LANGUAGE.segmented(say("Language"), [*LANGUAGES], name=LANGUAGES.__getitem__, take=_switch)


def published() -> dict[str, str]:
    """Return the language in the URL."""
    chosen = LANGUAGE.value if LANGUAGE.is_chosen else _of_browser()
    return {} if chosen == _of_browser() else {LANGUAGE.key: chosen}


def _switch(language: str) -> None:
    """Use the chosen language, and send the browser all options again, which it has in the previous language.

    Lists are left out: files are read-only, and a `Control` sends its list in each run.
    """
    LANGUAGE.set(language)
    for key, value in st.session_state.items():
        if isinstance(value, str | int | float | tuple) and not isinstance(value, bool):
            st.session_state[key] = value


def _of_reader() -> str:
    """Return the reader's language; English if there is no reader, as during the server's warm-up."""
    if not is_in_a_run():
        return ENGLISH
    return str(LANGUAGE.value)


def asked_for(request: Request) -> str:
    """Return the language of a page before its first run: that of the URL, else of the browser."""
    add_catalogues(_CATALOGUES)
    result = request.query_params.get(LANGUAGE.key)
    return result if result in LANGUAGES else _known(request.headers.get("accept-language"))


def _of_browser() -> str:
    return _known(st.context.locale)


def _known(preferred: str | None) -> str:
    """Return the first language of a header such as `de-AT,en;q=0.9` if it is supported, else English."""
    first = re.split("[-,;]", preferred or ENGLISH)[0]
    return first if first in LANGUAGES else ENGLISH
