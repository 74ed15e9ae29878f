"""The pages with a checkpoint that has no language-modelling head: attention is shown, and nothing is predicted."""

import contextlib
import html
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from pages.shared.answer import NO_HEAD
from pages.shared.models import ROOT
from tests.pages.conftest import EXAMPLES, component, figure_of, save_model, shown_code, values_of, words_of

OpenApp = Callable[..., AppTest]
TEXT = EXAMPLES[0].replace("street", "____")


@pytest.fixture
def headless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one model without a last layer."""
    folder = tmp_path / "bare"
    save_model(
        folder, n_layers=2, n_heads=2, title="Bare", examples=EXAMPLES, architecture="encoder_only", unembed=False
    )
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    return folder


def opened(open_app: OpenApp, page: str, **parameters: str) -> AppTest:
    """A page at a link."""
    app = open_app(page, **{"text": TEXT, **parameters})
    assert not app.exception
    assert not app.warning
    return app


def said(app: AppTest) -> str:
    return html.unescape(words_of(app))


def test_heads_shows_the_pattern_and_says_that_there_are_no_predictions(
    open_app: OpenApp, headless: Path, monkeypatch: pytest.MonkeyPatch
):
    app = opened(open_app, "heads")
    assert NO_HEAD in said(app)
    model, tokenizer = tc.load(headless)
    with torch.inference_mode(), tc.capture(model, "*.hook_pattern") as acts:
        model.final_states(torch.tensor([tokenizer.encode_for(TEXT, "encoder_only")]))
    pattern = acts["encoder.blocks.1.self_attn.hook_pattern"][0, 0].numpy()
    np.testing.assert_allclose(values_of(figure_of(app)["data"][0]), pattern, atol=1e-6)
    monkeypatch.chdir(ROOT)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(shown_code(app), "the code of the page", "exec"), {"__name__": "__main__"})
    first = [float(number) for number in printed.getvalue().strip("[] \n").split()[:3]]
    np.testing.assert_allclose(first, pattern[0, :3], atol=1e-6)


@pytest.mark.parametrize(
    ("page", "parameters", "n_told"),
    [
        ("decoding", {}, 2),
        ("compare", {}, 3),
        ("compare", {"btext": "", "view": "effect", "bchange": "off:encoder.0.0"}, 4),
        ("compare", {"view": "map"}, 3),
        ("steps", {}, 1),
        ("architecture", {"part": "cost"}, 1),
        ("architecture", {"part": "stream"}, 1),
        ("positions", {}, 1),
        ("masks", {"part": "which"}, 1),
        ("masks", {"part": "inference"}, 1),
        ("masks", {"part": "leak"}, 2),
        ("masks", {"part": "dropout"}, 1),
        ("models", {}, 1),
    ],
)
def test_no_page_needs_predictions(
    open_app: OpenApp, headless: Path, page: str, parameters: dict[str, str], n_told: int
):
    assert said(opened(open_app, page, **parameters)).count(NO_HEAD) == n_told


def test_an_edited_mask_moves_final_states(open_app: OpenApp, headless: Path):
    app = opened(open_app, "masks", preset="window", size="1")
    sent = component(app, "mask_matrix")
    text = bytes(sent.bytes).decode("utf-8", errors="ignore") + str(sent.json)
    assert "Its final states change by" in text
    assert "Its final states change by 0.00" not in text
