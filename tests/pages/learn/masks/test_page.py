"""The Masks page as a whole: what its parts show is what the core computes, and the code gives the same numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from headlight.analysis.masks.rules import MaskChoice
from headlight.analysis.masks.run import run_masked
from headlight.analysis.masks.text import mask_text
from pages.shared.models import ROOT
from tests.pages.conftest import EXAMPLES, GAPS, PROMPTS, OpenApp, component, figure_of, shown_code, url_of, words_of
from tests.pages.explore.decoding.decoding_parts import arrays_of, files_of, numbers, redrawn
from tests.pages.learn.bare import run_lines, unpacked

pytestmark = pytest.mark.usefixtures("three_kinds_here")


def opened(open_app: OpenApp, **parameters: str) -> AppTest:
    """The page at a link."""
    app = open_app("masks", **parameters)
    assert not app.exception
    return app


def sent(app: AppTest, name: str) -> tuple[dict[str, Any], bytes]:
    """The header and the bytes of a component."""
    return unpacked(component(app, name).bytes)


def printed(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the lines of the page print at the project's root."""
    monkeypatch.chdir(ROOT)
    return run_lines(shown_code(app))[1]


def test_an_edited_mask_is_what_the_model_runs_with(
    open_app: OpenApp, three_kinds: Path, monkeypatch: pytest.MonkeyPatch
):
    head = {"attention": "decoder", "layer": "1", "head": "2"}
    app = opened(open_app, model="en-fr", text=EXAMPLES[1], preset="window", size="2", edits="3.0-1", **head)
    model, tokenizer = tc.load(three_kinds / "en-fr")
    text = mask_text(model, tokenizer, EXAMPLES[1], max_tokens=32)
    choice = MaskChoice(preset="window", size=2, attention="decoder", turned=((3, 0), (3, 1)))
    outcome = run_masked(model, tokenizer, text, choice, layer=1, head=2)
    header, rest = sent(app, "mask_matrix")
    n = len(text.inputs["target"])
    cells = np.frombuffer(rest[12 * n * n :], dtype=np.uint8).reshape(2, n, n)
    np.testing.assert_array_equal(cells[1], outcome.head.allowed)
    assert header["turned"]["value"] == [3 * n, 3 * n + 1]
    rows = header["outputs"]["rows"]
    np.testing.assert_allclose([row["now"] for row in rows], outcome.now.probability, atol=1e-6)
    assert url_of(app)["edits"] == "3.0-1" and url_of(app)["size"] == "2"
    actual = printed(app, monkeypatch)
    assert str(outcome.head.pattern) in actual and str(outcome.now.labels) in actual


@pytest.mark.parametrize(
    ("model", "text", "attention", "parts"),
    [
        ("tales", PROMPTS[0], "decoder", ["leak"]),
        ("gaps", GAPS[0], "encoder", ["which"]),
        ("en-fr", EXAMPLES[2], "cross", ["which"]),
    ],
)
def test_the_parts_are_there_for_every_kind_of_model(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, model: str, text: str, attention: str, parts: list[str]
):
    preset = "padding" if model == "tales" else "forgotten"
    app = opened(open_app, model=model, text=text, attention=attention, preset=preset)
    header, _ = sent(app, "mask_matrix")
    assert header["real"]["key"] == len(header["key"]) - 3
    assert ("What goes wrong:" in words_of(app)) == (preset == "forgotten") and "Padding rows:" in words_of(app)
    for part in parts:
        app = opened(open_app, model=model, text=text, attention=attention, part=part)
        actual = printed(app, monkeypatch)
        if part != "which":
            assert "exactly 0" in component(app, "figure").json and actual
            continue
        which, pictures = sent(app, "mask_which")
        assert which["chosen"] == attention and bool(which["joins"]) == (model == "en-fr")
        offset = 0
        for item in which["items"]:
            size = item["rows"] * item["columns"]
            cells = np.frombuffer(pictures, np.uint8, size, offset).reshape(item["rows"], item["columns"])
            assert f"{item['name']}\n{cells}\n" in actual
            offset += size


def test_a_wrong_address_is_told_in_a_sentence(open_app: OpenApp):
    app = opened(open_app, model="tales", preset="cross", edits="x", padding="99")
    words = words_of(app)
    assert "The address has edits" in words and "The address has padding" in words
    assert sent(app, "mask_gallery")[0]["chosen"] == "own"  # a decoder has no cross-attention


@pytest.mark.parametrize(
    ("part", "names"),
    [("leak", ("own", "other")), ("dropout", ("pattern", "keep", "after"))],
)
def test_what_is_taken_away_redraws_the_figure(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, names: tuple[str, ...]
):
    address = {"model": "tales", "text": PROMPTS[0], "dropout": "0.4", "seed": "3"}
    app = opened(open_app, part=part, **address)
    files = files_of(app, f"masks-{part}-figure")
    drawn = [trace for trace in figure_of(app)["data"] if trace["type"] == "heatmap"]
    actual = redrawn(files, tmp_path, monkeypatch)["figure"]
    for trace, again in zip(drawn, [one for one in actual.data if one.type == "heatmap"], strict=True):
        np.testing.assert_allclose(numbers(trace["z"]), np.asarray(again.z, dtype=np.float64), atol=1e-5)
    arrays = arrays_of(files)
    assert files["csv"].decode().count("\n") == 1 + sum(arrays[name].size for name in names)
    if part == "dropout":
        assert "p = 0.40: " in words_of(app)
        app.slider[0].set_value(0.0).run()
        assert url_of(app)["dropout"] == "0" and "p = 0.00: 0 of" in words_of(app)
