"""What pages say stands as text: in its element, with its class, and never as markup, not even what strangers write."""

import html
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from html.parser import HTMLParser
from pathlib import Path

import pytest
import streamlit as st
from hypothesis import given
from hypothesis.strategies import characters, text
from streamlit.testing.v1 import AppTest

from headlight.cli.launch import Launcher
from pages.shared import prose
from pages.shared.page import pages
from pages.shared.prose import plain
from pages.shared.view import visits
from tests.pages.conftest import OpenApp, protos_of, save_model, words_of
from tests.pages.train.small_films import save_run
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
    links = [prose.TermLink(words, words, words)]
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


HOSTILE = "x [open your results](https://evil.example/a) :red[**now**] '''\"\"\"\\ {0} %s ____ <img src=x onerror=y>"
NO_MARKDOWN = ("html", "code", "json", "bidi_component", "text_input", "text_area", "selectbox")
OF_THE_VIEW = ("text", "target", "attention", "layer", "head", "device")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("x [a](https://b/c) :red[**now**]", "x \\[a\\](https:\u2060//b/c) :\u2060red\\[\\*\\*now\\*\\*\\]"),
        ("d_model (64) on 'cuda:7' is 0.5", "d_model (64) on 'cuda:7' is 0.5"),
        ("_a_ __b__", "\\_a\\_ \\_\\_b\\_\\_"),
        ("$x$ `y` <b> &amp; ~z~ \\*", "\\$x\\$ \\`y\\` \\<b> \\&amp; \\~z\\~ \\\\\\*"),
        ("www.evil.example me@evil.example :smile:", "www\u2060.evil.example me\u2060@evil.example :\u2060smile:"),
        *(("# a\n\n- b", "\u2060# a - b"), ("1. a", "\u20601. a"), ("-0.5", "-0.5")),
    ],
)
def test_plain_words_have_no_marks_that_act(words: str, expected: str):
    assert plain(words) == expected


def markdown_of(app: AppTest) -> Iterator[str]:
    """Everything that a page gave to Streamlit's Markdown: texts, boxes, labels, tips, and options."""
    for proto in protos_of(app._tree, without=NO_MARKDOWN):
        for part in (proto, *(value for _, value in proto.ListFields() if hasattr(value, "ListFields"))):
            yield from (value for field, value in part.ListFields() if isinstance(value, str) and field.name != "id")


@pytest.fixture
def hostile_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One model, whose title and examples are hostile, and a training."""
    titled = {"title": HOSTILE, "examples": (HOSTILE, "The cat.", HOSTILE)}
    save_model(tmp_path / "models" / "en-fr", n_layers=1, n_heads=2, **titled)  # type: ignore[arg-type]
    (tmp_path / "models" / "broken [a](https:)").mkdir()
    save_run(tmp_path / "runs" / "pairs")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path / "models"))
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(Launcher, "warm_up", lambda self: None)


@pytest.mark.parametrize("page", [*pages()])
def test_hostile_words_are_text_on_every_page(hostile_names: None, open_app: OpenApp, page: str):
    nonsense = dict.fromkeys((*OF_THE_VIEW, *(field.name for field in pages()[page].fields)), HOSTILE)
    links = [{"model": HOSTILE, "text": HOSTILE, "target": HOSTILE}, nonsense]
    links += [{"run": HOSTILE}, nonsense | {"run": "pairs"}] * (page in ("film", "train"))
    written = []
    for link in links:
        app = open_app(page, **link)
        assert not app.exception and not app.error
        assert "<img" not in words_of(app).replace("<img class='hl-", "")
        written += [words for words in markdown_of(app) if "evil.example" in words]
        written += ["evil.example"] * ("evil.example" in html.unescape(words_of(app)))
    assert written or page in ("tour", "server", "glossary")
    assert not [words for words in written if "[open your results]" in words or "https://" in words]
