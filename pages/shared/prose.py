"""What pages say in words: their heads, remarks, and what to look for. All of it is text, never markup."""

import html

import streamlit as st

from transformer_core.language import say

ONE_LINE = 180  # characters, about, that a lead has in a line of a wide window


def heading(title: str, lead: str) -> None:
    """Say what a page is called, and what it is for; its place has its height before it is there (waiting.css)."""
    with st.container(key="hl-heading" if len(lead) <= ONE_LINE else "hl-heading-long"):
        st.html(f"<h1 class='hl-title'>{html.escape(title)}</h1><p class='hl-lead'>{html.escape(lead)}</p>")


def note(words: str) -> None:
    """Remark on something calmly."""
    st.html(f"<p class='hl-note'>{html.escape(words)}</p>")


def look_for(words: str) -> None:
    """Say in a line what is worth looking for."""
    st.html(f"<p class='hl-look'><b>{html.escape(say('What to look for:'))}</b> {html.escape(words)}</p>")


def subheading(words: str, aside: str = "") -> None:
    """Say what a part of a page is about, and, in small letters, what else."""
    more = f"<span>{html.escape(aside)}</span>" if aside else ""
    st.html(f"<h2 class='hl-subtitle'>{html.escape(words)}{more}</h2>")


def sentence(error: Exception) -> str:
    """Return what an error says as a sentence."""
    words = str(error)
    return f"{words[:1].upper()}{words[1:]}."
