"""The text as it is written, on the page: against a plain forward over all of it, and what the player asks for."""

import json
import struct
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.explore.decoding import view_fields, writing
from pages.explore.decoding.data import AHEAD
from tests.pages.conftest import EXAMPLES, PROMPTS, component
from tests.pages.explore.decoding import decoding_parts
from tests.pages.explore.decoding.decoding_parts import loaded

pytestmark = pytest.mark.usefixtures("three_kinds_here")
opened = partial(decoding_parts.opened, "writing")
N_ALTERNATIVES = 5


def sent(app: AppTest) -> tuple[dict[str, Any], np.ndarray, np.ndarray, np.ndarray]:
    """The header, a row of numbers for each token, and the weights over the source and over the output."""
    data = component(app, "writing").bytes
    (length,) = struct.unpack("<I", data[:4])
    header, numbers = json.loads(data[4 : 4 + length]), np.frombuffer(data[4 + length :], dtype="<f4")
    n_src, n_out = (header["steps"][0][side] for side in ("source", "output"))
    end = len(numbers) - sum(step["source"] + step["output"] for step in header["steps"])
    rows, looked = numbers[:end].reshape(header["nOutput"], -1), numbers[end:]
    return header, rows, looked[:n_src], looked[n_src : n_src + n_out]


@torch.inference_mode()
def check_numbers(app: AppTest, model: tc.Transformer, tokenizer: tc.Tokenizer, *inputs: torch.Tensor) -> None:
    """All that is said of written tokens, against one forward over the whole text; `inputs` ends with its tokens."""
    header, rows, *_ = sent(app)
    tokens = inputs[-1]
    labels = header["labels"]
    assert [labels[int(place)] for place in rows[:, 0]] == tokenizer.labels(tokens[0])
    log_probs = model(*inputs)[0].log_softmax(-1)
    if (never := model.config.suppressed_token_id) is not None:
        log_probs[:, never] = -torch.inf
    for place in range(header["nGiven"], tokens.shape[1]):
        decision, token = log_probs[place - 1], int(tokens[0, place])
        assert rows[place, 2] == pytest.approx(float(decision[token]), abs=1e-4)
        assert rows[place, 3] == int((decision > decision[token]).sum())
        probs = decision.exp()
        entropy = -sum(float(p) * float(p.log()) for p in probs if p > 0)
        assert rows[place, 4] == pytest.approx(entropy, abs=1e-3)
        best = probs.topk(N_ALTERNATIVES)
        np.testing.assert_allclose(rows[place, 5 + N_ALTERNATIVES :], best.values, atol=1e-5)
        assert [labels[int(i)] for i in rows[place, 5 : 5 + N_ALTERNATIVES]] == [
            tokenizer.labels([i])[0] for i in best.indices
        ]


def test_every_number_is_that_of_a_plain_forward(three_kinds: Path):
    model, tokenizer, src = loaded(three_kinds)
    written = tc.greedy_decode(model, src, max_new_tokens=2 + AHEAD).tokens
    app = opened(model="en-fr", text=EXAMPLES[0], length="4", step="2")
    check_numbers(app, model, tokenizer, src, written)
    header, rows, weights_source, weights_output = sent(app)
    assert (header["nGiven"], header["at"]["value"]) == (1, 2)
    assert (len(weights_source), len(weights_output)) == (src.shape[1], 3)
    assert weights_source.sum() == pytest.approx(1, abs=1e-5)
    assert weights_output.sum() == pytest.approx(1, abs=1e-5)
    assert np.isnan(rows[0, 2:]).all()  # <bos> was not for the model to say
    assert header["aims"]["source"].startswith("cross-attention L")


def test_a_prompt_is_given_and_known_to_the_model_too(three_kinds: Path):
    model, tokenizer, prompt = loaded(three_kinds, "tales", PROMPTS[0])
    app = opened(model="tales", text=PROMPTS[0], length="6", step="6")
    header, rows, weights_source, weights_output = sent(app)
    written = tc.greedy_decode(model, prompt, max_new_tokens=6 + AHEAD).tokens[:, : header["nOutput"]]
    check_numbers(app, model, tokenizer, written)
    assert (header["source"], header["nGiven"], len(weights_source)) == ([], prompt.shape[1], 0)
    assert len(weights_output) == prompt.shape[1] + 6
    kinds = [header["kinds"][int(kind)] for kind in rows[:, 1]]
    assert kinds == ["given"] * prompt.shape[1] + ["written"] * (header["nOutput"] - prompt.shape[1])
    assert np.isfinite(rows[1:, 2]).all()


def test_what_a_person_chose_is_marked_on_that_branch_only():
    branches = {"model": "en-fr", "text": EXAMPLES[0], "branches": "~5.!6", "length": "4", "step": "1"}
    for branch, forced in {"0": [], "1": [2]}.items():
        header, rows, *_ = sent(opened(**branches, branch=branch))
        kinds = [header["kinds"][int(kind)] for kind in rows[:, 1]]
        assert [place for place, kind in enumerate(kinds) if kind == "forced"] == forced
        assert kinds[0] == "given"


def test_the_end_of_the_branch_is_told_wherever_one_stands_in_it(three_kinds: Path):
    eos = tc.load(three_kinds / "en-fr")[0].config.eos_id
    address = {"model": "en-fr", "text": EXAMPLES[0], "branches": f"5.!{eos}"}
    at_end, before = (sent(opened(**address, step=step))[0] for step in ("2", "1"))
    assert "ended the text here" in at_end["ended"] == before["ended"]
    assert [at_end["steps"][0][side] for side in ("source", "output")] == [0, 0]  # nothing comes next
    assert before["steps"][0]["output"] == 2
    assert sent(opened(model="en-fr", text=EXAMPLES[0], branches="5.6", length="2", step="2"))[0]["ended"] is None


@pytest.mark.parametrize(
    ("n", "at", "length"),
    [(1, 1, None), (0, 0, None), (3, 3, None), (5, 5, 5), (10**6, 2 + writing.MOST_AT_ONCE, 66), (-4, 2, None)],
)
def test_the_player_moves_the_step(monkeypatch: pytest.MonkeyPatch, n: int, at: int, length: int | None):
    wish = {"at": {"revision": 1, "value": n}}
    session = {writing.KEY: wish, "decoding-step": 2, "decoding-paths": ((5, 6, 7),)}
    monkeypatch.setattr(st, "session_state", session)
    writing._on_at()
    assert (view_fields.STEP.value, view_fields.LENGTH.value) == (at, length)
