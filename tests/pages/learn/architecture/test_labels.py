"""What stands on a block of the drawing, where a block is, and how its parameters and masks are said."""

from typing import Any

import pytest

from pages.learn.architecture import labels
from tests.pages.learn.bare import Bare
from transformer_core.analysis.blueprint.plan import blueprint_of
from transformer_core.config import ModelConfig

PAIR: dict[str, Any] = {"vocab_size": 1500, "d_model": 24, "d_ff": 1200, "n_heads": 4, "n_encoder_layers": 2}
PAIR |= {"n_decoder_layers": 2, "pad_id": 0, "tie_embeddings": "none"}
ALONE: dict[str, Any] = PAIR | {"architecture": "decoder_only", "n_encoder_layers": 0}
ENCODER: dict[str, Any] = PAIR | {"architecture": "encoder_only", "n_decoder_layers": 0}


def said(settings: dict[str, Any], name: str) -> tuple[str, str, list[str]]:
    """Title, small line and tip of a block, where the source has 5 tokens and the target 7."""
    config = ModelConfig(**settings)
    box = blueprint_of(config).boxes[name]
    label = labels.on_drawing(config, box, {"encoder": 5, "decoder": 7})
    return label.title, label.sub, [*label.tip]


@pytest.mark.parametrize(
    ("settings", "name", "expected"),
    [
        (PAIR, "decoder.1", "Layer 1 of the decoder"),
        (ALONE, "decoder.1", "Layer 1"),
        (PAIR, "encoder.0.mlp", "Feed forward, encoder, layer 0"),
        (ALONE, "decoder.1.mlp", "Feed forward, layer 1"),
        (PAIR, "encoder.embed", "Input embedding, encoder"),
        (PAIR, "unembed", "Linear"),
        (ALONE, "softmax", "Softmax"),
    ],
)
def test_a_block_is_named_with_where_it_stands_among_several(settings: dict[str, Any], name: str, expected: str):
    config = ModelConfig(**settings)
    assert labels.name_of(config, blueprint_of(config).boxes[name]) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("decoder.embed", "embedding"),
        ("decoder.0.cross_attn", "0 cross-attention"),
        ("encoder.11.mlp", "11 feed-forward"),
        ("encoder.2.self_attn", "2 self-attention"),
    ],
)
def test_a_place_of_the_stream_is_a_layer_and_a_sub_layer(name: str, expected: str):
    assert labels.place_in_words(name) == expected


@pytest.mark.parametrize(
    ("settings", "name", "sub"),
    [
        (PAIR, "encoder.embed", "1,500 × 24"),
        (PAIR | {"positions": "learned", "max_seq_len": 2048}, "encoder.pos_embed", "2,048 × 24"),
        (PAIR, "encoder.pos_embed", "sin, cos"),
        (PAIR, "decoder.0.self_attn", "4 heads of 6"),
        (PAIR | {"n_heads": 1}, "decoder.0.self_attn", "1 head of 24"),
        (PAIR | {"n_kv_heads": 2}, "encoder.1.self_attn", "4 heads of 6, 2 of K and V"),
        (PAIR, "encoder.1.mlp", "24 → 1,200 → 24, ReLU"),
        (PAIR | {"activation": "gelu_tanh"}, "encoder.1.mlp", "24 → 1,200 → 24, GELU"),
        (PAIR, "unembed", "24 → 1,500"),
        (PAIR, "softmax", ""),
    ],
)
def test_the_small_line_on_a_block_has_its_sizes(settings: dict[str, Any], name: str, sub: str):
    config = ModelConfig(**settings)
    boxes = blueprint_of(config).boxes
    if name == "encoder.pos_embed":
        name = next(of for of, box in boxes.items() if box.kind == "positions" and box.stack == "encoder")
    assert said(settings, name)[1] == sub


@pytest.mark.parametrize(
    ("positions", "sub"),
    [("rotary_halves", "apply RoPE"), ("alibi", "added to scores"), ("relative_buckets", "added to scores")],
)
def test_positions_within_attention_say_how_they_act(positions: str, sub: str):
    settings = ALONE | {"positions": positions}
    boxes = blueprint_of(ModelConfig(**settings)).boxes
    name = next(of for of, box in boxes.items() if box.kind == "positions")
    _, small, tip = said(settings, name)
    assert small == sub and len(tip) == 1, "neither shape nor parameters"


@pytest.mark.parametrize(
    ("settings", "name", "masked"),
    [
        (PAIR, "decoder.0.self_attn", "masked: later tokens, padding"),
        (PAIR, "decoder.0.cross_attn", "masked: padding"),
        (PAIR, "encoder.0.self_attn", "masked: padding"),
        (PAIR | {"pad_id": None}, "encoder.0.self_attn", "no mask"),
        (PAIR | {"pad_id": None}, "decoder.0.cross_attn", "no mask"),
        (PAIR | {"pad_id": None}, "decoder.0.self_attn", "masked: later tokens"),
        (
            ALONE | {"sliding_window": 8},
            "decoder.1.self_attn",
            "masked: later tokens, padding, tokens more than 8 positions away",
        ),
    ],
)
def test_an_attention_says_what_its_mask_hides(settings: dict[str, Any], name: str, masked: str):
    assert masked in said(settings, name)[2]


def test_only_attentions_speak_of_masks():
    assert not any("mask" in line.lower() for line in said(PAIR, "encoder.0.mlp")[2][1:])


@pytest.mark.parametrize(
    ("settings", "name", "shape"),
    [
        (PAIR, "encoder.0.mlp", "5 × 24"),
        (PAIR, "decoder.0.mlp", "7 × 24"),
        (PAIR, "unembed", "7 × 24 → 7 × 1,500"),
        (ENCODER, "unembed", "5 × 24 → 5 × 1,500"),
    ],
)
def test_a_tip_has_the_shape_that_goes_in_and_the_one_that_comes_out_where_they_differ(
    settings: dict[str, Any], name: str, shape: str
):
    assert said(settings, name)[2][1] == shape


@pytest.mark.parametrize(
    ("settings", "name", "told"),
    [
        (PAIR, "encoder.0.mlp", f"{2 * 24 * 1200 + 1200 + 24:,} parameters"),
        (PAIR, "softmax", "no parameters"),
        (PAIR | {"tie_embeddings": "target"}, "unembed", "no parameters of its own: shares 36,000"),
        (PAIR, "unembed", "36,000 parameters"),
        (PAIR | {"tie_embeddings": "target", "unembed_bias": True}, "unembed", "1,500 parameters"),
    ],
)
def test_parameters_are_a_blocks_own_or_shared(settings: dict[str, Any], name: str, told: str):
    config = ModelConfig(**settings)
    assert labels.parameters_in_words(config, blueprint_of(config).boxes[name]) == told


def test_a_table_has_a_cell_for_each_part_of_a_row(bare: Bare):
    labels.table(["a", "b"], [["1", "<2>"], ["3", "4"]], kind="hl-arch-shapes")
    assert "<th>a</th><th>b</th>" in bare.texts[0] and "hl-arch-table hl-arch-shapes" in bare.texts[0]
    assert "<tr><td>1</td><td>&lt;2&gt;</td></tr><tr><td>3</td><td>4</td></tr>" in bare.texts[0]
    assert labels.shape_in_words((1, 2000, 3)) == "1 × 2,000 × 3"
