"""Which pages a person has seen: the purpose of a page is shown only at the first visit.

A session keeps what it has seen; a cookie keeps it for the next one.
"""

import re

import streamlit as st

from pages.shared.view import cookies

COOKIE = "headlight-seen"
_SEEN, _OPEN = "seen-pages", "open-page"  # keys of the session: the pages before the one that is open, and that one


def arrive(page: str) -> None:
    """Take note of the page that is open; in every run of it."""
    before = st.session_state.get(_OPEN)
    if before == page:
        return
    if before is None:
        seen = frozenset(re.findall(r"[\w-]+", cookies.read(COOKIE)))
    else:
        seen = st.session_state[_SEEN] | {before}
    st.session_state[_OPEN], st.session_state[_SEEN] = page, seen


def is_first() -> bool:
    """Whether this is the first visit to the page that is open."""
    return st.session_state.get(_OPEN) not in st.session_state.get(_SEEN, ())


def remember() -> None:
    """Let the browser keep for the next session that this page was seen."""
    if is_first():
        seen = ".".join(sorted(st.session_state[_SEEN] | {st.session_state[_OPEN]}))
        cookies.keep(COOKIE, seen)
