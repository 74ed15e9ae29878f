"""The page Architecture: every block from all sides, against the model's own numbers; bad addresses; the code."""

import contextlib
import io
import json
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.shared.models import ROOT
from tests.pages.conftest import EXAMPLES, PROMPTS, component, shown_code, url_of, values_of, words_of
from tests.pages.explore.decoding_parts import arrays_of, files_of, redrawn

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("three_kinds_here")]
OpenApp = Callable[..., AppTest]


def opened(open_app: OpenApp, **parameters: str) -> AppTest:
    """The page, at a link."""
    app = open_app().switch_page("learn/architecture.py")
    for name, value in parameters.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def figures_of(app: AppTest) -> list[dict[str, Any]]:
    sent = [json.loads(c.proto.json) for c in app.get("bidi_component") if c.proto.component_name == "headlight.figure"]
    return [json.loads(data["figure"]) for data in sent]


def run_shown(app: AppTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], str]:
    """Run the lines of "Show the code"; return what they define and what they print."""
    path = tmp_path / "shown.py"
    path.write_text(shown_code(app))
    monkeypatch.chdir(ROOT)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        defined = runpy.run_path(str(path))
    return defined, printed.getvalue()


def test_a_link_shows_a_block_with_the_shapes_of_this_text(open_app: OpenApp, three_kinds: Path):
    app = opened(open_app, model="en-fr", text=EXAMPLES[0], block="decoder.0.cross_attn")
    model, tokenizer = tc.load(three_kinds / "en-fr")
    n_src = len(tokenizer.encode_for(EXAMPLES[0], "encoder_decoder"))
    sent = json.loads(component(app, "drawing").json)
    assert sent["chosen"] == "decoder.0.cross_attn"
    assert [stack["layer"] for stack in sent["stacks"]] == [1, 0]
    n_tgt = int(sent["stacks"][1]["shape"].split(" ")[0])
    words = words_of(app)
    assert f"1 × 4 × {n_tgt} × {n_src}" in words and "hook_pattern" in words and "decoder.blocks.0.cross_attn" in words
    assert url_of(app)["block"] == "decoder.0.cross_attn"
    told = re.search(r"([\d,]+) parameters", words)
    attention = model.get_submodule("decoder.blocks.0.cross_attn")
    assert told is not None and int(told[1].replace(",", "")) == sum(p.numel() for p in attention.parameters())


def test_what_is_captured_is_what_a_plain_forward_gives(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    site = "decoder.blocks.0.mlp.hook_post"
    app = opened(open_app, model="tales", text=PROMPTS[0], block="decoder.0.mlp", show="text", site=site)
    (figure,) = figures_of(app)
    cells = values_of(next(trace for trace in figure["data"] if trace["name"] == "cells"))
    defined, _ = run_shown(app, tmp_path, monkeypatch)
    with torch.inference_mode(), tc.capture(defined["model"], site) as acts:
        defined["model"](defined["tokens"])
    np.testing.assert_allclose(cells, acts[site][0].numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("model", "block"), [("en-fr", "decoder.1.cross_attn"), ("gaps", "unembed"), ("tales", "softmax")]
)
def test_what_is_taken_away_gives_the_same_numbers(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, block: str
):
    files = files_of(opened(open_app, model=model, block=block, show="text"), "architecture-activation")
    kept = arrays_of(files)
    again = redrawn(files, tmp_path, monkeypatch)["values"].numpy()
    again = again[0] if again.ndim == 3 else again[:, kept["columns"]]  # of a pattern the first head is drawn
    np.testing.assert_allclose(kept["values"], again, atol=1e-5)


@pytest.mark.parametrize(("model", "block"), [("en-fr", "encoder.1.self_attn"), ("gaps", "softmax")])
def test_patterns_and_probabilities_are_drawn(open_app: OpenApp, model: str, block: str):
    app = opened(open_app, model=model, block=block, show="text")
    (figure,) = figures_of(app)
    cells = np.nan_to_num(values_of(next(trace for trace in figure["data"] if trace["name"] == "cells")))
    assert (cells >= 0).all() and (cells.sum(axis=1) <= 1 + 1e-5).all()
    if block != "softmax":
        np.testing.assert_allclose(cells.sum(axis=1), 1, atol=1e-5)


def test_a_block_that_is_not_there_is_told(open_app: OpenApp):
    app = opened(open_app, model="tales", text=PROMPTS[0], block="encoder.7.cross_attn")
    assert "no block “encoder.7.cross_attn”" in words_of(app)
    assert json.loads(component(app, "drawing").json)["chosen"] == "decoder.0.self_attn"
    app = opened(open_app, model="tales", text=PROMPTS[0], block="<b>", part="nothing")
    assert "it is written as decoder.0.cross_attn" in words_of(app) and "block “&lt;b&gt;”" in words_of(app)


def test_a_click_is_checked_and_chosen(open_app: OpenApp):
    app = opened(open_app, model="en-fr", text=EXAMPLES[0])
    for name, wanted in (("encoder.0.ln1", "encoder.0.ln1"), ("no.such", "decoder.1.cross_attn")):
        app.session_state["architecture-block"] = name
        app.run()
        assert not app.exception
        assert json.loads(component(app, "drawing").json)["chosen"] == wanted


@pytest.mark.parametrize("model", ["en-fr", "gaps", "tales"])
@pytest.mark.parametrize("part", ["parameters", "cost", "stream"])
def test_parts_of_all_kinds_are_drawn_and_their_code_runs(
    open_app: OpenApp, three_kinds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, part: str
):
    app = opened(open_app, model=model, part=part)
    figures = figures_of(app)
    loaded, _ = tc.load(three_kinds / model)
    total = sum(p.numel() for p in loaded.parameters())
    if part == "parameters":
        assert f"{total:,} parameters" in figures[0]["layout"]["title"]["text"] and "63,082,496" in words_of(app)
        assert sum(figures[0]["data"][0]["x"]) == total
        stack = "encoder" if model == "gaps" else "decoder"
        of_layer = [
            sum(p.numel() for p in loaded.get_submodule(f"{stack}.blocks.0.{name}").parameters())
            for name in ("mlp", "self_attn")
        ]
        assert "has {:,} parameters and an attention {:,}".format(*of_layer) in words_of(app)
    elif part == "cost":
        assert len(figures) == (3 if model == "gaps" else 4)
    else:
        assert len(figures) == (2 if model == "en-fr" else 1)
    _, printed = run_shown(app, tmp_path, monkeypatch)
    assert printed and (part != "parameters" or str(total) in printed)


def test_the_code_of_a_block_is_shown_with_its_place(open_app: OpenApp):
    app = opened(open_app, model="en-fr", text=EXAMPLES[0], block="encoder.0.mlp", show="code")
    assert any(code.value.startswith("class FeedForward(nn.Module):") for code in app.code)
    assert any("transformer_core/model/feed_forward.py" in expander.label for expander in app.expander)
