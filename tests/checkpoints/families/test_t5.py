"""T5: its forms, when the last layer is tied and scaled, and what is refused by name."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

import transformer_core as tc
from tests.checkpoints import foreign
from transformer_core.checkpoints.convert import convert
from transformer_core.checkpoints.families.t5 import FAMILIES
from transformer_core.errors import CheckpointError

(T5,) = FAMILIES
RELEASED = {  # as t5-small was published
    **{"architectures": ["T5ForConditionalGeneration"], "d_ff": 2048, "d_kv": 64, "d_model": 512},
    **{"decoder_start_token_id": 0, "dropout_rate": 0.1, "eos_token_id": 1, "initializer_factor": 1.0},
    **{"is_encoder_decoder": True, "layer_norm_epsilon": 1e-06, "model_type": "t5", "n_positions": 512},
    **{"num_heads": 8, "num_layers": 6, "output_past": True, "pad_token_id": 0},
    **{"relative_attention_num_buckets": 32, "vocab_size": 32128},
    "task_specific_params": {"summarization": {"max_length": 200, "prefix": "summarize: "}},
}
FLAN = {  # as flan-t5-small was published
    **RELEASED,
    **{"d_ff": 1024, "dense_act_fn": "gelu_new", "feed_forward_proj": "gated-gelu", "is_gated_act": True},
    **{"num_decoder_layers": 8, "num_heads": 6, "num_layers": 8, "relative_attention_max_distance": 128},
    "tie_word_embeddings": False,
}


def test_the_released_configuration_is_that_of_the_preset():
    preset, config = tc.presets.t5_small(), T5.config(RELEASED)
    assert config == preset


def test_v1_1_is_gated_and_unscaled_and_its_heads_are_wider_than_the_model():
    config = T5.config(FLAN)
    assert (config.gated, config.activation, config.scale_logits) == (True, "gelu_tanh", False)
    assert (config.n_heads, config.d_head, config.n_decoder_layers) == (6, 64, 8)


@pytest.mark.parametrize(
    ("form", "is_gated", "activation"),
    [
        ("relu", False, "relu"),
        ("gelu", False, "gelu"),
        ("gated-gelu", True, "gelu_tanh"),
        ("gated-silu", True, "silu"),
        ("gated-relu", True, "relu"),
    ],
)
def test_forms_of_the_feed_forward_network(form: str, is_gated: bool, activation: str):
    """Those of the library's own class, which also writes them apart."""
    theirs = foreign.library().T5Config(feed_forward_proj=form)
    assert (theirs.is_gated_act, foreign.library().activations.ACT2FN[theirs.dense_act_fn]) is not None
    for values in ({"feed_forward_proj": form}, {**theirs.to_dict(), "feed_forward_proj": None}):
        config = T5.config({**RELEASED, **values})
        assert (config.gated, config.activation) == (is_gated, activation)


def test_a_head_of_its_own_counts_whatever_config_json_says(folder_of: Callable[[str], Path]):
    """The library writes tie_word_embeddings = true when it saves such a model again."""
    values, weights = foreign.read(folder_of("t5-v1.1"))
    assert values["tie_word_embeddings"] is True
    assert convert(values, weights, where="t5").config.tie_embeddings == "none"
    without = {key: weight for key, weight in weights.items() if key != "lm_head.weight"}
    assert convert(values, without, where="t5").config.tie_embeddings == "three_way"


def test_what_the_first_files_hold_besides_changes_nothing(folder_of: Callable[[str], Path]):
    values, weights = foreign.read(folder_of("t5"))
    left_over = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    tokens = foreign.batch("t5")
    expected = convert(values, weights, where="t5")(*tokens)
    assert torch.equal(convert(values, {**weights, left_over: torch.ones(8, 3)}, where="t5")(*tokens), expected)


def test_an_encoder_alone_is_refused_with_what_it_was_saved_as(folder_of: Callable[[str], Path]):
    values, weights = foreign.read(folder_of("t5"))
    encoder = {key: weight for key, weight in weights.items() if not key.startswith("decoder")}
    with pytest.raises(CheckpointError, match=r"\(saved as T5EncoderModel\) lacks the weight 'decoder\."):
        convert({**values, "architectures": ["T5EncoderModel"]}, encoder, where="somewhere")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"feed_forward_proj": "gated-mish"},
            "feed_forward_proj = 'gated-mish' is not supported; supported are relu",
        ),
        ({"dense_act_fn": "tanh"}, "dense_act_fn = 'tanh' is not supported"),
        ({"is_decoder": True}, "is_decoder = True is not supported"),
        ({"is_encoder_decoder": False}, "is_encoder_decoder = False is not supported"),
        ({"scalable_attention": True}, "scalable_attention = True is not supported; it may change"),
    ],
)
def test_what_is_not_computed_here_is_refused(changes: Mapping[str, Any], message: str):
    with pytest.raises(CheckpointError, match=message):
        T5.config({**RELEASED, **changes})
