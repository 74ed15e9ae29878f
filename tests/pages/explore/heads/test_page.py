"""The page Heads, and the frame around it, under AppTest: each view, each bad input, and the code that it shows."""

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import EXAMPLES, figure_of, overview_of, shown_code, url_of, values_of, view_of, words_of

pytestmark = pytest.mark.usefixtures("checkpoints")
OpenApp = Callable[..., AppTest]

HOSTILE = (
    "<script>window.stolen = 1</script>",
    "<img src=x onerror=alert(1)>",
    '"; drop table heads; --',
    "'''\\n\"\"\"\\",
    "{text!r} {0} %s %d",
    "🙂👩‍👩‍👧 🇫🇷",
    "مرحبا بالعالم",
    "\u202eabc\u202c",
    "a\x00b\x07c\x1b[31m",
    "Ǆ" * 3000,
    "the cat " * 5000,
    "`code` **bold** [link](http://x) $x^2$ :smile:",
)


def test_the_first_view_is_whole(open_app: OpenApp):
    app = open_app("heads")
    assert not app.exception
    assert app.text_input(key="text").value == EXAMPLES[0]
    header, levels = overview_of(app)
    assert [group["attention"] for group in header["groups"]] == ["encoder", "decoder", "cross"]
    assert len(levels) == sum(g["layers"] * g["heads"] * g["queries"] * g["keys"] for g in header["groups"])
    assert "cross-attention L1.H0" in figure_of(app)["layout"]["title"]["text"]
    words = words_of(app)
    assert "What to look for" in words
    assert "2 layers, 4 heads, 12.3 million parameters, trained on en-fr" in words


def test_a_second_run_changes_nothing(open_app: OpenApp):
    app = open_app("heads")
    before = overview_of(app), figure_of(app), words_of(app), url_of(app)
    app.run()
    assert not app.exception
    assert (overview_of(app), figure_of(app), words_of(app), url_of(app)) == before


def test_the_url_holds_the_view(open_app: OpenApp):
    view = {"model": "other", "text": "A dog.", "attention": "decoder", "layer": "0", "head": "1"}
    app = open_app("heads", **view)
    assert "decoder self-attention L0.H1" in figure_of(app)["layout"]["title"]["text"]
    assert view_of(app) == view
    assert overview_of(app)[0]["chosen"]["value"] == {"attention": "decoder", "layer": 0, "head": 1}


def test_typing_a_text(open_app: OpenApp):
    app = open_app("heads")
    app.text_input(key="text").set_value("  The dog\tsleeps. ").run()
    assert not app.exception
    assert url_of(app)["text"] == "The dog sleeps."
    assert overview_of(app)[0]["groups"][0]["keys"] == 5  # The dog sleeps . <eos>


def test_clicking_an_example(open_app: OpenApp):
    app = open_app("heads")
    app.button(key="example-1").click().run()
    assert app.text_input(key="text").value == EXAMPLES[1]
    assert url_of(app)["text"] == EXAMPLES[1]


def test_choosing_another_model_keeps_the_view_within_it(open_app: OpenApp):
    app = open_app("heads", layer="1", head="3")
    app.selectbox(key="model").select("other").run()
    assert not app.exception
    assert app.text_input(key="text").value == "A dog barks."
    assert overview_of(app)[0]["chosen"]["value"] == {"attention": "cross", "layer": 0, "head": 1}
    app.text_input(key="text").set_value("The cat.").run()
    app.selectbox(key="model").select("en-fr").run()
    assert app.text_input(key="text").value == "The cat."  # what a person typed stays


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"model": "nothing"}, "There is no model"),
        ({"model": "../../etc"}, "There is no model"),
        ({"model": "broken"}, "There is no model"),
        ({"attention": "self"}, "There is no attention"),
        ({"layer": "2"}, "no layer"),
        ({"layer": "-1"}, "no layer"),
        ({"layer": "one"}, "no layer"),
        ({"layer": "9" * 5000}, "no layer"),
        ({"head": "4"}, "no head"),
        ({"head": "1e3"}, "no head"),
        ({"head": ""}, "no head"),
        ({"attention": "<script>", "layer": "<b>", "head": "<i>", "model": "<u>"}, "There is no model"),
    ],
)
def test_a_url_that_asks_for_what_does_not_exist(open_app: OpenApp, parameters: dict[str, str], sentence: str):
    app = open_app("heads", **parameters)
    assert not app.exception
    assert sentence in words_of(app)
    assert figure_of(app)["data"]
    assert all(f"<{tag}>" not in words_of(app) for tag in ("script", "i", "u"))
    app.run()
    assert sentence not in words_of(app)  # said once


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", " ", "\t\n  ", "\x00"])
def test_nothing_to_read(open_app: OpenApp, text: str):
    app = open_app("heads", text=text)
    assert not app.exception
    assert [info.value.startswith("Type a text above") for info in app.info] == [True]
    assert not app.get("bidi_component")
    app.text_input(key="text").set_value("The cat.").run()
    assert overview_of(app)[1]


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_is_shown_as_text(open_app: OpenApp, text: str):
    app = open_app("heads")
    app.text_input(key="text").set_value(text).run()
    assert not app.exception
    words = words_of(app)
    assert "<script>" not in words and "onerror=alert(1)>" not in words.replace("&gt;", "")
    figure = figure_of(app)
    assert all("<" not in label for label in figure["layout"]["xaxis"]["ticktext"])
    link = url_of(app)
    assert len(link.get("text", "")) <= 1000 and len(link.get("packed", "")) < 5000
    app.run()
    assert not app.exception


def test_unknown_words_are_named(open_app: OpenApp):
    words = html.unescape(words_of(open_app("heads", text="The zebra sees the <gnu>.")))
    assert "Not in the vocabulary" in words
    assert "zebra" in words and "gnu" in words


def test_a_long_text_says_how_much_was_read(open_app: OpenApp):
    assert "its first 31 tokens were read" in words_of(open_app("heads", text="the cat " * 5000))


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"attention": "encoder", "layer": "0", "head": "3"},
        {"attention": "decoder", "head": "2", "text": "It's “the” cat's \"dog\" \\ {} %s <unk> <eos>"},
        {"text": "the cat " * 100},
        {"model": "other", "text": "'''\"\"\"\\"},
    ],
)
def test_the_shown_code_computes_the_shown_numbers(
    open_app: OpenApp, parameters: dict[str, str], capsys: pytest.CaptureFixture[str]
):
    app = open_app("heads", **parameters)
    namespace: dict[str, Any] = {}
    exec(compile(shown_code(app), "shown", "exec"), namespace)
    shown = next(trace for trace in figure_of(app)["data"] if trace["name"] == "attention")
    np.testing.assert_allclose(np.nan_to_num(values_of(shown)), namespace["shown"].values, atol=1e-6)
    assert capsys.readouterr().out.splitlines()[0] in html.unescape(words_of(app))


def test_the_overview_shows_the_same_numbers_as_the_heatmap(open_app: OpenApp):
    app = open_app("heads", attention="encoder", layer="1", head="2")
    header, levels = overview_of(app)
    group = header["groups"][0]
    size = group["queries"] * group["keys"]
    at = (1 * group["heads"] + 2) * size
    shown = values_of(figure_of(app)["data"][0])
    np.testing.assert_allclose(np.frombuffer(levels[at : at + size], np.uint8) / 254, shown.ravel(), atol=0.51 / 254)


def test_without_models_the_page_says_how_to_train_one(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path / "none"))
    app = open_app("heads")
    assert not app.exception
    assert "python -m transformer_core train" in app.code[0].value


def test_a_damaged_model_is_a_calm_sentence(open_app: OpenApp, checkpoints: Path, tmp_path: Path, monkeypatch):
    for file in (checkpoints / "en-fr").iterdir():
        folder = tmp_path / "damaged"
        folder.mkdir(exist_ok=True)
        (folder / file.name).write_bytes(file.read_bytes())
    (tmp_path / "damaged" / "model.safetensors").write_bytes(b"nothing")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    app = open_app("heads")
    assert not app.exception
    assert "cannot be used" in app.warning[0].value
    app.run()
    assert not app.exception
