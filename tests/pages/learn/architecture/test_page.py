"""The page Architecture: every block from all sides, against the model's own numbers; bad addresses; the code."""

import contextlib
import dataclasses
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
from tests.pages.explore.decoding.decoding_parts import arrays_of, files_of, redrawn
from transformer_core.analysis.blueprint.forward_cost import reading_cost

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("three_kinds_here")]
OpenApp = Callable[..., AppTest]


def opened(open_app: OpenApp, **parameters: str) -> AppTest:
    """The page, at a link."""
    app = open_app("architecture", **parameters)
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
    assert sent["chosen"]["value"] == "decoder.0.cross_attn"
    assert [stack["layer"] for stack in sent["stacks"]] == [1, 0]
    n_tgt = int(sent["stacks"][1]["shape"].split(" ")[0])
    words = words_of(app)
    assert f"1 × 4 × {n_tgt} × {n_src}" in words and "hook_pattern" in words and "decoder.blocks.0.cross_attn" in words
    assert url_of(app)["block"] == "decoder.0.cross_attn"
    told = re.search(r"([\d,]+) parameters", words)
    attention = model.get_submodule("decoder.blocks.0.cross_attn")
    assert told is not None and int(told[1].replace(",", "")) == sum(p.numel() for p in attention.parameters())


@pytest.mark.parametrize("block", ["unembed", "softmax"])
def test_what_is_said_of_the_vocabulary_is_said_of_all_of_it(block: str, open_app: OpenApp, three_kinds: Path):
    """A part of the columns is drawn; number, mean and standard deviation are those of the whole tensor."""
    app = opened(open_app, model="tales", text=PROMPTS[0], block=block, show="text")
    model, tokenizer = tc.load(three_kinds / "tales")
    tokens = torch.tensor([tokenizer.encode_for(PROMPTS[0], "decoder_only")])
    with torch.inference_mode():
        tokens = tc.greedy_decode(model, tokens, max_new_tokens=24).tokens
        logits = model(tokens[:, :-1] if tokens[0, -1] == tokenizer.eos_id else tokens)[0].double()
    whole = logits if block == "unembed" else logits.softmax(dim=-1)
    (figure,) = figures_of(app)
    cells = values_of(next(trace for trace in figure["data"] if trace["name"] == "cells"))
    assert cells.shape == (len(whole), 32) and whole.shape[1] > 32
    words = words_of(app)
    shown = dict(re.findall(r"<div><span>([^<]+)</span>([^<]+)</div>", words))
    assert shown["elements"] == f"{whole.numel():,}"
    assert float(shown["mean"]) == pytest.approx(float(whole.mean()), rel=1e-3, abs=1e-6)
    assert float(shown["standard deviation"]) == pytest.approx(float(whole.std(correction=0)), rel=1e-3)
    n_zeros = int((whole.float() == 0).sum())
    assert shown["exactly 0"] == f"{n_zeros / whole.numel():.1%}"
    assert f"The figure shows the 32 of {whole.shape[1]} tokens" in words


def test_what_is_captured_is_what_a_plain_forward_gives(open_app: OpenApp, three_kinds: Path):
    site = "decoder.blocks.0.mlp.hook_post"
    app = opened(open_app, model="tales", text=PROMPTS[0], block="decoder.0.mlp", show="text", site=site)
    (figure,) = figures_of(app)
    cells = values_of(next(trace for trace in figure["data"] if trace["name"] == "cells"))
    model, tokenizer = tc.load(three_kinds / "tales")
    prompt = torch.tensor([tokenizer.encode_for(PROMPTS[0], "decoder_only")])
    tokens = tc.greedy_decode(model, prompt, max_new_tokens=24).tokens[:, : len(cells)]
    with torch.inference_mode(), tc.capture(model, site) as acts:
        model(tokens)
    np.testing.assert_allclose(cells, acts[site][0].numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("model", "block"), [("en-fr", "decoder.1.cross_attn"), ("gaps", "unembed"), ("tales", "softmax")]
)
def test_what_is_taken_away_gives_the_same_numbers(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, block: str
):
    files = files_of(opened(open_app, model=model, block=block, show="text"), "architecture-activation")
    kept = arrays_of(files)
    again = redrawn(files, tmp_path, monkeypatch)["values"]
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
        assert "has {:,} parameters and each attention {:,}".format(*of_layer) in words_of(app)
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


def test_the_cost_follows_the_shapes_that_are_typed(
    open_app: OpenApp, three_kinds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    app = opened(open_app, model="en-fr", text=EXAMPLES[0], part="cost", src="3.25", tgt="3.9")
    marks = [note["text"] for note in figures_of(app)[0]["layout"]["annotations"]]
    assert any("as entered" in mark for mark in marks)
    assert "When generating 25 tokens" in words_of(app) and "one of the 3 texts" in words_of(app)
    defined, _ = run_shown(app, tmp_path, monkeypatch)
    assert defined["cost"] == reading_cost(tc.load(three_kinds / "en-fr")[0].config, 25)


@pytest.mark.parametrize(("model", "sharing"), [("en-fr", "three_way"), ("en-fr", "none"), ("tales", "none")])
def test_weight_sharing_is_counted_as_a_built_model_has_it(
    model: str,
    sharing: Any,
    open_app: OpenApp,
    three_kinds: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    app = opened(open_app, model=model, text=PROMPTS[0], part="parameters", sharing=sharing)
    config = tc.load(three_kinds / model)[0].config
    built = tc.build(dataclasses.replace(config, tie_embeddings=sharing))
    total = sum(p.numel() for p in built.parameters())
    assert f"{total:,} parameters" in words_of(app)
    _, printed = run_shown(app, tmp_path, monkeypatch)
    assert str(total) in printed
    kept = files_of(app, "architecture-parameters")
    assert arrays_of(kept)["counts"].sum() == total
    assert sum(redrawn(kept, tmp_path, monkeypatch)["counts"].values()) == total


@pytest.mark.parametrize(("model", "block"), [("en-fr", "decoder.1.mlp"), ("gaps", "encoder.2.mlp")])
def test_the_feed_forward_network_is_also_two_convolutions(model: str, block: str, open_app: OpenApp):
    words = words_of(opened(open_app, model=model, text=EXAMPLES[0], block=block))
    error = re.search(r"the largest difference is (\S+)\.<", words)
    assert error is not None and float(error[1]) < 1e-5
