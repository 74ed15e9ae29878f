"""Which attention gets which mask: what is sent of each, and what comes back."""

import json
import struct
from typing import Any

import numpy as np
import pytest

from pages.learn.masks import view_fields, which
from pages.shared.view import state
from tests.pages.learn.bare import Bare
from tests.pages.learn.masks.conftest import Look

TEXT = "The cat sleeps."


def sent(bare: Bare) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The header, and the mask of each picture."""
    data = bare.components["mask_which"]["data"]
    (length,) = struct.unpack("<I", data[:4])
    header, cells = json.loads(data[4 : 4 + length]), np.frombuffer(data[4 + length :], dtype=np.uint8)
    masks = []
    for item in header["items"]:
        n = item["rows"] * item["columns"]
        masks.append(cells[:n].reshape(item["rows"], item["columns"]).astype(bool))
        cells = cells[n:]
    assert not cells.size
    return header, masks


def test_each_attention_has_its_sides_its_usual_mask_and_its_cells(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, attention="cross")
    which.show(data)
    header, masks = sent(bare)
    items = {item["name"]: item for item in header["items"]}
    assert [*items] == [*data.card.attentions] and header["chosen"] == "cross"
    assert [items[name]["mask"] for name in ("encoder", "decoder", "cross")] == [
        "Mask: Padding",
        "Mask: Padding × causal",
        "Mask: Padding of the source",
    ]
    assert (items["cross"]["from"], items["cross"]["to"]) == ("queries: the decoder’s input", "keys: the text")
    assert (items["encoder"]["from"], items["encoder"]["to"]) == ("queries: the text", "keys: the text")
    for item, mask in zip(header["items"], masks, strict=True):
        n_queries, n_keys = (len(data.alone.inputs[side]) for side in which.ends(item["name"]))
        expected = np.ones((n_queries + 3, n_keys + 3), dtype=bool)
        expected[:, n_keys:] = False
        if item["name"] == "decoder":
            expected &= np.tri(*expected.shape, dtype=bool)
        np.testing.assert_array_equal(mask, expected)
    assert [*header["joins"]] == ["memory", "asks"] and header["note"].startswith("Two common mistakes")
    assert bare.buttons["masks-edit-this"]["label"] == "Edit the mask of cross-attention"


def test_a_model_of_one_stack_has_no_joins(bare: Bare, look: Look):
    which.show(look("fill-in", text=TEXT))
    header, _ = sent(bare)
    assert header["joins"] == {} and header["note"] == "" and len(header["items"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chosen", "edited"),
    [
        ({"preset": "look_ahead", "attention": "encoder"}, {"encoder": "Causal"}),
        ({"edits": ((0, 1),), "attention": "decoder"}, {"decoder": "The model’s own"}),
        (
            {"preset": "cross", "attention": "cross"},
            {"cross": "Causal on cross-attention", "decoder": "Causal on cross-attention"},
        ),
    ],
)
def test_an_attention_whose_mask_is_not_its_own_says_by_which_preset(
    bare: Bare, look: Look, chosen: dict[str, Any], edited: dict[str, str]
):
    which.show(look("en-fr", text=TEXT, **chosen))
    header, masks = sent(bare)
    told = {item["name"]: item["mask"] for item in header["items"]}
    assert {name for name, words in told.items() if "as edited" in words} == {*edited}
    for name, preset in edited.items():
        assert told[name] == f"Mask: as edited ({preset})"
    if "edits" in chosen:
        mask = masks[[*told].index("decoder")]
        assert mask[0, 1] and not mask[0, 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent_name", "chosen"), [("encoder", "encoder"), ("nothing", "decoder"), (None, "decoder"), (3, "decoder")]
)
def test_an_attention_is_chosen_by_its_name_and_others_are_refused(
    bare: Bare, look: Look, sent_name: object, chosen: str
):
    which.show(look("en-fr", text=TEXT, attention="decoder"))
    bare.session[which.WHICH] = {"chosen": {"name": sent_name}}
    bare.components["mask_which"]["on_chosen_change"]()
    assert state.ATTENTION.value == chosen


@pytest.mark.slow
def test_the_button_leads_to_the_editor(bare: Bare, look: Look):
    which.show(look("en-fr", text=TEXT, attention="decoder", part="which"))
    bare.buttons["masks-edit-this"]["on_click"]()
    assert view_fields.PART.value == "edit"
