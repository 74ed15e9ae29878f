"""What the page says of the output, on models that write nothing: against programs and plain forward passes."""

from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from tests.pages.conftest import words_of
from tests.pages.investigate.interventions.test_page import changes, opened
from tests.programs.compiled_examples import example
from transformer_core.analysis.interventions.records import Ablation, Component, Stack
from transformer_core.checkpoints.compiled import save_compiled

OpenApp = Callable[..., AppTest]


@pytest.fixture
def program_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The app finds the program "reverse", saved as a model."""
    save_compiled(tmp_path / "reverse", *example("reverse"), title="Reverse", examples=["a b c d e"])
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))


def off(attention: str, layer: int, head: int) -> Stack:
    component = Component(kind="head", attention=attention, layer=layer, heads=(head,))  # type: ignore[arg-type]
    return Stack(entries=(Ablation(component=component, method="zero"),))


@pytest.mark.usefixtures("program_here")
def test_every_token_of_a_program_is_an_output_token(open_app: OpenApp):
    model, tokenizer = example("reverse")
    layer = model.config.n_encoder_layers - 1
    ids = torch.tensor([tokenizer.encode_for("a b c d e", "encoder_only")])
    logits = []
    for edits in ({}, {f"encoder.blocks.{layer}.self_attn.hook_z": tc.zero_heads([0])}):
        with torch.no_grad(), tc.intervene(model, edits):
            logits.append(model(ids)[0, 1:-1, 1:])  # <pad>, which is 0, is never written
    app = opened(open_app, off("encoder", layer, 0), model="reverse", text="a b c d e", view="numbers")
    html = unescape(words_of(app))
    words = [" ".join(tokenizer.tokens(each.argmax(-1) + 1)) for each in logits]
    assert words[0] == "e d c b a" != words[1] and all(f"<bdi>{each}</bdi>" in html for each in words)
    table = app.dataframe[0].value
    assert [*table["token"]] == [*"edcba"]
    assert [*table["most probable after"]] == words[1].split()
    assert np.abs(changes(app)).min() > 1
