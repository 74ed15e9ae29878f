"""The walk through a head of a long text: its beginning and its end, and the lines that walk again."""

import io
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from pages.learn.steps import walkthroughs
from pages.shared.recipe import Print, script
from tests.pages.learn.steps.conftest import Look


@pytest.mark.parametrize(("less", "n_left_out"), [(0, 0), (1, 1), (3, 3)])
def test_a_text_is_cut_where_it_is_longer_than_a_walk_may_be(
    look: Look, monkeypatch: pytest.MonkeyPatch, less: int, n_left_out: int
):
    text = f"The cat sees {less + 2} dogs."
    n = len(tc.load("checkpoints/fill-in")[1].encode_for(text, "encoder_only"))
    monkeypatch.setattr(walkthroughs, "MOST_TOKENS", n - less)
    assert len(look("fill-in", text=text, layer=0, head=0).model_run.inputs[0]) == n - n_left_out


def test_the_lines_walk_through_the_chosen_head(look: Look):
    data = look("en-fr", text="The cat sleeps.", target="Le chat", attention="cross", layer=1, head=3)
    names: dict[str, Any] = {}
    with redirect_stdout(io.StringIO()):
        exec(script(Print(data.walk_recipe)), names)
    site = "decoder.blocks.1.cross_attn.hook_pattern"
    model, _ = tc.load("checkpoints/en-fr")
    with torch.inference_mode(), tc.capture(model, site) as activations:
        model(*(torch.tensor([ids]) for ids in data.model_run.inputs))
    for walk in (names["walk_through"], data.walk):
        np.testing.assert_allclose(walk.quantities["pattern"].values, activations[site][0, 3], atol=1e-5)


def test_a_cut_text_keeps_the_target_that_was_typed(look: Look, monkeypatch: pytest.MonkeyPatch):
    typed = {"text": "The cat sees the dog.", "target": "Le chien voit", "attention": "cross", "layer": 0, "head": 0}
    whole = look("en-fr", **typed).model_run.inputs
    monkeypatch.setattr(walkthroughs, "MOST_TOKENS", len(whole[1]))
    cut = look("en-fr", **typed).model_run.inputs
    assert len(whole[0]) > len(whole[1])
    assert [*cut[0]] == [*whole[0]][: len(whole[1]) - 1] + [*whole[0]][-1:], "<eos> stays"
    assert [*cut[1]] == [*whole[1]]
