"""What pages say in words: their heads, remarks, and what to look for. All of it is text, never markup."""

import html
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import streamlit as st

from pages.shared.view import visits
from transformer_core.errors import HeadlightError, Message
from transformer_core.language import say, say_message

ONE_LINE = 165  # characters, about, that a lead has in a line of a wide window

MARKUP = re.compile(r"[\\`*~\[\]$<&]|(?<![^\W_])_|_(?![^\W_])")
LATE = re.compile(
    r"^(?=[#>=]|[+-](?![\d.])|\d+[.)]\s)|(?<=:)(?=//|[^\W\d]|[\w+-]+:)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE
)
WORD_JOINER = "\u2060"  # takes no room and shows nothing


class Link(NamedTuple):
    """A link to a definition."""

    label: str
    address: str  # within the app
    about: str  # what it leads to, for who points at it


def plain(words: object) -> str:
    """Return Markdown that shows some words as they are: no link, no bold type, no icon, no formula.

    Streamlit looks for addresses, icons and emoji after it took the escapes out, so a word joiner stands in those; and
    one stands before what would begin a heading, a list or a quotation.
    """
    joined = " ".join(str(words).split())
    return LATE.sub(WORD_JOINER, MARKUP.sub(r"\\\g<0>", joined))


def markdown(words: str) -> None:
    """Draw Markdown that was meant as Markdown, such as a lesson's."""
    st.markdown(words)


def text(words: str) -> None:
    """Say something."""
    st.markdown(plain(words))


def caption(words: str) -> None:
    """Say something in small letters."""
    st.caption(plain(words))


def info(words: str, **options: Any) -> None:
    """Say in a box what happened."""
    st.info(plain(words), **options)


def success(words: str) -> None:
    """Say in a box what went well."""
    st.success(plain(words))


def warning(words: str) -> None:
    """Say in a box what cannot be done, why, and what to do."""
    st.warning(plain(words))


def error(words: str) -> None:
    """Say in a box that something broke."""
    st.error(plain(words))


def toast(words: str) -> None:
    """Say for a moment why something was not done; nothing on the page moves."""
    st.toast(plain(words))


def heading(title: str, lead: str) -> None:
    """Say what a page is called, and what it is for: that is open at the first visit, and folded from then on."""
    is_open = " open" if visits.is_first() else ""
    about = html.escape(say("About this page"), quote=True)
    height = ("-long" if len(lead) > ONE_LINE else "-short") if is_open else ""  # until it is there: waiting.css
    with st.container(key=f"hl-heading{height}"):
        st.html(
            f"<div class='hl-heading'><h1 class='hl-title'>{html.escape(title)}</h1><details{is_open}><summary "
            f"aria-label='{about}' title='{about}'></summary><p class='hl-lead'>{html.escape(lead)}</p></details></div>"
        )


def note(words: str) -> None:
    """Remark on something calmly."""
    st.html(f"<p class='hl-note'>{html.escape(words)}</p>")


def look_for(words: str, links: Sequence[Link] = ()) -> None:
    """Say in a line what is worth looking for, and where the terms are defined."""
    title = html.escape(say("What to look for:"))
    st.html(f"<p class='hl-look'><b>{title}</b> {html.escape(words)}{linked(links)}</p>")


def subheading(words: str, aside: str = "", links: Sequence[Link] = ()) -> None:
    """Say what a part of a page is about, and, in small letters, what else, and where the terms are defined."""
    more = f"<span>{html.escape(aside)}</span>" if aside else ""
    st.html(f"<h2 class='hl-subtitle'>{html.escape(words)}{more}{linked(links)}</h2>")


def linked(links: Sequence[Link]) -> str:
    """Return links to definitions as HTML, to stand after a text; "" for none."""
    found = ", ".join(
        f"<a href='{html.escape(link.address)}' target='_blank' title='{html.escape(link.about)}'>"
        f"{html.escape(link.label)}</a>"
        for link in links
    )
    return f" <span class='hl-terms'>{html.escape(say('Glossary:'))} {found}</span>" if found else ""


def with_links(words: str, links: Sequence[Link]) -> str:
    """Return a text for the tip of a widget, as Markdown, with links to definitions after it."""
    found = ", ".join(f"[{plain(link.label)}]({link.address})" for link in links)
    return f"{plain(words)} {plain(say('Glossary:'))} {found}".strip() if found else plain(words)


def sentence(message: Message | HeadlightError) -> str:
    """Return a message, or what an error says, as a sentence in the reader's language."""
    words = say_message(message).rstrip(". ")
    return f"{words[:1].upper()}{words[1:]}."


def amount(number: float) -> str:
    """Return a count with a unit that reads well: "790 thousand", "63.1 million"."""
    if number < 10_000:
        return say("{n:,.0f}", n=number)
    if number < 1e6:
        return say("{n:,.0f} thousand", n=number / 1000.0)
    return say("{n:,.1f} million", n=number / 1000000.0)
