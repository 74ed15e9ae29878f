"""What pages say in words: their heads, remarks, and what to look for. Words stay text, even if users wrote them.

No other module of the pages draws HTML or Markdown itself. The templates of `html`, `markup` and `each` are literals,
with {} for each value, as in `str.format`; a value that is no `Markup` is escaped.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import streamlit as st
from markupsafe import Markup, escape

from headlight.language import localized, say, say_message
from pages.shared.view import visits
from transformer_core.errors import HeadlightError, Message

ONE_LINE = 165  # characters, about, that a lead has in a line of a wide window

MARKUP = re.compile(r"[\\`*~\[\]$<&]|(?<![^\W_])_|_(?![^\W_])")
LATE = re.compile(
    r"^(?=[#>=]|[+-](?![\d.])|\d+[.)]\s)|(?<=:)(?=//|[^\W\d]|[\w+-]+:)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE
)
WORD_JOINER = "\u2060"  # takes no room and shows nothing


class TermLink(NamedTuple):
    """A link to a definition."""

    label: str
    address: str  # within the app
    about: str  # what it leads to, for a tip


def plain(words: object) -> str:
    """Return Markdown that shows some words literally: no link, no bold type, no icon, no formula.

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


def badge(words: str, color: str) -> None:
    """Say in a badge how something stands."""
    st.badge(plain(words), color=color)  # type: ignore[arg-type]  # one of Streamlit's colors


def markup(template: str, *values: object) -> Markup:
    """Return HTML with values in it."""
    return Markup(template).format(*values)


def each(template: str, rows: Iterable[object]) -> Markup:
    """Return HTML with one row of values after another in it; a row of several values is a tuple."""
    return Markup().join(markup(template, *(row if isinstance(row, tuple) else (row,))) for row in rows)


def joined(between: str, parts: Iterable[str]) -> Markup:
    """Return parts, each HTML or text, as HTML with something between each two."""
    return escape(between).join(parts)


def say_markup(text: str, /, **values: object) -> Markup:
    """Return a text with HTML in it in the reader's language; `text` is marked, as for `say`."""
    numbers = {name: value for name, value in values.items() if isinstance(value, int | float)}
    return Markup(say(text, **{name: escape(value) for name, value in values.items()} | numbers))


def html(template: str, *values: object, width: Literal["stretch", "content"] = "stretch") -> None:
    """Draw HTML with values in it."""
    st.html(markup(template, *values), width=width)


def heading(title: str, lead: str) -> None:
    """Say what a page is called, and what it is for: that is open at the first visit, and folded from then on."""
    is_open = visits.is_first()
    height = ("-long" if len(lead) > ONE_LINE else "-short") if is_open else ""  # until it is there: waiting.css
    details = markup("<details open>") if is_open else markup("<details>")
    with st.container(key=f"hl-heading{height}"):
        html(
            "<div class='hl-heading'><h1 class='hl-title'>{0}</h1>{1}<summary aria-label='{2}' title='{2}'></summary>"
            "<p class='hl-lead'>{3}</p></details></div>",
            *(title, details, say("About this page"), lead),
        )


def note(words: str) -> None:
    """Remark on something calmly."""
    html("<p class='hl-note'>{}</p>", words)


def small(
    words: str | Markup, links: Sequence[TermLink] = (), *, width: Literal["stretch", "content"] = "stretch"
) -> None:
    """Say something in small letters, and where its terms are defined."""
    html("<p class='hl-small'>{}{}</p>", words, linked(links), width=width)


def label(words: str) -> None:
    """Say beside a control what it is for."""
    html("<span class='hl-try'>{}</span>", words, width="content")


def facts(pairs: Iterable[tuple[str, str]], look: str = "", links: Sequence[TermLink] = ()) -> None:
    """Draw names and their values side by side, and where the terms are defined; `look`: a class of a style sheet."""
    terms = markup("<p class='hl-small'>{}</p>", linked(links)) if links else ""
    html("<div class='hl-facts-list {}'>{}</div>{}", look, each("<div><span>{}</span>{}</div>", pairs), terms)


def paragraph(words: str | Markup, links: Sequence[TermLink] = ()) -> None:
    """Say something about what is shown, and where its terms are defined."""
    html("<p class='hl-look'>{}{}</p>", words, linked(links))


def look_for(words: str, links: Sequence[TermLink] = ()) -> None:
    """Say in a line what is worth looking for, and where the terms are defined."""
    paragraph(markup("<b>{}</b> {}", say("What to look for:"), words), links)


def subheading(words: str, aside: str = "", links: Sequence[TermLink] = ()) -> None:
    """Say what a part of a page is about, and, in small letters, what else, and where the terms are defined."""
    more = markup("<span>{}</span>", aside) if aside else ""
    html("<h2 class='hl-subtitle'>{}{}{}</h2>", words, more, linked(links))


def table(heads: Iterable[object], rows: Markup, look: str = "") -> Markup:
    """Return a table as HTML, of rows that are HTML; `look`: a class of a style sheet."""
    head = each("<th>{}</th>", heads)
    return markup("<table class='{}'><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", look, head, rows)


def tokens(numbers: Iterable[tuple[str, object]]) -> Markup:
    """Return tokens in a row as HTML, each with its number."""
    return markup("<div class='hl-tokens'>{}</div>", each("<span><bdi>{}</bdi><small>{}</small></span>", numbers))


def linked(links: Sequence[TermLink]) -> Markup:
    """Return links to definitions as HTML, to stand after a text; "" for none."""
    template = "<a href='{}' target='_blank' title='{}'>{}</a>"
    result = joined(", ", (markup(template, link.address, link.about, link.label) for link in links))
    return markup(" <span class='hl-terms'>{} {}</span>", say("Glossary:"), result) if result else result


def with_links(words: str, links: Sequence[TermLink]) -> str:
    """Return a text for the tip of a widget, as Markdown, with links to definitions after it."""
    result = ", ".join(f"[{plain(link.label)}]({link.address})" for link in links)
    return f"{plain(words)} {plain(say('Glossary:'))} {result}".strip() if result else plain(words)


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


def duration(seconds: float) -> str:
    """Return about how long something takes: "20 s", "3 min", "2 h"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{localized(seconds / 3600, '.1f')} h"
