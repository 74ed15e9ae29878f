"""The text on pages: headings, remarks and hints. Words are shown literally, even if users wrote them.

No other module of the pages draws HTML or Markdown itself, but for `markup`, which draws what this one makes. The
templates of `html`, `markup` and `each` are literals, with {} for each value, as in `str.format`; a value that is no
`Markup` is escaped.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import streamlit as st
from markupsafe import Markup, escape

from headlight.language import localized, say, say_message
from pages.shared.view import visits
from transformer_core.errors import HeadlightError, Message

ONE_LINE = 165  # approximate characters per line of a lead in a wide window

MARKUP = re.compile(r"[\\`*~\[\]$<&]|(?<![^\W_])_|_(?![^\W_])")
LATE = re.compile(
    r"^(?=[#>=]|[+-](?![\d.])|\d+[.)]\s)|(?<=:)(?=//|[^\W\d]|[\w+-]+:)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE
)
WORD_JOINER = "\u2060"  # takes no room and shows nothing
_MATH = re.compile(r"(?<!\\)\$\$(.+?)\$\$|(?<!\\)\$([^$\n]+?)(?<!\\)\$", re.DOTALL)
_FORMULA = "\ue000{}\ue001"  # the place of a formula while the text around it is converted


class TermLink(NamedTuple):
    """A link to a definition."""

    label: str
    address: str  # within the app
    about: str  # description of its target, for a tooltip


def plain(words: object) -> str:
    """Return Markdown that shows some words literally: no link, no bold type, no icon, no formula.

    Streamlit detects addresses, icons and emoji after it has removed the escapes, so a word joiner breaks them up;
    another precedes characters that would begin a heading, a list or a quotation.
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
    """Draw an information box."""
    st.info(plain(words), **options)


def success(words: str) -> None:
    """Draw a success message in a box."""
    st.success(plain(words))


def warning(words: str) -> None:
    """Draw a warning box: what cannot be done, why, and what to do."""
    st.warning(plain(words))


def error(words: str) -> None:
    """Draw an error message in a box."""
    st.error(plain(words))


def toast(words: str) -> None:
    """Show briefly why an action was not performed, without moving anything on the page."""
    st.toast(plain(words))


def badge(words: str, color: str) -> None:
    """Draw a state in a colored badge."""
    st.badge(plain(words), color=color)  # type: ignore[arg-type]  # one of Streamlit's colors


def markup(template: str, *values: object) -> Markup:
    """Return HTML with values in it."""
    return Markup(template).format(*values)


@lru_cache(maxsize=256)  # the glossary converts all its formulas in every rerun
def of_markdown(words: str) -> Markup:
    """Convert Markdown with TeX formulas to HTML with MathML, which `st.html` cannot draw; HTML in it is escaped."""
    from latex2mathml.converter import convert
    from markdown_it import MarkdownIt

    formulas: list[str] = []

    def take(match: re.Match[str]) -> str:
        block, inline = match.groups()
        try:
            formulas.append(convert(block or inline, display="block" if block else "inline"))
        except Exception:  # TeX that the library cannot read
            formulas.append(str(markup("<code>{}</code>", block or inline)))
        return _FORMULA.format(len(formulas) - 1)

    converted = MarkdownIt("commonmark", {"html": False}).enable("table").render(_MATH.sub(take, words))
    return Markup(re.sub(_FORMULA.format(r"(\d+)"), lambda place: "".join(formulas[int(place[1]) :][:1]), converted))


def each(template: str, rows: Iterable[object]) -> Markup:
    """Return the HTML of a template, filled in once for each row; a row of several values is a tuple."""
    return Markup().join(markup(template, *(row if isinstance(row, tuple) else (row,))) for row in rows)


def joined(between: str, parts: Iterable[str]) -> Markup:
    """Join parts, each HTML or text, into HTML with a separator."""
    return escape(between).join(parts)


def say_markup(text: str, /, **values: object) -> Markup:
    """Return a text with HTML in it in the reader's language; `text` is marked, as for `say`."""
    numbers = {name: value for name, value in values.items() if isinstance(value, int | float)}
    return Markup(say(text, **{name: escape(value) for name, value in values.items()} | numbers))


def html(template: str, *values: object, width: Literal["stretch", "content"] = "stretch") -> None:
    """Draw HTML with values in it."""
    st.html(markup(template, *values), width=width)


def heading(title: str, lead: str) -> None:
    """Draw the title of a page and its purpose, which is open at the first visit and folded from then on."""
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
    """Draw a remark in muted text."""
    html("<p class='hl-note'>{}</p>", words)


def small(
    words: str | Markup, links: Sequence[TermLink] = (), *, width: Literal["stretch", "content"] = "stretch"
) -> None:
    """Draw text in small letters, with links to the definitions of its terms."""
    html("<p class='hl-small'>{}{}</p>", words, linked(links), width=width)


def label(words: str) -> None:
    """Draw a label beside a control."""
    html("<span class='hl-try'>{}</span>", words, width="content")


def facts(pairs: Iterable[tuple[str, str]], look: str = "", links: Sequence[TermLink] = ()) -> None:
    """Draw names with their values, and links to the definitions of the terms; `look`: a class of a style sheet."""
    terms = markup("<p class='hl-small'>{}</p>", linked(links)) if links else ""
    html("<div class='hl-facts-list {}'>{}</div>{}", look, each("<div><span>{}</span>{}</div>", pairs), terms)


def paragraph(words: str | Markup, links: Sequence[TermLink] = ()) -> None:
    """Draw a paragraph, with links to the definitions of its terms."""
    html("<p class='hl-look'>{}{}</p>", words, linked(links))


def look_for(words: str, links: Sequence[TermLink] = ()) -> None:
    """Draw one line on what is worth looking for, with links to the definitions of its terms."""
    paragraph(markup("<b>{}</b> {}", say("What to look for:"), words), links)


def subheading(words: str, aside: str = "", links: Sequence[TermLink] = ()) -> None:
    """Draw the heading of a part of a page, with details in small letters and links to the definitions of its terms."""
    more = markup("<span>{}</span>", aside) if aside else ""
    html("<h2 class='hl-subtitle'>{}{}{}</h2>", words, more, linked(links))


def table(heads: Iterable[object], rows: Markup, look: str = "") -> Markup:
    """Return an HTML table from rows of HTML; `look`: a class of a style sheet."""
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
    """Return a message, or that of an error, as a sentence in the reader's language."""
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
    """Return an approximate duration in words: "20 s", "3 min", "2 h"."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{localized(seconds / 3600, '.1f')} h"
