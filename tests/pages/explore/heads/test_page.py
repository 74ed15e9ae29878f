"""The Heads page, and the frame around it, under AppTest: links, bad input, and the code that it shows and saves."""

import html
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import (
    EXAMPLES,
    OpenApp,
    figure_of,
    overview_of,
    shown_code,
    url_of,
    values_of,
    view_of,
    words_of,
)
from tests.pages.explore.decoding.decoding_parts import arrays_of, files_of, sent

pytestmark = pytest.mark.usefixtures("checkpoints")
TEXT = "The cat didn't see the dog."
VIEW = {"text": TEXT, "attention": "encoder", "layer": "1", "head": "2"}

HOSTILE = (
    "<script>window.stolen = 1</script><img src=x onerror=alert(1)>",
    "{text!r} {0} %s %d '''\\n\"\"\"\\ `code` **bold** [link](http://x) $x^2$ :smile:",
    "🙂👩‍👩‍👧 مرحبا بالعالم \u202eabc\u202c",
    "a\x00b\x07c\x1b[31m",
    "Ǆ" * 3000,
)


def drawn(app: AppTest) -> np.ndarray:
    """The numbers of the heatmap; NaN where the mask forbids."""
    assert not app.exception
    (trace,) = (t for t in figure_of(app)["data"] if t["type"] == "heatmap" and t["name"] != "masked")
    return values_of(trace)


def test_the_first_view_is_whole(open_app: OpenApp):
    app = open_app("heads")
    assert not app.exception
    assert app.text_input(key="text-line").value == EXAMPLES[0]
    header, levels = overview_of(app)
    assert [group["attention"] for group in header["groups"]] == ["encoder", "decoder", "cross"]
    assert len(levels) == sum(g["layers"] * g["heads"] * g["queries"] * g["keys"] for g in header["groups"])
    assert "cross-attention L1.H0" in figure_of(app)["layout"]["title"]["text"]
    header, _ = overview_of(open_app("heads", measure="entropy", order="descending"))
    assert {*header["measure"]["values"]} == {"encoder", "decoder", "cross"} and header["order"] == "descending"


def test_another_model_keeps_the_view_within_it_and_what_a_person_typed(open_app: OpenApp):
    app = open_app("heads", layer="1", head="3")
    app.selectbox(key="model-box").select("other").run()
    assert not app.exception
    assert app.text_input(key="text-line").value == "A dog barks.", "an example gives way to one of the other model's"
    assert overview_of(app)[0]["chosen"]["value"] == {"attention": "cross", "layer": 0, "head": 1}
    app.text_input(key="text-line").set_value("  The dog\tsleeps.↵").run()
    assert url_of(app)["text"] == "  The dog\tsleeps.\n" and "ignores some spaces, tabs" in words_of(app)
    assert overview_of(app)[0]["groups"][0]["keys"] == 5  # The dog sleeps . <eos>
    app.selectbox(key="model-box").select("en-fr").run()
    assert app.text_input(key="text-line").value == "  The dog\tsleeps.↵"


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"model": "../../etc"}, "There is no model"),
        ({"layer": "9" * 5000}, "no layer"),
        ({"head": "4"}, "no head"),
        ({"attention": "<script>", "layer": "<b>", "head": "<i>", "model": "<u>"}, "There is no model"),
        ({"packed": "%%%"}, "damaged"),
    ],
)
def test_a_url_that_asks_for_what_does_not_exist(open_app: OpenApp, parameters: dict[str, str], sentence: str):
    app = open_app("heads", **parameters)
    assert not app.exception
    assert sentence in words_of(app)
    assert figure_of(app)["data"]
    assert all(f"<{tag}>" not in words_of(app) for tag in ("script", "i", "u"))
    app.run()
    assert sentence not in words_of(app), "said once"


def test_each_wrong_field_of_the_page_is_one_sentence(open_app: OpenApp):
    app = open_app("heads", show="love", window="a-b", query="-1", mix="1.1:x", hide="me")
    assert not app.exception
    for request in ("show “love”", "window “a-b”", "query “-1”", "mix “1.1:x”", "hide “me”"):
        assert f"The address has {request}" in words_of(app).replace("&#39;", "'")


@pytest.mark.parametrize(("text", "begins"), [("", "Type a text above"), ("\t\n  ", "This text cannot be read: this")])
def test_nothing_to_read(open_app: OpenApp, text: str, begins: str):
    app = open_app("heads", text=text)
    assert not app.exception
    assert [message.value.startswith(begins) for message in (*app.info, *app.warning)] == [True]
    assert not app.get("bidi_component")
    app.text_input(key="text-line").set_value("The cat.").run()
    assert overview_of(app)[1]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_is_shown_as_text(open_app: OpenApp, text: str):
    app = open_app("heads")
    app.text_input(key="text-line").set_value(text).run()
    assert not app.exception
    words = words_of(app)
    assert "<script>" not in words and "onerror=alert(1)>" not in words.replace("&gt;", "")
    assert all("<" not in label for label in figure_of(app)["layout"]["xaxis"]["ticktext"])
    link = url_of(app)
    assert len(link.get("text", "")) <= 1000 and len(link.get("packed", "")) < 5000


@pytest.mark.parametrize("text", ["It's “the” cat's \"dog\" \\ {} %s <unk> <eos>", "'''\"\"\"\\" + "the cat " * 100])
def test_the_shown_code_computes_the_shown_numbers(open_app: OpenApp, text: str, capsys: pytest.CaptureFixture[str]):
    app = open_app("heads", attention="decoder", head="2", text=text)
    namespace: dict[str, Any] = {}
    exec(compile(shown_code(app), "shown", "exec"), namespace)
    shown = next(trace for trace in figure_of(app)["data"] if trace["name"] == "attention")
    np.testing.assert_allclose(np.nan_to_num(values_of(shown)), namespace["shown"].values, atol=1e-6)
    assert capsys.readouterr().out.splitlines()[0] in html.unescape(words_of(app))


def looks_alike(again: Any, sent: dict[str, Any]) -> None:
    """A figure that was drawn again has the title, the names of the axes and the marks of the one on the page."""
    layout, seen = (json.loads(figure)["layout"] for figure in (again.to_json(), sent["figure"]))
    for axis in ("xaxis", "yaxis"):
        assert layout[axis].get("title") == seen[axis].get("title")
    assert layout["title"]["text"] == seen["title"]["text"]
    assert layout.get("shapes") == seen.get("shapes")


VIEWS: tuple[dict[str, str], ...] = (
    {"attention": "decoder", "layer": "0"},
    {"unit": "word", "hide": "special", "rest": "share", "show": "written", "mean": "all"},
    {"mix": "0.1+1.2:0.5", "window": "1-4.0-3", "query": "3", "key": "1"},
)


@pytest.mark.parametrize("changed", VIEWS, ids=str)
def test_the_saved_files_hold_the_numbers_and_the_lines_that_give_them(
    open_app: OpenApp, changed: dict[str, str], tmp_path, monkeypatch, capsys
):
    app = open_app("heads", **VIEW | changed)
    shown = drawn(app)
    seen = view_of(app)
    app.query_params["head"] = str(1 - int(seen["head"]))  # by a browser that has not taken in the address yet
    files = files_of(app, "heatmap")
    arrays, state = arrays_of(files), json.loads(files["json"])
    values, mask = arrays["pattern"], arrays["mask"]
    assert (len(arrays["query_tokens"]), len(arrays["key_tokens"])) == values.shape
    np.testing.assert_allclose(values[mask], shown[mask], atol=1e-7)
    assert files["csv"].decode().count("\n") == 1 + values.size
    assert state["view"] == view_of(app) == seen
    assert len(state["model"]["sha256"]) == 64 and "torch" in state["versions"]
    monkeypatch.chdir(tmp_path)
    again: dict[str, Any] = {}
    exec(compile(files["py"], "redraw.py", "exec"), again)
    np.testing.assert_allclose(again["shown"].values, values, atol=1e-6)
    looks_alike(again["figure"], sent(app, "heatmap"))


def test_every_other_figure_is_drawn_again_by_its_lines(open_app: OpenApp, tmp_path, monkeypatch):
    numbers = {"heads-row": "shown", "heads-in-all": "weights", "heads-across-target-source": "parts"}
    app = open_app("heads", **VIEW, query="3", key="1", across="rollout")
    monkeypatch.chdir(tmp_path)
    for key, name in numbers.items():
        files = files_of(app, key)
        assert files.keys() == {"csv", "npz", "py", "json"}
        values = next(iter(arrays_of(files).values()))
        again: dict[str, Any] = {}
        exec(compile(files["py"], "redraw.py", "exec"), again)
        result = again[name]
        if name == "parts":
            result = next(part for part in result if (part.of, part.side) == ("target", "source"))
        np.testing.assert_allclose(getattr(result, "values", result).squeeze(), values.squeeze(), atol=1e-6)
        looks_alike(again["figure"], sent(app, key))


def test_without_models_the_page_says_how_to_train_one(open_app: OpenApp, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path / "none"))
    assert "python -m transformer_core train" in open_app("heads").code[0].value
