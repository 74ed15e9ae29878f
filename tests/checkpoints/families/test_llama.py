"""Llama and its kin: rotation in both places of config.json, windows, and what is refused by name."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

import transformer_core as tc
from tests.checkpoints import foreign
from transformer_core.checkpoints.convert import convert
from transformer_core.checkpoints.families.llama import FAMILIES
from transformer_core.errors import CheckpointError

KIN = {family.model_type: family for family in FAMILIES}
SMOL = {  # as SmolLM-135M was published
    **{"architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 0},
    **{"eos_token_id": 0, "hidden_act": "silu", "hidden_size": 576, "initializer_range": 0.02},
    **{"intermediate_size": 1536, "max_position_embeddings": 2048, "model_type": "llama", "num_attention_heads": 9},
    **{"num_hidden_layers": 30, "num_key_value_heads": 3, "pretraining_tp": 1, "rms_norm_eps": 1e-05},
    **{"rope_scaling": None, "rope_theta": 10000.0, "tie_word_embeddings": True, "torch_dtype": "bfloat16"},
    **{"use_cache": True, "vocab_size": 49152, "is_llama_config": True, "rope_interleaved": False},
}
QWEN = {  # as Qwen2.5-0.5B was published
    **{"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643},
    **{"eos_token_id": 151643, "hidden_act": "silu", "hidden_size": 896, "initializer_range": 0.02},
    **{"intermediate_size": 4864, "max_position_embeddings": 32768, "max_window_layers": 24, "model_type": "qwen2"},
    **{"num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06},
    **{"rope_theta": 1000000.0, "sliding_window": 32768, "tie_word_embeddings": True, "torch_dtype": "bfloat16"},
    **{"use_cache": True, "use_mrope": False, "use_sliding_window": False, "vocab_size": 151936},
}
MISTRAL = {**SMOL, "model_type": "mistral", "sliding_window": 4096, "num_key_value_heads": 3}
LLAMA3 = {
    **{"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192},
    "rope_type": "llama3",
}
WINDOW = {"use_sliding_window": True, "max_window_layers": 0, "sliding_window": 100}


def test_smollm_is_a_llama():
    config = KIN["llama"].config(SMOL)
    assert config == tc.presets.llama_like()


def test_the_kin_differ_where_they_say_so():
    qwen2 = KIN["qwen2"].config(QWEN)
    assert (qwen2.attention_bias, qwen2.rotary_base, qwen2.sliding_window, qwen2.qk_norm) == ("qkv", 1e6, None, False)
    qwen3 = KIN["qwen3"].config({**QWEN, "model_type": "qwen3", "head_dim": 128, "attention_bias": False})
    assert (qwen3.attention_bias, qwen3.d_head, qwen3.qk_norm) == ("none", 128, True)
    assert KIN["qwen3"].config({**QWEN, "model_type": "qwen3"}).d_head == 128
    assert KIN["mistral"].config(MISTRAL).sliding_window == 4096

    silent = {name: value for name, value in MISTRAL.items() if name != "sliding_window"}
    for said, window in (({}, 4096), ({"sliding_window": None}, None), ({"sliding_window": 7}, 7)):
        assert KIN["mistral"].config({**silent, **said}).sliding_window == window


LINEAR = {"type": "linear", "factor": 2.0}


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"rope_theta": 5e5}, {"rope_theta": 5e5, "rope_type": "default"}),
        ({"rope_theta": 5e5, "rope_scaling": LLAMA3}, {**LLAMA3, "rope_theta": 5e5}),
        ({"rope_scaling": LINEAR}, {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}),
        ({}, None),
    ],
)
def test_rotation_is_read_from_both_places(older: Mapping[str, Any], newer: Mapping[str, Any] | None):
    bare = {name: value for name, value in SMOL.items() if name not in ("rope_theta", "rope_scaling")}
    config = KIN["llama"].config({**bare, **older})
    assert config == KIN["llama"].config({**bare, "rope_parameters": newer})
    assert config.rotary_base == (newer or {}).get("rope_theta", 1e4)
    if older.get("rope_scaling") is LLAMA3:
        assert (config.rotary_scaling, config.rotary_scaling_factor) == ("llama3", 32.0)
        assert (config.rotary_low_freq_factor, config.rotary_high_freq_factor) == (1.0, 4.0)
        assert config.rotary_original_len == 8192


def test_the_original_length_of_rotation_defaults_to_that_of_the_model():
    rope = {name: value for name, value in LLAMA3.items() if not name.startswith("original")}
    said: dict[str, Any] = {"original_max_position_embeddings": 8192}
    for inside, beside, expected in ((said, {}, 8192), ({}, said, 8192), ({}, {}, SMOL["max_position_embeddings"])):
        config = KIN["llama"].config({**SMOL, "rope_scaling": {**rope, **inside}, **beside})
        assert config.rotary_original_len == expected


def test_a_window_in_every_layer_is_read_and_in_some_refused():
    assert KIN["qwen2"].config({**QWEN, **WINDOW}).sliding_window == 100
    assert KIN["qwen2"].config({**QWEN, **WINDOW, "layer_types": ["sliding_attention"] * 24}).sliding_window == 100
    assert KIN["qwen2"].config({**QWEN, **WINDOW, "max_window_layers": 24}).sliding_window is None
    with pytest.raises(CheckpointError, match=r"max_window_layers = 12 is not supported; .* in all layers or in none"):
        KIN["qwen2"].config({**QWEN, **WINDOW, "max_window_layers": 12})
    usual = {name: value for name, value in {**QWEN, **WINDOW}.items() if name != "max_window_layers"}  # 28
    assert KIN["qwen2"].config({**usual, "num_hidden_layers": 28}).sliding_window is None
    with pytest.raises(CheckpointError, match="in all layers or in none"):
        KIN["qwen2"].config({**usual, "num_hidden_layers": 29})
    mixed = ["full_attention", "sliding_attention"] * 12
    with pytest.raises(CheckpointError, match=r"layer_types = \['full_attention', .* is not supported"):
        KIN["qwen3"].config({**QWEN, **WINDOW, "layer_types": mixed})


def test_of_several_tokens_that_end_a_text_the_first_counts():
    config = KIN["llama"].config({**SMOL, "eos_token_id": [7, 8], "bos_token_id": 3, "pad_token_id": 9})
    assert (config.bos_id, config.eos_id, config.pad_id) == (3, 7, 9)


def test_older_files_hold_the_speed_of_each_pair(folder_of: Callable[[str], Path]):
    values, weights = foreign.read(folder_of("llama"))
    speeds = {f"model.layers.{i}.self_attn.rotary_emb.inv_freq": torch.ones(6) for i in range(3)}
    tokens = foreign.batch("llama")
    expected = convert(values, weights, where="llama")(*tokens)
    assert torch.equal(convert(values, {**weights, **speeds}, where="llama")(*tokens), expected)


def test_what_is_not_computed_here_is_refused():
    llama = KIN["llama"]
    foreign.refuses(llama, SMOL, {"rope_parameters": {"full_attention": {"rope_theta": 1e4}}}, {"rope_scaling": 2.0})
    foreign.refuses(llama, SMOL, {"partial_rotary_factor": 0.5}, {"rope_interleaved": True}, {"hidden_act": "relu2"})
    foreign.refuses(llama, SMOL, {"residual_multiplier": 0.2}, {"quantization_config": {"bits": 4}})
    for rope, message in (
        ({"type": "dynamic", "factor": 2.0}, "type = 'dynamic' is not supported"),
        ({"rope_type": "yarn", "factor": 2.0}, "supported are default, linear, llama3"),
        ({"type": "linear"}, "rope_scaling lacks factor"),
    ):
        with pytest.raises(CheckpointError, match=message):
            llama.config({**SMOL, "rope_scaling": rope})
    for changes, message in (({"num_key_value_heads": 2}, "n_kv_heads"), ({"head_dim": 5}, "pairs of dimensions")):
        with pytest.raises(CheckpointError, match=message):
            llama.config({**SMOL, **changes})
