"""What the page looks at: a block, the tokens that are captured, and the shapes that were typed."""

import pytest

from headlight.analysis.blueprint.plan import blueprint_of
from pages.learn.architecture import data as architecture_data
from pages.learn.architecture import view_fields
from pages.learn.architecture.view_fields import TokensShape
from tests.pages.learn.architecture.conftest import Look
from tests.pages.learn.bare import Bare
from transformer_core.config import ModelConfig

TEXT = "The cat sleeps."


def test_each_stack_has_the_length_and_the_labels_of_its_own_input(look: Look):
    data = look("en-fr", text=TEXT, target="Le chat")
    source, target = data.model_run.inputs
    assert len(source) != len(target) and dict(data.lengths) == {"encoder": len(source), "decoder": len(target)}
    assert data.labels["encoder"] == tuple(data.model_run.source) and data.labels["decoder"][0] == "<bos>"
    assert len(data.labels["decoder"]) == len(target) and not data.is_cut


@pytest.mark.parametrize(("most", "is_cut"), [(5, False), (4, True)])
def test_of_a_long_text_the_first_tokens_are_captured(
    look: Look, monkeypatch: pytest.MonkeyPatch, most: int, is_cut: bool
):
    monkeypatch.setattr(architecture_data, "MOST_TOKENS", most)
    data = look("en-fr", text=TEXT)
    assert len(data.model_run.inputs[0]) == 5 and data.is_cut == is_cut
    assert len(data.inputs[0]) == most == len(data.labels["encoder"])
    assert data.values("encoder.hook_embed").shape == (most, 128)


def test_embeddings_are_shared_as_chosen_where_the_model_has_several(look: Look):
    pair = look("en-fr", text=TEXT, sharing="none")
    assert pair.sharings == ("three_way", "target", "none") and pair.shared_config.tie_embeddings == "none"
    assert look("en-fr", text=TEXT).shared_config.tie_embeddings == "three_way"
    one = look("fill-in", text=TEXT, sharing="three_way")
    assert one.sharings == ("target", "none") and one.shared_config.tie_embeddings == "target"
    assert look("fill-in", config={"unembed": False, "tie_embeddings": "none"}, text=TEXT).sharings == ()


def test_a_block_after_the_last_stack_has_the_last_stacks_positions(look: Look):
    data = look("en-fr", text=TEXT, block="unembed")
    assert data.box.name == "unembed" and data.stack_of(data.box) == "decoder"
    data = look("en-fr", text=TEXT, block="encoder.0.self_attn")
    assert data.stack_of(data.box) == "encoder" and data.missed == ""
    assert look("fill-in", text=TEXT, block="decoder.0.cross_attn").missed == "decoder.0.cross_attn"


PAIR = blueprint_of(ModelConfig(vocab_size=9, d_model=8, d_ff=8, n_heads=2, n_encoder_layers=2, n_decoder_layers=3))


@pytest.mark.parametrize(
    ("typed", "shape"),
    [("[2, 7]", (2, 7)), (" (2 x 7) ", (2, 7)), ("1.1", (1, 1)), ("0, 7", None), ("seven", None), ("2", None)],
)
def test_a_shape_is_read_as_people_write_it(bare: Bare, typed: str, shape: tuple[int, int] | None):
    view_fields.SHAPES["encoder"].set(TokensShape(5, 5))
    view_fields.type_shape("encoder", typed)
    assert view_fields.SHAPES["encoder"].value == (shape or (5, 5))
    assert (f"“{typed[:30]}” is not a shape" in view_fields.TROUBLE.value) == (shape is None)
    view_fields.type_shape("encoder", "  ")
    assert view_fields.SHAPES["encoder"].value is None and view_fields.TROUBLE.value == "" and not bare.texts


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
