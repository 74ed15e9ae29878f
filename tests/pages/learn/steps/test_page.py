"""The Attention step by step page: what it shows of a head, what it takes from an address and what it receives."""

import json
import re
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from tests.pages.conftest import EXAMPLES, OpenApp, component, shown_code, url_of, view_of, words_of
from tests.pages.learn.bare import run_lines, unpacked

HEAD = {"model": "en-fr", "text": EXAMPLES[0], "attention": "encoder", "layer": "1", "head": "2"}


@pytest.fixture
def open_steps(open_app: OpenApp, three_kinds_here: Any) -> OpenApp:
    """Opens the page at an address with these parameters."""

    def open_at(**parameters: str) -> AppTest:
        app = open_app("steps", **parameters)
        assert not app.exception
        return app

    return open_at


def figure(app: AppTest) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header of the figure, and its quantities by name."""
    header, rest = unpacked(component(app, "steps").bytes)
    numbers = np.frombuffer(rest, dtype="<f4")
    values, start = {}, 0
    for text in header["quantities"]:
        n_rows, n_columns = text["shape"]
        values[text["name"]] = numbers[start : start + n_rows * n_columns].reshape(n_rows, n_columns)
        start += n_rows * n_columns
    return header, values


def test_the_figure_has_the_models_numbers_and_they_are_verified(open_steps: OpenApp, three_kinds: Any):
    app = open_steps(**HEAD)
    header, values = figure(app)
    model, tokenizer = tc.load(three_kinds / "en-fr")
    src = torch.tensor([tokenizer.encode(EXAMPLES[0], eos=True)])
    with torch.inference_mode(), tc.capture(model, "encoder.blocks.1.*") as acts:
        model.encode(src)
    where = "encoder.blocks.1."
    for name in ("q", "k", "v", "attn_scores", "pattern", "z"):
        captured = acts[f"{where}self_attn.hook_{name}"][0, 2].numpy()
        np.testing.assert_allclose(values[name], captured, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(values["mlp_post"], acts[f"{where}mlp.hook_post"][0].numpy(), rtol=1e-5, atol=1e-6)
    assert len(header["query"]) == len(header["key"]) == src.shape[1]
    words = words_of(app)
    assert "'hl-proof hl-proved'" in words and "'hl-proof hl-unproved'" not in words


def test_the_address_holds_stage_query_key_and_number(open_steps: OpenApp):
    chosen = {"stage": "softmax", "query": "3", "key": "1", "cell": "pattern.3.1"}
    app = open_steps(**HEAD, **chosen)
    expected = HEAD | chosen
    for name in ("model", "text", "query"):  # the first one, its first example, and the row of the cell
        del expected[name]
    assert url_of(app) == expected
    header, values = figure(app)
    assert header["at"]["value"] == {"stage": "softmax", "query": 3, "key": 1, "cell": ["pattern", 3, 1]}
    number = json.loads(component(app, "steps_number").json)
    assert number["value"] == pytest.approx(values["pattern"][3, 1])
    exps = [term["value"] for term in number["terms"]]  # e to the power of each score, from the largest down
    scores = values["attn_scores"][3].astype(float)
    np.testing.assert_allclose(exps, np.exp(scores - scores.max()), rtol=1e-6)
    assert number["recomputed"] == pytest.approx(exps[1] / sum(exps), abs=1e-6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"cell": "q.1"}, "the format is matrix, row and column"),
        ({"cell": "nothing.0.0", "query": "99", "key": "77"}, ""),
    ],
)
def test_an_address_that_cannot_be_met_shows_the_nearest(open_steps: OpenApp, wrong: dict[str, str], message: str):
    app = open_steps(**HEAD, **wrong)
    assert message in words_of(app)
    header, _ = figure(app)
    at = header["at"]["value"]
    assert at["cell"] is None and 0 <= at["query"] < len(header["query"])
    assert "cell" not in url_of(app)


def test_the_code_gives_the_same_numbers(open_steps: OpenApp):
    app = open_steps(**HEAD | {"attention": "cross", "target": "Le chat."}, query="2", cell="z.2.1")
    _, values = figure(app)
    scope, text = run_lines(shown_code(app))
    walked = scope["walk_through"]
    for name, of in values.items():
        np.testing.assert_allclose(walked.quantities[name].values, of, rtol=1e-5, atol=1e-6)
    assert "Number(" in text and "name='z'" in text and "Proof(" in text


def test_the_first_look_is_at_a_given_word_in_the_first_layer_unless_a_head_was_asked_for(
    open_steps: OpenApp, three_kinds: Any
):
    app = open_steps(model="tales")
    url = view_of(app)
    assert (url["attention"], url["layer"], url["head"]) == ("decoder", "0", "0")
    header, _ = figure(app)
    query = header["at"]["value"]["query"]
    assert re.search(r"\w", header["query"][query]) and not header["query"][query].startswith("<")
    _, tokenizer = tc.load(three_kinds / "tales")
    assert query < len(tokenizer.encode(url["text"], bos=True)) < len(header["query"])


def test_the_first_look_of_a_guided_model_is_at_the_head_that_finds_the_noun(open_app: OpenApp):
    app = open_app("steps")
    url = view_of(app)
    assert (url["model"], url["attention"], url["layer"], url["head"]) == ("en-fr", "encoder", "1", "0")
    header, _ = figure(app)
    assert header["query"][header["at"]["value"]["query"]] == "it"
    assert "This head was guided" in words_of(app)


def test_a_distance_of_nothing_adds_zero_without_a_sign(open_app: OpenApp):
    app = open_app("steps", model="induction", layer="0", query="3", key="3")
    assert "the position bias adds 0.0000" in words_of(app)
