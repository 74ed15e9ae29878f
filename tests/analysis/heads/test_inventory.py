"""What a model is made of, counted part by part."""

from dataclasses import fields
from typing import Any

import transformer_core as tc
from transformer_core.analysis.heads.inventory import parameters_by_part, settings

SIZES: dict[str, Any] = {"vocab_size": 17, "d_model": 12, "d_ff": 20, "n_heads": 3, "max_seq_len": 10}


def config(**changes: Any) -> tc.ModelConfig:
    values = {**SIZES, "n_encoder_layers": 2, "n_decoder_layers": 1, **changes}
    if values.get("architecture") == "decoder_only":
        values |= {"n_encoder_layers": 0, "tie_embeddings": values.get("tie_embeddings", "target")}

    return tc.ModelConfig(**values)


def test_by_hand():
    """Two encoder blocks and a decoder block of the paper's kind: every matrix and every bias."""
    attention = 4 * (12 * 12 + 12)
    feed_forward = 12 * 20 + 20 + 20 * 12 + 12
    norm = 12 + 12
    assert parameters_by_part(config()) == {
        ("both", "token embedding"): 17 * 12,
        ("encoder", "self-attention"): 2 * attention,
        ("encoder", "feed-forward"): 2 * feed_forward,
        ("encoder", "normalization"): 2 * 2 * norm,
        ("decoder", "self-attention"): attention,
        ("decoder", "cross-attention"): attention,
        ("decoder", "feed-forward"): feed_forward,
        ("decoder", "normalization"): 3 * norm,
    }


def test_settings_are_those_that_have_an_effect():
    shown = {setting.name: str(setting.value) for setting in settings(config())}
    assert not any("rotary" in name or "relative" in name for name in shown)
    llama = config(architecture="decoder_only", positions="rotary_halves", rotary_scaling="llama3")
    shown = {setting.name: str(setting.value) for setting in settings(llama)}
    assert {name for name in shown if "rotary" in name} == {
        field.name for field in fields(tc.ModelConfig) if "rotary" in field.name and "window" not in field.name
    }
