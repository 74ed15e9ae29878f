"""What a model is made of, counted part by part."""

from dataclasses import fields
from typing import Any

import transformer_core as tc
from headlight.figures.architecture.inventory import settings

SIZES: dict[str, Any] = {"vocab_size": 17, "d_model": 12, "d_ff": 20, "n_heads": 3, "max_seq_len": 10}


def config(**changes: Any) -> tc.ModelConfig:
    values = {**SIZES, "n_encoder_layers": 2, "n_decoder_layers": 1, **changes}
    if values.get("architecture") == "decoder_only":
        values |= {"n_encoder_layers": 0, "tie_embeddings": values.get("tie_embeddings", "target")}
    return tc.ModelConfig(**values)


def test_settings_are_those_that_have_an_effect():
    shown = {setting.name: str(setting.value) for setting in settings(config())}
    assert (shown["d_head"], shown["n_kv_heads"], shown["scale_scores"]) == ("4", "3", "yes")
    assert shown["sliding_window"] == "none"
    assert "final_norm" in shown and not {"input_norm", "last_norm", "qk_norm_scope"} & shown.keys()
    assert not any("rotary" in name or "relative" in name for name in shown)
    llama = config(architecture="decoder_only", positions="rotary_halves", rotary_scaling="llama3", vocab_size=1234)
    shown = {setting.name: str(setting.value) for setting in settings(llama)}
    assert shown["vocab_size"] == "1,234"
    assert {name for name in shown if "rotary" in name} == {
        name
        for field in fields(tc.ModelConfig)
        if "rotary" in (name := field.name) and name[-6:] not in ("window", "actors")
    }
    assert "n_encoder_layers" not in shown
    olmo2 = config(norm="rms", norm_position="pre", input_norm=False, output_norm=True, qk_norm=True)
    shown = {setting.name: str(setting.value) for setting in settings(olmo2)}
    assert (shown["output_norm"], shown["qk_norm_scope"]) == ("yes", "shared")
    assert not {"final_norm", "first_norm"} & shown.keys()
    attention_only = config(architecture="decoder_only", d_ff=0)
    assert not {"activation", "gated"} & {setting.name for setting in settings(attention_only)}
