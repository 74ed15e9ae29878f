"""The text as it is written, on the page: against a plain forward over all of it, and what the player asks for."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
import torch
from plotly.colors import hex_to_rgb
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from headlight.figures import DARK, LIGHT, sequential_scale
from pages.explore.decoding import view_fields
from pages.explore.decoding.components import writing
from pages.explore.decoding.data import AHEAD, OutputToken
from tests.pages.conftest import EXAMPLES, PROMPTS, packed_of
from tests.pages.explore.decoding import decoding_parts
from tests.pages.explore.decoding.decoding_parts import loaded
from tests.test_config import contrast

pytestmark = pytest.mark.usefixtures("three_kinds_here")
opened = partial(decoding_parts.opened, "components.writing")
N_ALTERNATIVES = 5


def sent(app: AppTest) -> tuple[dict[str, Any], np.ndarray, np.ndarray, np.ndarray]:
    """The header, a row of numbers for each token, and the weights over the source and over the output."""
    header, values = packed_of(app, "writing")
    numbers = np.frombuffer(values, dtype="<f4")
    n_src, n_out = (header["steps"][0][side] for side in ("source", "output"))
    end = len(numbers) - sum(step["source"] + step["output"] for step in header["steps"])
    rows, looked = numbers[:end].reshape(header["nOutput"], -1), numbers[end:]
    return header, rows, looked[:n_src], looked[n_src : n_src + n_out]


@torch.inference_mode()
def test_a_token_has_the_numbers_of_a_plain_forward(three_kinds: Path):
    model, tokenizer, src = loaded(three_kinds)
    written = tc.greedy_decode(model, src, max_new_tokens=2 + AHEAD).tokens
    header, rows, weights_source, weights_output = sent(opened(model="en-fr", text=EXAMPLES[0], length="4", step="2"))
    assert [header["labels"][int(place)] for place in rows[:, 0]] == tokenizer.target.labels(written[0].tolist())
    log_probs = model(src, written)[0, 1].log_softmax(-1)
    log_probs[model.config.suppressed_token_id] = -torch.inf
    entropy = float(-(log_probs.exp() * log_probs).nansum())
    np.testing.assert_allclose(rows[2, 2:5], [float(log_probs.max()), 0, entropy], atol=1e-3)
    best = log_probs.exp().topk(N_ALTERNATIVES)
    np.testing.assert_allclose(rows[2, 5 + N_ALTERNATIVES :], best.values, atol=1e-5)
    assert (header["nGiven"], header["at"]["value"]) == (1, 2)
    assert (len(weights_source), len(weights_output)) == (src.shape[1], 3)
    assert weights_source.sum() == pytest.approx(1, abs=1e-5) == weights_output.sum()


def test_a_prompt_is_given(three_kinds: Path):
    n_given = loaded(three_kinds, "tales", PROMPTS[0])[2].shape[1]
    header, rows, _, weights_output = sent(opened(model="tales", text=PROMPTS[0], length="6", step="6"))
    assert (header["source"], header["nGiven"], len(weights_output)) == ([], n_given, n_given + 6)
    kinds = [header["kinds"][int(kind)] for kind in rows[:, 1]]
    assert kinds == ["given"] * n_given + ["written"] * (header["nOutput"] - n_given)


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
    [
        *((n, n, None) for n in (1, 0, 3)),
        *((5, 5, 5), (10**6, 2 + writing.MOST_AT_ONCE, 66)),
        *((nonsense, 2, None) for nonsense in (-4, True, 1.5, "3", None, [3])),
    ],
)
def test_the_player_moves_the_step(monkeypatch: pytest.MonkeyPatch, n: Any, at: int, length: int | None):
    wish = {"at": {"revision": 1, "value": n}}
    session = {writing.KEY: wish, "decoding-step": 2, "decoding-paths": ((5, 6, 7),)}
    monkeypatch.setattr(st, "session_state", session)
    writing._on_at()
    assert (view_fields.STEP.value, view_fields.LENGTH.value) == (at, length)


def test_each_token_is_a_row_and_the_weights_of_this_step_and_of_others_follow():
    """A given, a written and a forced token; the forced one could not have been written."""
    output = [
        OutputToken(label="<bos>", kind="given"),
        OutputToken(label="il", log_prob=-0.25, rank=0, entropy=0.75, alternatives=(("il", 0.7788), ("elle", 0.125))),
        OutputToken(label="elle", kind="forced", log_prob=-np.inf, rank=11, entropy=0.0, alternatives=(("שלום", 1.0),)),
    ]
    over_source, over_output = np.array([0.5, 0.25, 0.25]), np.array([0.125, 0.875])
    looked = {1: {"cross": over_source, "decoder": over_output}, 0: {"cross": over_source[::-1]}, 2: {}}
    header, sent_numbers = writing.payload(["The", "<b>", "שלום"], output, looked)
    numbers = np.frombuffer(sent_numbers, dtype="<f4")
    rows = numbers[: 3 * 9].reshape(3, 9)  # label, kind, three facts, and two alternatives
    labels = [*header["labels"], None]
    assert [labels[int(label)] for label in rows[:, 0]] == ["<bos>", "il", "elle"]
    assert [header["kinds"][int(kind)] for kind in rows[:, 1]] == ["given", "written", "forced"]
    np.testing.assert_array_equal(rows[:, 2], [np.nan, -0.25, -np.inf])
    np.testing.assert_array_equal(rows[:, 3], [np.nan, 0, 11])
    np.testing.assert_array_equal(rows[:, 4], [np.nan, 0.75, 0])
    others = [[labels[-1 if np.isnan(place) else int(place)] for place in row] for row in rows[:, 5:7]]
    assert others == [[None, None], ["il", "elle"], ["\u2068שלום\u2069", None]]
    np.testing.assert_allclose(rows[:, 7:], [[np.nan, np.nan], [0.7788, 0.125], [1, np.nan]])
    assert len(header["labels"]) == len({*header["labels"]}) == 4
    np.testing.assert_array_equal(numbers[3 * 9 :], [0.5, 0.25, 0.25, 0.125, 0.875, 0.25, 0.25, 0.5])
    steps = [(step["n"], step["source"], step["output"]) for step in header["steps"]]
    assert steps == [(1, 3, 2), (0, 3, 0), (2, 0, 0)]
    assert header["nOutput"] == 3 and header["source"] == ["The", "<b>", "\u2068שלום\u2069"]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_chip_can_be_read_and_has_the_color_of_the_scale(theme):
    shades = writing._shades(theme)
    assert all(contrast(ground, ink) >= 4.5 for ground, ink in shades)
    values, colors = zip(*sequential_scale(theme), strict=True)
    for place, (ground, _) in enumerate(shades):
        at = place / (len(shades) - 1)
        channels = zip(*map(hex_to_rgb, colors), strict=True)
        expected = [np.interp(at, values, channel) for channel in channels]
        np.testing.assert_allclose(hex_to_rgb(ground), expected, atol=0.51)
