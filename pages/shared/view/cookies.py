"""What the browser keeps and the server knows before it draws anything: a few words each."""

import streamlit as st

_A_YEAR = 365 * 24 * 3600  # s


def read(name: str) -> str:
    """Return the value that the browser had stored when this session began, unchecked; "" if none."""
    return st.context.cookies.get(name, "")


def keep(name: str, value: str) -> None:
    """Let the browser keep a value for the next session; takes no room on the page.

    Args:
        name: of the cookie.
        value: of letters, digits, `-` and `.`.
    """
    cookie = f"{name}={value}; max-age={_A_YEAR}; path=/; samesite=lax"
    st.html(f"<script>document.cookie = {cookie!r}</script>", unsafe_allow_javascript=True)
