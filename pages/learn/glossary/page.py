"""The Glossary page: a term that a link asks for, and all terms by topic."""

from urllib.parse import urlencode

import streamlit as st

from headlight.language import say
from pages.components import markup
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
    parts = []
    if name := view_fields.TERM.value:
        if term := terms().get(name):
            parts.append(prose.markup("<div class='hl-glossary-asked'>{}</div>", _of_term(term)))
        else:
            prose.note(say("There is no term “{name}” in the glossary.", name=name))
    matching = view_fields.matching_topics()
    parts += map(_of_topic, matching)
    if not matching:
        prose.note(say("No term matches “{words}”.", words=view_fields.SEARCH.value))
    markup.draw(prose.joined("", parts), key="hl-glossary-terms")
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


def _of_topic(topic: Topic) -> prose.Markup:
    return prose.markup(
        "<h2 class='hl-subtitle'>{}</h2><div class='hl-glossary-topic'>{}</div>",
        topic.title,
        prose.joined("", map(_of_term, topic.terms)),
    )


def _of_term(term: Term) -> prose.Markup:
    """Return a term as HTML: its name, meaning, formula and source, and a link to a page that shows it."""
    formula = prose.of_markdown(f"${term.formula}$") if term.formula else ""
    source = ""
    if term.paper:
        cited, title = term.paper
        section = f"§ {term.section}" if term.section[:1].isdigit() else term.section
        place = f"{cited} {section}" if section else cited
        source = prose.markup("<p><small>{}, <em>{}</em></small></p>", place, title)
    shown = pages()[term.page]
    link = prose.markup(
        "<p><a href='{}?{}' target='_blank'>{}</a></p>",
        shown.url,
        urlencode(locale.published() | _view_of(term)),
        say("See it on the {page} page", page=say(shown.title)),
    )
    return prose.markup("<p><strong>{}</strong></p><p>{}</p>{}{}{}", term.title, term.meaning, formula, source, link)


def _view_of(term: Term) -> dict[str, str]:
    """Return the query of a link to a term's page: with the chosen model, unless it needs another one."""
    view = dict(term.view)
    if not view or state.MODEL.key in view:
        return view
    own = {field.name for field in view_fields.FIELDS}
    return {name: value for name, value in state.in_words().items() if name not in own} | view


PAGE.show(LEAD, glossary)
