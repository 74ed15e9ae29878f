"""What the Masks page looks at: the text and its padding, the chosen masks, and what the model writes under them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.masks.rules import MaskChoice
from pages.learn.masks import data as masks_data
from pages.shared import models
from pages.shared.models import ModelCard
from pages.shared.recipe import value_of
from tests.model.building import varied_model
from tests.pages.conftest import GAPS
from tests.pages.learn.bare import Bare
from tests.pages.learn.masks.conftest import Look

TEXT = "The cat sleeps."
LONG = " ".join(["the cat sees the dog"] * 15)


@pytest.mark.parametrize(
    ("preset", "padding", "attention", "source", "target"),
    [
        ("own", 2, "cross", 2, 0),
        ("padding", None, "cross", 3, 0),
        ("padding", 0, "cross", 0, 0),
        ("padding", 1, "decoder", 0, 1),
        ("unshifted", 4, "decoder", 0, 0),
    ],
)
def test_padding_stands_after_the_keys_side_as_chosen_or_as_the_preset_needs(
    look: Look, preset: str, padding: int | None, attention: str, source: int, target: int
):
    data = look("en-fr", text=TEXT, preset=preset, padding=padding, attention=attention)
    assert dict(data.text.n_padding) == {"source": source, "target": target}
    assert dict(data.alone.n_padding) == {"source": 0, "target": 0}
    pad = data.card.config.pad_id
    for side, n_padding in (("source", source), ("target", target)):
        assert data.text.inputs[side] == (*data.alone.inputs[side], *[pad] * n_padding)


def test_a_long_text_is_cut_so_that_it_and_its_padding_have_room(look: Look, cards: Mapping[str, ModelCard]):
    for padding, n_real in ((0, 48), (1, 47), (8, 40)):
        data = look("fill-in", text=LONG, padding=padding)
        assert data.text.n_real["source"] == n_real and len(data.text.inputs["source"]) == 48


def test_the_choice_has_the_attention_the_size_the_cells_and_the_layer_where_it_is_one(look: Look):
    chosen = {"text": TEXT, "preset": "block", "size": 3, "edits": ((1, 0), (2, 1)), "attention": "cross", "layer": 1}
    data = look("en-fr", **chosen)
    assert data.choice == MaskChoice(preset="block", size=3, attention="cross", layer=None, turned=((1, 0), (2, 1)))
    assert look("en-fr", layers="one", **chosen).choice.layer == 1
    own = look("fill-in", text=TEXT)
    assert own.is_own and own.size == 1
    assert not look("fill-in", text=TEXT, edits=((0, 1),)).is_own
    window = look("fill-in", text=TEXT, preset="window")
    assert not window.is_own and window.size == 4


def test_a_cell_beyond_the_text_is_let_go(look: Look):
    data = look("fill-in", text=TEXT)
    n = len(data.text.inputs["source"])
    assert look("fill-in", text=TEXT, edits=((n - 1, 0), (n, 0), (0, n), (0, n - 1))).choice.turned == (
        (n - 1, 0),
        (0, n - 1),
    )


def test_the_decoder_is_given_what_it_has_to_say_where_targets_are_not_shifted(look: Look):
    data = look("en-fr", text=TEXT, preset="unshifted")
    target = data.alone.inputs["target"]
    assert data.given.inputs["target"] == data.text.expected
    assert data.text.expected[:-1] == target[1:] and target[0] == data.card.config.bos_id
    assert data.text.expected[-1] == data.card.config.eos_id
    assert data.given.inputs["source"] == data.alone.inputs["source"]
    shifted = look("en-fr", text=TEXT, preset="none", padding=2, attention="decoder")
    assert shifted.given is shifted.text


def test_the_chosen_head_is_run_with_the_chosen_mask_and_what_is_written_too(look: Look):
    """Under the causal mask an encoder's later keys have no weight; its own mask lets it see them."""
    data = look("fill-in", text=TEXT, preset="look_ahead", layer=2, head=3, layers="one")
    model, tokenizer = tc.load("checkpoints/fill-in")
    site = "encoder.blocks.2.self_attn"
    with torch.inference_mode(), tc.capture(model, f"{site}.hook_*") as activations:
        model(torch.tensor([list(tokenizer.encode_for(TEXT, "encoder_only"))]))
        scores, pattern = (activations[f"{site}.hook_{stem}"][0, 3] for stem in ("attn_scores", "pattern"))
    np.testing.assert_allclose(data.outcome.head_before.pattern, pattern, atol=1e-5)
    causal = torch.ones_like(scores).tril().bool()
    expected = scores.masked_fill(~causal, float("-inf")).softmax(dim=-1)
    np.testing.assert_allclose(data.outcome.head.pattern, expected, atol=1e-5)


@pytest.mark.parametrize(("padding", "n_padding"), [(None, 3), (1, 1), (0, 3)])
def test_each_attentions_mask_is_shown_with_padding_after_all_sides(look: Look, padding: int | None, n_padding: int):
    data = look("en-fr", text=TEXT, padding=padding)
    masks = value_of(data.own_masks())
    n_source, n_target = (len(data.alone.inputs[side]) for side in ("source", "target"))
    assert {name: mask.shape for name, mask in masks.items()} == {
        "encoder": (n_source + n_padding, n_source + n_padding),
        "cross": (n_target + n_padding, n_source + n_padding),
        "decoder": (n_target + n_padding, n_target + n_padding),
    }
    for name, mask in masks.items():
        n_real = n_target if name == "decoder" else n_source
        assert not mask[:, n_real:].any()
        assert mask[-1, :n_real].all() and mask[0, 1] == (name != "decoder")


def test_where_layers_differ_the_mask_is_that_of_the_chosen_one(look: Look, tmp_path: Path):
    tokenizer = tc.train_tokenizer(GAPS, kind="word", vocab_size=60, mask=True)
    model = varied_model("encoder, windows and none", vocab_size=tokenizer.vocab_size)
    tc.save(tmp_path / "windows", model, tokenizer, {"title": "Windows", "examples": [GAPS[0]]})
    for layer, reach in ((0, 24), (1, 3)):
        data = look(models._card(tmp_path / "windows"), attention="encoder", layer=layer, head=0)
        (mask,) = value_of(data.own_masks()).values()
        query, key = np.indices(mask.shape)
        np.testing.assert_array_equal(mask, (abs(query - key) < reach) & (key < len(mask) - 3))
        n = len(mask) - 3
        np.testing.assert_array_equal(data.preset_masks()["own"][:n, :n], mask[:n, :n])


def test_dropout_and_leaks_are_of_the_text_without_padding(look: Look):
    data = look("fill-in", text=TEXT, padding=4, layer=1, head=2)
    n = len(data.alone.inputs["source"])
    assert value_of(data.dropped(0.0, 5)).pattern.shape == (n, n)
    np.testing.assert_array_equal(value_of(data.dropped(0.0, 5)).keep, 1)
    assert value_of(data.leak("own", (4,) * n)).moved.shape == (n, n)


@pytest.mark.parametrize(
    "other", [{"text": "The dog sleeps."}, {"target": "Le chien dort."}, {"attention": "decoder"}, {"layer": 0}]
)
def test_an_edited_cell_is_forgotten_with_another_text_target_or_attention_but_not_with_another_layer(
    look: Look, bare: Bare, cards: Mapping[str, ModelCard], other: dict[str, Any]
):
    first = {"text": "The cat sleeps.", "target": "Le chat dort.", "attention": "cross", "layer": 1}
    assert look("en-fr", edits=((0, 1),), **first).choice.turned == ((0, 1),)
    bare.session.update(other)
    assert masks_data.MasksData.current(cards["en-fr"]).choice.turned == (((0, 1),) if "layer" in other else ())
