"""The Glossary page: all terms, the one that a link asks for, and a search that a link restores."""

import html
import json
import re

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.glossary import terms, topics
from tests.pages.conftest import OpenApp, component, url_of, words_of

pytestmark = pytest.mark.usefixtures("three_kinds_here")


def opened(open_app: OpenApp, **parameters: str) -> AppTest:
    app = open_app("glossary", **parameters)
    assert not app.exception
    return app


def drawn(app: AppTest) -> str:
    """The HTML of the terms on the page."""
    return str(json.loads(component(app, "markup").json))


def titles(app: AppTest) -> list[str]:
    """The terms on the page, from the top down."""
    return [html.unescape(title) for title in re.findall("<strong>(.*?)</strong>", drawn(app))]


def test_all_terms_stand_under_their_topics_and_the_term_of_a_link_above_them(open_app: OpenApp):
    app = opened(open_app, term="jensen-shannon-distance")
    first, *others = titles(app)
    assert first == "Jensen-Shannon distance" and len(others) == len(terms()) == len({*others})
    assert all(f"<h2 class='hl-subtitle'>{title}</h2>" in drawn(app) for title, _ in topics().values())
    assert drawn(app).count("<math") == 1 + sum(bool(term.formula) for term in terms().values())
    assert url_of(app)["term"] == "jensen-shannon-distance"
    app = opened(open_app, term="<b>none</b>")
    assert "There is no term “&lt;b&gt;none&lt;/b&gt;” in the glossary." in words_of(app)
    assert len(titles(app)) == len(terms())


def test_a_search_finds_what_is_meant_and_a_link_restores_it(open_app: OpenApp):
    app = opened(open_app, term="cka")
    app.text_input[0].set_value("induction HEAD").run()
    assert not app.exception
    assert "Induction head" in titles(app) and "CKA" not in titles(app)
    assert url_of(app)["search"] == "induction HEAD" and "term" not in url_of(app)
    again = opened(open_app, search="induction HEAD")
    assert titles(again) == titles(app)


def test_a_topic_lists_its_terms_and_links_keep_the_chosen_model_unless_a_term_needs_another(open_app: OpenApp):
    app = opened(open_app, model="tales", text="The dog", topic="positions")
    assert titles(app) == [term.title for term in topics()["positions"].terms]
    app.selectbox(key="glossary-topic-box").set_value("heads").run()
    assert titles(app) == [term.title for term in topics()["heads"].terms] and url_of(app)["topic"] == "heads"
    links = [html.unescape(query) for query in re.findall(r"href='\w+\?(.*?)'", drawn(app))]
    assert len(links) == len(titles(app)) and not any("topic" in link for link in links)
    assert links[0].startswith("model=tales&text=The+dog&") and links[0].endswith("&measure=entropy")
    assert "model=induction&measure=induction" in links


def test_german_is_searched_in_either_language(open_app: OpenApp):
    app = open_app("glossary", search="beam search", term="attention-pattern")
    app.session_state["language"] = "de"
    assert titles(app.run())[:2] == ["Attention-Muster", "Beam Search"]
