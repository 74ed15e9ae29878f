"""The Glossary page: a term that a link asks for, and all terms by topic."""

from urllib.parse import urlencode

import streamlit as st

from headlight.language import say
from pages.learn.glossary import PAGE, view_fields
from pages.shared import prose
from pages.shared.glossary import Term, Topic, terms, topics
from pages.shared.page import pages
from pages.shared.view import locale, state
from transformer_core.errors import mark

LEAD = mark(
    "The terms that Headlight uses, under their usual names: what each means, how it is computed here, where it comes "
    "from, and where you can see it."
)


@st.fragment
def glossary() -> None:
    """Draw the search, the requested term, and the other terms; a search reruns only this fragment."""
    _controls()
    if name := view_fields.TERM.value:
        if term := terms().get(name):
            with st.container(key="hl-glossary-asked", gap=None):
                prose.markdown(_markdown(term))
        else:
            prose.note(say("There is no term “{name}” in the glossary.", name=name))
    matching = view_fields.matching_topics()
    for topic in matching:
        _topic(topic)
    if not matching:
        prose.note(say("No term matches “{words}”.", words=view_fields.SEARCH.value))
    state.publish()


def _controls() -> None:
    with st.container(key="hl-glossary-bar", horizontal=True, gap="small"):
        view_fields.SEARCH.text(
            say("Search the glossary"),
            placeholder=say("Search terms and definitions, then press Enter"),
            icon=":material/search:",
            label_visibility="collapsed",
            take=view_fields.search,
            width=420,
        )
        view_fields.TOPIC.selectbox(
            say("Topic"),
            ["", *topics()],
            name=lambda topic: topics()[topic].title if topic else say("All topics"),
            label_visibility="collapsed",
            take=view_fields.choose_topic,
            width=260,
        )


def _topic(topic: Topic) -> None:
    prose.subheading(topic.title)
    with st.container(key=f"hl-glossary-topic-{topic.terms[0].name}"):
        prose.markdown("\n\n".join(map(_markdown, topic.terms)))


def _markdown(term: Term) -> str:
    """Return a term as Markdown: its name, meaning, formula and source, and a link to a page that shows it."""
    parts = [f"**{prose.plain(term.title)}**", prose.plain(term.meaning)]
    if term.formula:
        parts.append(rf"$\displaystyle {term.formula}$")
    if term.paper:
        cited, title = term.paper
        place = f" § {term.section}," if term.section[:1].isdigit() else f" {term.section}," if term.section else ","
        parts.append(f":small[{prose.plain(cited)}{place} *{prose.plain(title)}*]")
    shown = pages()[term.page]
    label = prose.plain(say("See it on the {page} page", page=say(shown.title)))
    parts.append(f"[{label}]({shown.url}?{urlencode(locale.published() | _view_of(term))})")
    return "\n\n".join(parts)


def _view_of(term: Term) -> dict[str, str]:
    """Return the query of a link to a term's page: with the chosen model, unless it needs another one."""
    view = dict(term.view)
    if not view or state.MODEL.key in view:
        return view
    own = {field.name for field in view_fields.FIELDS}
    return {name: value for name, value in state.in_words().items() if name not in own} | view


PAGE.show(LEAD, glossary)
