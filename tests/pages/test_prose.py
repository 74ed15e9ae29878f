"""What pages say stands as text: in its element, with its class, and never as markup."""

from collections.abc import Callable
from contextlib import nullcontext
from html.parser import HTMLParser

import pytest
import streamlit as st
from hypothesis import given
from hypothesis.strategies import characters, text

from pages.shared import prose
from pages.shared.view import visits
from transformer_core.errors import TextError


def drawn(draw: Callable[[], object]) -> list[str]:
    """The HTML that is put on a page."""
    sheets: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st, "html", lambda words, **_: sheets.append(str(words)))
        patch.setattr(st, "container", lambda **_: nullcontext())
        patch.setattr(visits, "is_first", lambda: True)
        draw()
    return sheets


def every(words: str) -> None:
    """Draw some words wherever `prose` takes words."""
    links = [prose.Link(words, words, words)]
    prose.heading(words, words)
    prose.note(words)
    prose.small(words, links)
    prose.label(words)
    prose.facts([(words, words)], words, links)
    prose.look_for(words, links)
    prose.subheading(words, words, links)
    prose.html("<p class='{}' title=\"{}\">{}</p>", words, words, prose.tokens([(words, words)]))
    prose.html("<p>{}{:.1f}</p>", prose.say_markup("<b>{p}</b>", p=words), 0.5)
    prose.html("<p>{}</p>", prose.each("<b>{}</b>", [words, (words,)]) + words)


class Shown(HTMLParser):
    """What a browser makes of HTML: its tags, each with the names of its attributes, and all the words in it."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, ...]] = []
        self.parts: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, *(name for name, _ in attrs)))
        self.parts += [value or "" for _, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((tag,))

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


@given(text(characters(codec="utf-8"), min_size=1) | text("<>&'\"/=! ;#abx`{}0", min_size=1, max_size=30))
def test_any_words_are_shown_as_they_are(words: str):
    pattern, sheets = (drawn(lambda: every(of)) for of in ("§", words))  # noqa: B023
    for source, of_pattern in zip(sheets, map(Shown, pattern), strict=True):
        shown = Shown(source)
        assert shown.tags == of_pattern.tags
        assert "".join(shown.parts).split() == "".join(of_pattern.parts).replace("§", words).split()


def test_an_error_becomes_a_sentence():
    assert prose.sentence(TextError("this is no number")) == "This is no number."
    assert prose.sentence(TextError("/tmp is full")) == "/tmp is full."
    assert prose.sentence(TextError("it failed. {way_out}", way_out="")) == "It failed."
