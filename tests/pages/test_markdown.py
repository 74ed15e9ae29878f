"""Foreign words on a page stay text, in HTML and where Streamlit reads Markdown; a link of nonsense is calm."""

import html
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from headlight.cli.launch import Launcher
from pages.shared.page import pages
from pages.shared.prose import plain
from tests.pages.conftest import OpenApp, protos_of, save_model, words_of
from tests.pages.train.small_films import save_run

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
