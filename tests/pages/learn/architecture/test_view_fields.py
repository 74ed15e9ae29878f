"""Shapes that are typed, blocks that are chosen, and the layer that is open on the drawing."""

import pytest

from pages.learn.architecture import view_fields
from pages.learn.architecture.view_fields import TokensShape
from tests.pages.learn.bare import Bare
from transformer_core.analysis.blueprint.plan import blueprint_of
from transformer_core.config import ModelConfig

PAIR = blueprint_of(ModelConfig(vocab_size=9, d_model=8, d_ff=8, n_heads=2, n_encoder_layers=2, n_decoder_layers=3))


@pytest.mark.parametrize(
    ("typed", "shape"),
    [
        ("[2, 7]", (2, 7)),
        (" (2 x 7) ", (2, 7)),
        ("2×7", (2, 7)),
        ("1.1", (1, 1)),
        ("0, 7", None),
        ("2, 0", None),
        ("seven", None),
        ("2", None),
    ],
)
def test_a_shape_is_read_as_people_write_it(bare: Bare, typed: str, shape: tuple[int, int] | None):
    view_fields.SHAPES["encoder"].set(TokensShape(5, 5))
    view_fields.type_shape("encoder", typed)
    assert view_fields.SHAPES["encoder"].value == (shape or (5, 5))
    assert (f"“{typed[:30]}” is not a shape" in view_fields.TROUBLE.value) == (shape is None)
    view_fields.type_shape("encoder", "  ")
    assert view_fields.SHAPES["encoder"].value is None and view_fields.TROUBLE.value == "" and not bare.texts


def test_an_address_writes_a_shape_as_it_reads_it(bare: Bare):
    field = view_fields.SHAPES["decoder"]
    field.set(TokensShape(32, 128))
    assert field.parameters() == {"tgt": "32.128"} and field.read("32.128") == field.value
    assert str(field.value) == "[32, 128]" and not bare.texts


def test_the_other_stack_reads_as_many_texts_and_keeps_its_length(bare: Bare):
    view_fields.type_shape("encoder", "2, 7")
    assert view_fields.SHAPES["decoder"].value is None
    view_fields.type_shape("decoder", "3, 4")
    assert [view_fields.SHAPES[stack].value for stack in ("encoder", "decoder")] == [(3, 7), (3, 4)] and not bare.texts


def test_the_last_layers_are_open_until_a_block_of_another_is_chosen(bare: Bare):
    view_fields.fit(PAIR)
    first = PAIR.boxes[PAIR.first_to_look_at()]
    expected = {"encoder": 1, "decoder": 2} | ({first.stack: first.layer} if first.layer is not None else {})
    assert view_fields.open_layers() == expected
    view_fields.SITE.set("encoder.hook_embed")
    view_fields.choose_block("encoder.0.mlp")
    assert view_fields.SITE.value is None, "another block has another hook point"
    box, missed = view_fields.fit(PAIR)
    assert (box.name, missed) == ("encoder.0.mlp", "") and view_fields.open_layers()["encoder"] == 0
    view_fields.choose_block("unembed")
    view_fields.fit(PAIR)
    assert view_fields.open_layers() == expected | {"encoder": 0}, "it belongs to no layer"
    assert not bare.texts


def test_a_block_that_is_not_there_is_named_and_let_go_with_its_hook_point(bare: Bare):
    view_fields.choose_block("decoder.3.mlp")
    view_fields.SITE.set("decoder.blocks.3.hook_mlp_out")
    box, missed = view_fields.fit(PAIR)
    assert missed == "decoder.3.mlp" and box.name == PAIR.first_to_look_at()
    assert view_fields.BLOCK.value is None and view_fields.SITE.value is None and not bare.texts
