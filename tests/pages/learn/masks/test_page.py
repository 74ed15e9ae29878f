"""The page Masks as a whole: what its parts show is what the core computes, and the code gives the same numbers."""

import base64
import contextlib
import io
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.shared.models import ROOT
from pages.shared.view import state
from pages.shared.view.fields import Choice
from tests.model.building import varied_model
from tests.pages.conftest import (
    EXAMPLES,
    GAPS,
    PROMPTS,
    TARGETS,
    component,
    figure_of,
    shown_code,
    url_of,
    values_of,
    view_of,
    words_of,
)
from tests.pages.explore.decoding.decoding_parts import arrays_of, numbers, redrawn
from transformer_core.analysis.masks.dropout import run_dropout
from transformer_core.analysis.masks.rules import MaskChoice
from transformer_core.analysis.masks.run import run_masked, write_masked
from transformer_core.analysis.masks.text import mask_text

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("three_kinds_here")]
OpenApp = Callable[..., AppTest]


def opened(open_app: OpenApp, **parameters: str) -> AppTest:
    """The page at a link."""
    app = open_app("masks", **parameters)
    assert not app.exception
    return app


def sent(app: AppTest, name: str) -> tuple[dict[str, Any], bytes]:
    """The header and the bytes of a component."""
    data = component(app, name).bytes
    (length,) = struct.unpack("<I", data[:4])
    return json.loads(data[4 : 4 + length]), data[4 + length :]


def printed(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the lines of the page print at the project's root."""
    monkeypatch.chdir(ROOT)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(shown_code(app), "the code of the page", "exec"), {"__name__": "__main__"})
    return said.getvalue()


def test_an_edited_mask_is_what_the_model_runs_with(
    open_app: OpenApp, three_kinds: Path, monkeypatch: pytest.MonkeyPatch
):
    app = opened(
        open_app,
        model="en-fr",
        text=EXAMPLES[1],
        attention="decoder",
        layer="1",
        head="2",
        preset="window",
        size="2",
        edits="3.0-1",
    )
    model, tokenizer = tc.load(three_kinds / "en-fr")
    text = mask_text(model, tokenizer, EXAMPLES[1], max_tokens=32)
    choice = MaskChoice(preset="window", size=2, attention="decoder", turned=((3, 0), (3, 1)))
    outcome = run_masked(model, tokenizer, text, choice, layer=1, head=2)
    header, rest = sent(app, "mask_matrix")
    n = len(text.inputs["target"])
    floats = np.frombuffer(rest[: 12 * n * n], dtype="<f4").reshape(3, n, n)
    cells = np.frombuffer(rest[12 * n * n :], dtype=np.uint8).reshape(2, n, n)
    np.testing.assert_allclose(floats[1], outcome.head.pattern, atol=1e-6)
    np.testing.assert_array_equal(cells[1], outcome.head.allowed)
    expected = np.array([[query - 2 < key <= query for key in range(n)] for query in range(n)])
    np.testing.assert_array_equal(cells[0], expected)  # the preset, without the edits
    assert header["turned"]["value"] == [3 * n, 3 * n + 1]
    rows = header["outputs"]["rows"]
    np.testing.assert_allclose([row["now"] for row in rows], outcome.now.probability, atol=1e-6)
    np.testing.assert_allclose([row["before"] for row in rows], outcome.before.probability, atol=1e-6)
    assert "mean token probability 0." in words_of(app) and "(geometric)" in words_of(app)  # the bar
    assert "Mean token probability (geometric)" in str(header)
    written = write_masked(model, tokenizer, text, choice)
    assert header["outputs"]["words"][1]["text"] == (written or "–")
    gallery, _ = sent(app, "mask_gallery")
    assert gallery["chosen"] == "window" and len(gallery["items"]) == 12
    assert url_of(app)["edits"] == "3.0-1" and url_of(app)["size"] == "2"
    said = printed(app, monkeypatch)
    assert str(outcome.head.pattern) in said and str(outcome.now.labels) in said


@pytest.mark.parametrize(
    ("model", "text", "attention"),
    [("tales", PROMPTS[0], "decoder"), ("gaps", GAPS[0], "encoder"), ("en-fr", EXAMPLES[2], "cross")],
)
def test_every_part_is_there_for_every_kind_of_model(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, model: str, text: str, attention: str
):
    app = opened(open_app, model=model, text=text, attention=attention, preset="forgotten")
    header, _ = sent(app, "mask_matrix")
    assert header["key"][-3:] == ["<pad>"] * 3 or attention == "decoder"
    assert header["real"]["key"] == len(header["key"]) - 3
    assert "What goes wrong:" in words_of(app) and "Padding rows:" in words_of(app)
    for part in ("which", "leak", "inference"):
        app = opened(open_app, model=model, text=text, attention=attention, part=part)
        if part == "which":
            which, pictures = sent(app, "mask_which")
            assert which["chosen"] == attention and bool(which["joins"]) == (model == "en-fr")
            said, offset = printed(app, monkeypatch), 0
            for item in which["items"]:
                size = item["rows"] * item["columns"]
                cells = np.frombuffer(pictures, np.uint8, size, offset).reshape(item["rows"], item["columns"])
                assert f"{item['name']}\n{cells}\n" in said
                offset += size
        elif model == "gaps" and part == "inference":
            assert "There is no future to hide" in words_of(app)
        else:
            assert "exactly 0" in component(app, "figure").json
            assert printed(app, monkeypatch)


@pytest.mark.parametrize(
    ("model", "text", "attention"),
    [("tales", PROMPTS[0], "decoder"), ("gaps", GAPS[0], "encoder"), ("en-fr", EXAMPLES[2], "cross")],
)
def test_dropout_is_what_the_core_computes(
    open_app: OpenApp, three_kinds: Path, monkeypatch: pytest.MonkeyPatch, model: str, text: str, attention: str
):
    place = {"attention": attention, "layer": "0", "head": "1"}
    app = opened(open_app, model=model, text=text, part="dropout", dropout="0.4", seed="3", **place)
    assert (url_of(app)["dropout"], url_of(app)["seed"]) == ("0.4", "3")
    loaded = tc.load(three_kinds / model)
    given = mask_text(*loaded, text, max_tokens=min(48, loaded[0].config.max_seq_len))
    found = run_dropout(*loaded, given, attention=attention, layer=0, head=1, probability=0.4, seed=3)
    drawn = [trace for trace in figure_of(app)["data"] if trace["type"] == "heatmap"]
    expected = (found.pattern, found.keep > 0, found.dropped_pattern)
    for trace, panel in zip(drawn, expected, strict=True):
        np.testing.assert_allclose(values_of(trace), panel, atol=1e-6)
    words = words_of(app)
    n_there = np.count_nonzero(found.pattern)
    n_dropped = np.count_nonzero((found.pattern > 0) & (found.keep == 0))
    assert (
        f"p = 0.40: {n_dropped} of {n_there} non-zero weights are dropped" in words and "multiplied by 1.667" in words
    )
    assert words.count("<tr") == 1 + len(given.judged)
    assert str(found.dropped_pattern) in printed(app, monkeypatch)
    (slider,) = app.slider
    slider.set_value(0.0).run()
    assert url_of(app)["dropout"] == "0" and "p = 0.00: 0 of" in words_of(app)


def test_where_layers_differ_the_mask_is_that_of_the_chosen_one(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    tokenizer = tc.train_tokenizer(GAPS, kind="word", vocab_size=60, mask=True)
    model = varied_model("encoder, windows and none", vocab_size=tokenizer.vocab_size)
    tc.save(tmp_path / "windows", model, tokenizer, {"title": "Windows", "examples": [GAPS[0]]})
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    for layer, reach in (("0", 24), ("1", 3)):
        app = opened(open_app, model="windows", text=GAPS[0], attention="encoder", layer=layer, part="which")
        which, pictures = sent(app, "mask_which")
        (item,) = which["items"]
        cells = np.frombuffer(pictures, np.uint8, item["rows"] * item["columns"]).reshape(item["rows"], item["columns"])
        query, key = np.indices(cells.shape)
        np.testing.assert_array_equal(cells, (abs(query - key) < reach) & (key < item["columns"] - 3))


def test_the_first_look_is_at_the_mask_that_says_most(open_app: OpenApp):
    app = opened(open_app)
    assert view_of(app)["attention"] == "decoder" and view_of(app).get("preset") is None
    header, rest = sent(app, "mask_matrix")
    n = len(header["query"])
    preset = np.frombuffer(rest[12 * n * n : 13 * n * n], dtype=np.uint8).reshape(n, n)
    np.testing.assert_array_equal(preset, np.tril(np.ones((n, n), dtype=np.uint8)))


def test_one_edited_cell_of_the_models_own_mask_is_no_longer_its_own(open_app: OpenApp, three_kinds: Path):
    head = {"model": "en-fr", "text": EXAMPLES[1], "attention": "decoder", "layer": "1", "head": "2", "preset": "own"}
    model, tokenizer = tc.load(three_kinds / "en-fr")
    text = mask_text(model, tokenizer, EXAMPLES[1], max_tokens=32)
    own = write_masked(model, tokenizer, text, MaskChoice(attention="decoder"))
    for edits, turned in (({}, ()), ({"edits": "3.0-1"}, ((3, 0), (3, 1)))):
        outputs = sent(opened(open_app, **head, **edits), "mask_matrix")[0]["outputs"]
        assert ("predictions change" in outputs["counted"]) == bool(turned)
        these = write_masked(model, tokenizer, text, MaskChoice(preset="own", attention="decoder", turned=turned))
        assert [words["text"] for words in outputs["words"]] == [own or "–", these or "–"]


@pytest.mark.parametrize(("choice", "other"), [(state.TEXT, EXAMPLES[1]), (state.TARGET, TARGETS[0])])
def test_the_edits_of_one_text_or_target_are_none_of_another(open_app: OpenApp, choice: Choice, other: str):
    app = opened(open_app, text=EXAMPLES[0], edits="1.0")
    assert url_of(app)["edits"] == "1.0"
    app.run()
    assert url_of(app)["edits"] == "1.0"
    app.session_state[choice.key] = other
    app.run()
    assert not app.exception and "edits" not in url_of(app)


def test_a_typed_token_is_what_the_leak_test_puts_in(open_app: OpenApp, three_kinds: Path):
    app = opened(open_app, model="tales", text=PROMPTS[0], part="leak", changed="2", token="dog")
    tokenizer = tc.load(three_kinds / "tales")[1]
    label = tokenizer.labels(tokenizer.encode("dog")[:1])[0]
    assert f"becomes “{label}”" in words_of(app)
    assert "earlier outputs change by exactly 0" in words_of(app)
    with torch.inference_mode():
        opened(open_app, model="tales", text=PROMPTS[0], part="leak", changed="999", token="\u200b")


def test_an_unknown_word_in_the_leak_test_is_named(open_app: OpenApp):
    app = opened(open_app, model="en-fr", text=EXAMPLES[1], part="leak", changed="2", token="<b>anane le")
    assert "is not in the vocabulary and is replaced by &lt;unk&gt;" in words_of(app)
    assert "One token is replaced by one: “&lt;unk&gt;”, the first of the" in words_of(app)
    app = opened(open_app, model="en-fr", text=EXAMPLES[1], part="leak", changed="2", token="chat")
    assert "vocabulary" not in words_of(app) and "One token is changed" not in words_of(app)


def test_a_preset_that_shows_another_attention_says_so(open_app: OpenApp):
    app = opened(open_app, model="en-fr", text=EXAMPLES[1], attention="decoder")
    assert "acts on the" not in words_of(app)
    for key, value in {"preset": "cross", "moved": ("decoder", "cross")}.items():  # as `choose_preset` leaves them
        app.session_state[f"masks-{key}"] = value
    app.session_state["attention"] = "cross"
    app.run()
    header, _ = sent(app, "mask_matrix")
    assert len(header["key"]) != len(header["query"])  # of the source
    assert "concerns cross-attention, so its mask is shown" in words_of(app)


def test_a_wrong_address_is_told_in_a_sentence(open_app: OpenApp):
    app = opened(open_app, model="tales", preset="cross", edits="x", padding="99")
    words = words_of(app)
    assert "The address asks for edits" in words and "The address asks for padding" in words
    assert sent(app, "mask_gallery")[0]["chosen"] == "own"  # a decoder has no cross-attention


@pytest.mark.parametrize(
    ("part", "key"),
    [("leak", "masks-leak-figure"), ("inference", "masks-growing-figure"), ("dropout", "masks-dropout-figure")],
)
def test_what_is_taken_away_redraws_the_figure(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, key: str
):
    app = opened(open_app, model="tales", text=PROMPTS[0], part=part)
    app.session_state[key] = {"open": 1}
    app.run()
    assert not app.exception
    answer = json.loads(component(app, "figure").json)
    files = {name.rpartition(".")[2]: base64.b64decode(text) for name, text in answer["files"].items()}
    drawn = [trace for trace in json.loads(answer["figure"])["data"] if trace["type"] == "heatmap"]
    found = redrawn(files, tmp_path, monkeypatch)["figure"]
    for trace, again in zip(drawn, [one for one in found.data if one.type == "heatmap"], strict=True):
        np.testing.assert_allclose(numbers(trace["z"]), np.asarray(again.z, dtype=np.float64), atol=1e-5)
    arrays = arrays_of(files)
    names = {"leak": ("own", "other"), "inference": ("masked", "unmasked"), "dropout": ("pattern", "keep", "after")}[
        part
    ]
    assert files["csv"].decode().count("\n") == 1 + sum(arrays[name].size for name in names)
