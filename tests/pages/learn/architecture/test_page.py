"""The Architecture page: every block from all sides, against the model's own numbers; bad addresses; the code."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.shared.models import ROOT
from tests.pages.conftest import EXAMPLES, PROMPTS, OpenApp, component, shown_code, url_of, words_of
from tests.pages.explore.decoding.decoding_parts import arrays_of, files_of, redrawn
from tests.pages.learn.bare import run_lines

pytestmark = pytest.mark.usefixtures("three_kinds_here")


def opened(open_app: OpenApp, **parameters: str) -> AppTest:
    """The page, at a link."""
    app = open_app("architecture", **parameters)
    assert not app.exception
    return app


def figures_of(app: AppTest) -> list[dict[str, Any]]:
    sent = [json.loads(c.proto.json) for c in app.get("bidi_component") if c.proto.component_name == "headlight.figure"]
    return [json.loads(data["figure"]) for data in sent]


def test_a_link_shows_a_block_with_the_shapes_of_this_text(open_app: OpenApp, three_kinds: Path):
    app = opened(open_app, model="en-fr", text=EXAMPLES[0], block="decoder.0.cross_attn")
    _, tokenizer = tc.load(three_kinds / "en-fr")
    n_src = len(tokenizer.encode_for(EXAMPLES[0], "encoder_decoder"))
    sent = json.loads(component(app, "drawing").json)
    assert sent["chosen"]["value"] == "decoder.0.cross_attn"
    assert [stack["layer"] for stack in sent["stacks"]] == [1, 0]
    n_tgt = int(sent["stacks"][1]["shape"].split(" ")[0])
    words = words_of(app)
    assert f"1 × 4 × {n_tgt} × {n_src}" in words and "hook_pattern" in words and "decoder.blocks.0.cross_attn" in words


def test_what_is_taken_away_gives_the_same_numbers(open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    files = files_of(opened(open_app, model="tales", block="softmax", show="text"), "architecture-activation")
    kept = arrays_of(files)
    again = redrawn(files, tmp_path, monkeypatch)["values"][:, kept["columns"]]
    np.testing.assert_allclose(kept["values"], again, rtol=1e-5, atol=1e-5)


def test_dropout_is_a_step_of_a_block_with_the_mask_of_its_seed(open_app: OpenApp):
    site = "decoder.blocks.0.self_attn.hook_attn_out"
    view = {"model": "tales", "block": "decoder.0.self_attn", "show": "text"}
    app = opened(open_app, **view, site=f"{site}.dropout", dropout="shown", mask="4")
    after = arrays_of(files_of(app, "architecture-activation"))["values"]
    before = arrays_of(files_of(opened(open_app, **view, site=site), "architecture-activation"))["values"]
    np.testing.assert_allclose(np.unique(np.round(after / before, 3)), [0, 1.111], atol=1e-3)
    assert "At inference dropout is the identity" in words_of(app)


def test_a_block_that_is_not_there_is_told(open_app: OpenApp):
    app = opened(open_app, model="tales", text=PROMPTS[0], block="encoder.7.cross_attn")
    assert "no block “encoder.7.cross_attn”" in words_of(app)
    assert json.loads(component(app, "drawing").json)["chosen"]["value"] == "decoder.0.self_attn"
    app = opened(open_app, model="tales", text=PROMPTS[0], block="<b>", part="nothing")
    assert "the format is decoder.0.cross_attn" in words_of(app) and "block “&lt;b&gt;”" in words_of(app)


def test_a_click_is_checked_and_chosen(open_app: OpenApp):
    app = opened(open_app, model="en-fr", text=EXAMPLES[0])
    for name, wanted in (("encoder.0.ln1", "encoder.0.ln1"), ("no.such", "decoder.1.cross_attn")):
        app.session_state["architecture-block"] = name
        app.run()
        assert not app.exception
        assert json.loads(component(app, "drawing").json)["chosen"]["value"] == wanted


@pytest.mark.parametrize(
    ("model", "part", "n_figures"), [("tales", "parameters", 2), ("gaps", "cost", 3), ("en-fr", "stream", 2)]
)
def test_each_part_is_drawn_and_its_code_runs(
    open_app: OpenApp, three_kinds: Path, monkeypatch: pytest.MonkeyPatch, model: str, part: str, n_figures: int
):
    app = opened(open_app, model=model, part=part, sharing="none")
    figures = figures_of(app)
    assert len(figures) == n_figures
    monkeypatch.chdir(ROOT)
    _, printed = run_lines(shown_code(app))
    assert printed
    if part == "parameters":
        config = tc.load(three_kinds / model)[0].config
        built = tc.build(dataclasses.replace(config, tie_embeddings="none"))
        total = sum(p.numel() for p in built.parameters())
        assert f"{total:,} parameters" in figures[0]["layout"]["title"]["text"] and str(total) in printed
        assert arrays_of(files_of(app, "architecture-parameters"))["counts"].sum() == total


def test_every_shape_follows_the_shapes_that_are_typed(open_app: OpenApp, three_kinds: Path):
    """As many texts and tokens as a person wants, against a real forward of that size."""
    app = opened(open_app, model="en-fr", text=EXAMPLES[0], block="decoder.0.cross_attn")
    app.text_input(key="architecture-src-box").set_value("[3, 17]").run()
    app.text_input(key="architecture-tgt-box").set_value("3 x 9").run()
    assert not app.exception
    assert url_of(app)["src"] == "3.17" and url_of(app)["tgt"] == "3.9"
    model, _ = tc.load(three_kinds / "en-fr")
    with torch.inference_mode(), tc.capture(model, "decoder.blocks.0.cross_attn.*") as acts:
        model(torch.ones(3, 17, dtype=torch.long), torch.ones(3, 9, dtype=torch.long))
    words = words_of(app)
    for stem in ("hook_q", "hook_k", "hook_z", "hook_attn_scores", "hook_pattern"):
        shape = acts[f"decoder.blocks.0.cross_attn.{stem}"].shape
        assert " × ".join(map(str, shape)) in words, stem
    assert json.loads(component(app, "drawing").json)["stacks"][1]["shape"].startswith("9 ")

    app.text_input(key="architecture-src-box").set_value("many").run()
    assert "“many” is not a shape" in words_of(app) and url_of(app)["src"] == "3.17"
    app.text_input(key="architecture-src-box").set_value("[64, 500]").run()
    assert url_of(app)["tgt"] == "64.9", "one batch has one size"
    assert "500 tokens exceed this model’s 32 positions" in words_of(app)
    app.text_input(key="architecture-src-box").set_value("").run()
    assert "src" not in url_of(app)


def test_the_papers_base_model_is_there_and_called_untrained(open_app: OpenApp):
    app = opened(open_app, model="paper-base", text=EXAMPLES[0], block="encoder.5.self_attn")
    words = words_of(app)
    assert "base model (untrained)" in words and "not trained" in words
    assert re.search(r"1 × 8 × \d+ × 64", words), "8 heads of 64"
    assert json.loads(component(app, "drawing").json)["stacks"][0]["layer"] == 5
    app = open_app("heads", model="paper-base")
    assert "There is no model “paper-base” here" in words_of(app)
