"""The pages that a person has visited: the purpose of a page is open only at the first visit.

A session keeps what it has seen; a cookie keeps it for the next one.
"""

import re

import streamlit as st

COOKIE = "headlight-seen"
_SEEN = "seen-pages"  # key of the session: the pages whose purpose is known
_OPEN = "open-page"  # key of the session: the page that is open
_A_YEAR = 365 * 24 * 3600  # s


def arrive(page: str, *, is_explained: bool = False) -> None:
    """Record the page that is open; call in every run of the page.

    Args:
        page: its address.
        is_explained: somebody presents it, so its purpose need not be open.
    """
    before = st.session_state.get(_OPEN)
    if before == page:
        return
    is_new = before is None
    seen = frozenset(re.findall(r"[\w-]+", read(COOKIE))) if is_new else st.session_state[_SEEN] | {before}
    st.session_state[_OPEN], st.session_state[_SEEN] = page, seen | {page} if is_explained else seen


def is_first() -> bool:
    """Whether this is the first visit to the page that is open."""
    return st.session_state.get(_OPEN) not in st.session_state.get(_SEEN, ())


def remember() -> None:
    """Have the browser remember for the next session that this page was seen."""
    if is_first():
        seen = ".".join(sorted(st.session_state[_SEEN] | {st.session_state[_OPEN]}))
        keep(COOKIE, seen)


def read(name: str) -> str:
    """Return the value that the browser had stored when this session began, unchecked; "" if none."""
    return st.context.cookies.get(name, "")


def keep(name: str, value: str) -> None:
    """Have the browser keep a value for the next session; nothing is drawn on the page.

    Args:
        name: of the cookie.
        value: of letters, digits, `-` and `.`.
    """
    cookie = f"{name}={value}; max-age={_A_YEAR}; path=/; samesite=lax"
    st.html(f"<script>document.cookie = {cookie!r}</script>", unsafe_allow_javascript=True)
