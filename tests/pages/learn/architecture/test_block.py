"""The chosen block: its shapes, its weights, what is typed, and its code."""

import re

import pytest
import torch

import transformer_core as tc
from pages.learn.architecture import block, view_fields
from pages.learn.architecture.view_fields import TokensShape
from tests.pages.learn.architecture.conftest import Look
from tests.pages.learn.bare import Bare

TEXT = "The cat sleeps."


def rows_of(bare: Bare, kind: str) -> list[list[str]]:
    table = bare.words.split(kind)[1]
    return [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", table) if "<td>" in row]


def test_each_row_of_the_shapes_has_the_shape_of_what_passes_its_hook_point(bare: Bare, look: Look):
    data = look("en-fr", text=TEXT, target="Le chat", block="decoder.1.cross_attn")
    block.show(data)
    model, _ = tc.load("checkpoints/en-fr")
    with torch.inference_mode(), tc.capture(model, "decoder.blocks.1.cross_attn.*") as activations:
        model(*(torch.tensor([ids]) for ids in data.model_run.inputs))
    shapes = {}
    for what, _, shape in rows_of(bare, "hl-arch-shapes"):
        if site := re.findall(r"<code>(.+?)</code>", what):
            shapes[site[0]] = [int(size.replace(",", "")) for size in shape.split(" × ")]
    assert {"hook_q", "hook_k", "hook_pattern", "hook_z"} <= {*shapes}
    for site, of_site in shapes.items():
        name = f"decoder.blocks.1.cross_attn.{site}"
        if name in activations and site != "hook_mask":
            assert [*activations[name].shape] == of_site
    assert "on this text" in bare.words and "as entered" not in bare.words
    assert "<code>decoder.blocks.1.cross_attn</code>" in bare.words
    assert f"{4 * (128 * 128 + 128):,} parameters" in bare.words


def test_typed_shapes_are_taken_for_their_stack_and_a_longer_text_is_remarked_upon(bare: Bare, look: Look):
    block.show(look("en-fr", text=TEXT, block="encoder.0.self_attn", src=TokensShape(3, 65)))
    assert "as entered" in bare.words and "3 × 4 × 65 × 65" in bare.words
    assert "65 tokens exceed this model’s 64 positions" in bare.words
    source, target = (bare.widgets[f"architecture-{name}-box"] for name in ("src", "tgt"))
    assert (source.label, target.label) == ("Shape of the source", "Shape of the target")
    assert source.how["placeholder"] == "[3, 5]" and bare.session["architecture-src-box"] == "[3, 65]"
    bare.session["architecture-tgt-box"] = "4, 9"
    target.how["on_change"]()
    assert view_fields.SHAPES["decoder"].value == TokensShape(4, 9)
    assert view_fields.SHAPES["encoder"].value == TokensShape(4, 65), "both stacks read as many texts"
    bare.clear()
    block.show(look("fill-in", text=TEXT, block="encoder.0.self_attn", src=TokensShape(1, 160)))
    assert "tokens exceed" not in bare.words and bare.widgets["architecture-src-box"].label == "Shape of the tokens"


def test_weights_are_those_of_the_module_with_their_total(bare: Bare, look: Look):
    block.show(look("en-fr", text=TEXT, block="decoder.0.cross_attn", show="weights"))
    model, _ = tc.load("checkpoints/en-fr")
    expected = {name: [*w.shape] for name, w in model.get_submodule("decoder.blocks.0.cross_attn").named_parameters()}
    *rows, total = rows_of(bare, "hl-arch-weights")
    shown = {
        re.sub("</?code>", "", name): [int(size.replace(",", "")) for size in shape.split(" × ")]
        for name, _, shape, _ in rows
    }
    assert shown == expected
    n = sum(w.numel() for w in model.get_submodule("decoder.blocks.0.cross_attn").parameters())
    assert total == ["<b>total</b>", "", "", f"<b>{n:,}</b>"]
    assert [count.replace(",", "") for *_, count in rows] == [
        str(w.numel()) for w in model.get_submodule("decoder.blocks.0.cross_attn").parameters()
    ]
    symbols = [symbol for _, symbol, _, _ in rows if symbol]
    assert "<i>W<sub>Q</sub></i>" in symbols


def test_shared_weights_name_what_they_are_shared_with_and_count_once(bare: Bare, look: Look):
    block.show(look("en-fr", text=TEXT, block="unembed", show="weights"))
    *rows, total = rows_of(bare, "hl-arch-weights")
    assert rows[0][3].startswith("shared with ") and "embed" in rows[0][3] and total[3] == "<b>0</b>"
    bare.clear()
    block.show(look("en-fr", text=TEXT, block="softmax", show="weights"))
    assert "This block has no trainable weights" in bare.words


def test_the_network_as_convolutions_gives_the_same_up_to_rounding(bare: Bare, look: Look):
    block.show(look("en-fr", text=TEXT, block="encoder.1.mlp"))
    told = re.search(r"with the same weights \[256, 128, 1\] and \[128, 256, 1\].*difference is (.*?)\.<", bare.words)
    assert told is not None and float(told[1]) < 1e-4
    bare.clear()
    block.show(look("en-fr", text=TEXT, block="encoder.1.self_attn"))
    assert "convolutions" not in bare.words


@pytest.mark.parametrize(("shown", "part"), [("code", "class FeedForward"), ("shapes", "hl-arch-shapes")])
def test_the_view_that_was_chosen_is_shown(bare: Bare, look: Look, shown: str, part: str):
    block.show(look("fill-in", text=TEXT, block="encoder.0.mlp", show=shown))
    assert part in bare.words
    assert bare.widgets["architecture-show-segments"].names == ["Shapes", "Weights", "On this text", "Code"]
