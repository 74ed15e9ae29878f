"""The drawing of a model: what is sent to the browser says the same as the plan, and what comes back is checked."""

import json
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from headlight.analysis.blueprint.plan import blueprint_of
from pages.learn.architecture.components.drawing import sent_block
from tests.model.building import VARIATIONS, odd_config
from tests.pages.conftest import component


def show(variation: str) -> None:
    """The page of these tests."""
    from headlight.analysis.blueprint.plan import blueprint_of
    from pages.learn.architecture.components.drawing import BoxLabel, drawing
    from tests.model.building import VARIATIONS, odd_config

    plan = blueprint_of(odd_config(**VARIATIONS[variation]))
    drawing(
        plan,
        label_of=lambda box: BoxLabel(title=f"<{box.kind}>", sub="48", tip=("does this",)),
        texts=dict.fromkeys(plan.stacks, "a text that is far longer than what has room below a drawing"),
        output="<b>out</b>",
        lengths={"encoder": 7, "decoder": 9},
        chosen=plan.first_to_look_at(),
        open_layers=dict.fromkeys(plan.stacks, 1),
        key="drawing",
        on_block=lambda: None,
    )


def sent(variation: str) -> dict[str, Any]:
    app = AppTest.from_function(show, args=(variation,)).run()
    assert not app.exception
    return dict(json.loads(component(app, "drawing").json))


@pytest.mark.parametrize("variation", ["the paper's", "attention only"])
def test_every_box_and_every_arrow_of_a_layer_is_sent(variation: str):
    plan, data = blueprint_of(odd_config(**VARIATIONS[variation])), sent(variation)
    boxes = [box for stack in data["stacks"] for part in ("before", "inside", "after") for box in stack[part]]
    names = [box["name"] for box in boxes + data["head"]] + [stack["whole"]["name"] for stack in data["stacks"]]
    wanted = {name.replace(".0", ".*", 1) for name, box in plan.boxes.items() if not box.layer}
    assert sorted(names) == sorted(wanted)
    known = {*names, "", *(f"{stack}.below" for stack in plan.stacks)}
    assert all(arrow["start"] in known and arrow["end"] in known for arrow in data["arrows"])
    of_layer = [arrow for arrow in plan.arrows if plan.boxes[arrow.end].layer == 0]
    assert len([arrow for arrow in data["arrows"] if "*" in arrow["end"]]) == len(of_layer)
    assert [stack["layers"] for stack in data["stacks"]] == [plan.layers(stack) for stack in plan.stacks]


def test_memory_masks_texts_and_shapes_are_those_of_their_stacks():
    data = sent("the paper's")
    memory = [(arrow["end"], arrow["flow"]) for arrow in data["arrows"] if arrow["memory"]]
    assert memory == [("decoder.*.cross_attn", "key"), ("decoder.*.cross_attn", "value")]
    assert data["stacks"][0]["text"] == "a text that is far longer than wh…" and data["output"]["text"] == "<b>out</b>"
    assert data["stacks"][0]["shape"] == "7 × 48" and data["head"][0]["shape"] == "9 × 37"
    masks = {box["name"]: box["mask"] for stack in data["stacks"] for box in stack["inside"] if box["mask"]}
    assert masks["decoder.*.self_attn"] == "1000110011101111"
    assert masks["encoder.*.self_attn"] == masks["decoder.*.cross_attn"] == "1110" * 4
    (stack, *_) = sent("encoder, windows and none")["stacks"]
    assert [box["mask"] for box in stack["inside"] if box["mask"]] == ["1100111001100010"], "layer 1 has a window"
    assert "inside" not in {arrow["flow"] for arrow in sent("decoder, parallel")["arrows"]}, "layer 1 has no rotation"


@pytest.mark.parametrize("bad", [None, 3, "", "x" * 101, ["decoder.0.mlp"], {"name": "decoder.0.mlp"}])
def test_what_comes_from_the_browser_is_checked(bad: object):
    st.session_state["drawing"] = {"block": {"revision": 1, "value": bad}}
    assert sent_block("drawing") is None
    st.session_state["drawing"] = {"block": {"revision": 2, "value": "decoder.0.mlp"}}
    assert sent_block("drawing") == "decoder.0.mlp"
