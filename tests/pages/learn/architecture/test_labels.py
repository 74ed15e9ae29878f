"""Labels of the blocks of the drawing: their places, parameters and masks."""

from typing import Any

import pytest

from headlight.analysis.blueprint.plan import blueprint_of
from headlight.analysis.blueprint.shapes import stages
from pages.learn.architecture import labels
from pages.learn.architecture.activation import SHAPES
from pages.learn.architecture.labels import does, sources, title
from tests.model.building import each_variation, varied_model
from tests.pages.learn.bare import Bare
from transformer_core.config import ModelConfig

PAIR: dict[str, Any] = {"vocab_size": 1500, "d_model": 24, "d_ff": 1200, "n_heads": 4, "n_encoder_layers": 2}
PAIR |= {"n_decoder_layers": 2, "pad_id": 0, "tie_embeddings": "none"}
ALONE: dict[str, Any] = PAIR | {"architecture": "decoder_only", "n_encoder_layers": 0}


def said(settings: dict[str, Any], name: str) -> dict[str, str]:
    """Return the label of a block where the source has 5 tokens and the target 7; `name` may be a kind of block."""
    config = ModelConfig(**settings)
    boxes = blueprint_of(config).boxes
    box = boxes.get(name) or next(box for box in boxes.values() if box.kind == name)
    label = labels.on_drawing(config, box, {"encoder": 5, "decoder": 7})
    masks = [line for line in label.tip if line.startswith(("masked:", "no mask"))]
    return {
        "name": labels.name_of(config, box),
        "sub": label.sub,
        "shape": label.tip[1] if len(label.tip) > 1 else "",
        "mask": masks[0] if masks else "",
        "parameters": labels.parameters_in_words(config, box),
    }


ENCODER: dict[str, Any] = PAIR | {"architecture": "encoder_only", "n_decoder_layers": 0}
OUTPUT_NORMS = {"norm_position": "pre", "norm": "rms", "output_norm": True}


@pytest.mark.parametrize(
    ("settings", "box", "what", "expected"),
    [
        (PAIR, "decoder.1", "name", "Layer 1 of the decoder"),
        (ALONE, "decoder.1", "name", "Layer 1"),
        (PAIR, "encoder.0.mlp", "name", "Feed forward, encoder, layer 0"),
        (ALONE, "decoder.1.mlp", "name", "Feed forward, layer 1"),
        (PAIR, "encoder.embed", "name", "Input embedding, encoder"),
        (PAIR, "unembed", "name", "Linear"),
        (PAIR, "encoder.embed", "sub", "1,500 × 24"),
        (PAIR, "positions", "sub", "sin, cos"),
        (PAIR | {"positions": "learned", "max_seq_len": 2048}, "positions", "sub", "2,048 × 24"),
        (ALONE | {"positions": "rotary_halves"}, "positions", "sub", "apply RoPE"),
        (ALONE | {"positions": "alibi"}, "positions", "sub", "added to scores"),
        (ALONE | {"positions": "relative_buckets"}, "positions", "shape", ""),
        (PAIR, "decoder.0.self_attn", "sub", "4 heads of 6"),
        (PAIR | {"n_heads": 1}, "decoder.0.self_attn", "sub", "1 head of 24"),
        (PAIR | {"n_kv_heads": 2}, "encoder.1.self_attn", "sub", "4 heads of 6, 2 of K and V"),
        (PAIR, "encoder.1.mlp", "sub", "24 → 1,200 → 24, ReLU"),
        (PAIR | {"activation": "gelu_tanh"}, "encoder.1.mlp", "sub", "24 → 1,200 → 24, GELU"),
        (PAIR, "unembed", "sub", "24 → 1,500"),
        (PAIR | {"logit_cap": 30.0}, "unembed", "sub", "24 → 1,500, soft cap 30.0"),
        (PAIR | OUTPUT_NORMS, "decoder.0.mlp.out_norm", "name", "RMS norm, decoder, layer 0"),
        (PAIR | OUTPUT_NORMS, "decoder.0.mlp.out_norm", "parameters", "24 parameters"),
        (PAIR, "softmax", "sub", ""),
        (PAIR, "decoder.0.self_attn", "mask", "masked: later tokens, padding"),
        (PAIR, "decoder.0.cross_attn", "mask", "masked: padding"),
        (PAIR, "encoder.0.self_attn", "mask", "masked: padding"),
        (PAIR | {"pad_id": None}, "encoder.0.self_attn", "mask", "no mask"),
        (PAIR | {"pad_id": None}, "decoder.0.cross_attn", "mask", "no mask"),
        (PAIR | {"pad_id": None}, "decoder.0.self_attn", "mask", "masked: later tokens"),
        (
            ALONE | {"sliding_window": 8},
            "decoder.1.self_attn",
            "mask",
            "masked: later tokens, padding, tokens 8 or more positions away",
        ),
        (PAIR, "encoder.0.mlp", "mask", ""),
        (PAIR, "encoder.0.mlp", "shape", "5 × 24"),
        (PAIR, "decoder.0.mlp", "shape", "7 × 24"),
        (PAIR, "unembed", "shape", "7 × 24 → 7 × 1,500"),
        (ENCODER, "unembed", "shape", "5 × 24 → 5 × 1,500"),
        (PAIR, "encoder.0.mlp", "parameters", f"{2 * 24 * 1200 + 1200 + 24:,} parameters"),
        (PAIR, "softmax", "parameters", "no parameters"),
        (PAIR, "unembed", "parameters", "36,000 parameters"),
        (PAIR | {"tie_embeddings": "target"}, "unembed", "parameters", "shares 36,000 parameters"),
        (PAIR | {"tie_embeddings": "target", "unembed_bias": True}, "unembed", "parameters", "1,500 parameters"),
    ],
)
def test_a_block_says_its_name_sizes_mask_and_parameters(settings: dict[str, Any], box: str, what: str, expected: str):
    assert said(settings, box)[what] == expected


def test_a_table_has_a_cell_for_each_part_of_a_row(bare: Bare):
    labels.table(["a", "b"], [["1", "<2>"], ["3", "4"]], kind="hl-arch-shapes")
    assert "<th>a</th><th>b</th>" in bare.texts[0] and "hl-arch-table hl-arch-shapes" in bare.texts[0]
    assert "<tr><td>1</td><td>&lt;2&gt;</td></tr><tr><td>3</td><td>4</td></tr>" in bare.texts[0]
    assert labels.shape_in_words((1, 2000, 3)) == "1 × 2,000 × 3"


@each_variation
def test_something_is_said_of_every_box(variation: str):
    config = varied_model(variation).config
    for box in blueprint_of(config).boxes.values():
        assert title(config, box) and does(config, box) and sources(config, box)
        assert {stage.name for stage in stages(config, box)} <= {*SHAPES}
