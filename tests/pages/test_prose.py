"""What pages say stands as text: in its element, with its class, and never as markup."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import prose
from transformer_core.errors import TextError

MARKUP = "a <b>bold</b> & 'quoted' text"
ESCAPED = "a &lt;b&gt;bold&lt;/b&gt; &amp; &#39;quoted&#39; text"


def drawn(name: str, *words: str) -> list[str]:
    """The HTML that one of the functions puts on a page."""

    def script(name: str, words: list[str]) -> None:
        from pages.shared import prose

        getattr(prose, name)(*words)

    app = AppTest.from_function(script, default_timeout=300, args=(name, [*words])).run()
    assert not app.exception
    return [element.proto.body for element in app.get("html")]


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        (
            "heading",
            [MARKUP, MARKUP],
            f"<div class='hl-heading'><h1 class='hl-title'>{ESCAPED}</h1><details open><summary "
            "aria-label='About this page' title='About this page'></summary>"
            f"<p class='hl-lead'>{ESCAPED}</p></details></div>",
        ),
        ("note", [MARKUP], f"<p class='hl-note'>{ESCAPED}</p>"),
        ("look_for", [MARKUP], f"<p class='hl-look'><b>What to look for:</b> {ESCAPED}</p>"),
        ("subheading", [MARKUP], f"<h2 class='hl-subtitle'>{ESCAPED}</h2>"),
        ("subheading", [MARKUP, MARKUP], f"<h2 class='hl-subtitle'>{ESCAPED}<span>{ESCAPED}</span></h2>"),
    ],
)
def test_what_is_said_is_text(name: str, words: list[str], expected: str):
    assert drawn(name, *words) == [expected]


def test_an_error_becomes_a_sentence():
    assert prose.sentence(TextError("this is no number")) == "This is no number."
    assert prose.sentence(TextError("/tmp is full")) == "/tmp is full."
    assert prose.sentence(TextError("it failed. {way_out}", way_out="")) == "It failed."
