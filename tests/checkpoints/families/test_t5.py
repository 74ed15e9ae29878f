"""T5: its forms, when the last layer is tied and scaled, and what is refused by name."""

from collections.abc import Callable
from pathlib import Path

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


def test_the_released_configurations():
    assert T5.config(RELEASED) == tc.presets.t5_small()
    flan = T5.config(FLAN)
    assert (flan.gated, flan.activation, flan.scale_logits) == (True, "gelu_tanh", False)
    assert (flan.n_heads, flan.d_head, flan.n_decoder_layers) == (6, 64, 8)


def test_forms_of_the_feed_forward_network():
    """The library's own class also writes them apart, as two options."""
    forms = {"relu": (False, "relu"), "gelu": (False, "gelu"), "gated-gelu": (True, "gelu_tanh")}
    for form, expected in (forms | {"gated-silu": (True, "silu"), "gated-relu": (True, "relu")}).items():
        theirs = foreign.library().T5Config(feed_forward_proj=form).to_dict()
        for values in ({"feed_forward_proj": form}, {**theirs, "feed_forward_proj": None}):
            config = T5.config({**RELEASED, **values})
            assert (config.gated, config.activation) == expected, form


def test_a_head_of_its_own_counts_whatever_config_json_says(folder_of: Callable[[str], Path]):
    """The library writes tie_word_embeddings = true when it saves such a model again."""
    values, weights = foreign.read(folder_of("t5-v1.1"))
    assert values["tie_word_embeddings"] is True
    assert convert(values, weights, where="t5").config.tie_embeddings == "none"
    without = {key: weight for key, weight in weights.items() if key != "lm_head.weight"}
    assert convert(values, without, where="t5").config.tie_embeddings == "three_way"


def test_a_left_over_bias_changes_nothing_and_an_encoder_alone_is_refused(folder_of: Callable[[str], Path]):
    values, weights = foreign.read(folder_of("t5"))
    left_over = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    tokens = foreign.batch("t5")
    expected = convert(values, weights, where="t5")(*tokens)
    assert torch.equal(convert(values, {**weights, left_over: torch.ones(8, 3)}, where="t5")(*tokens), expected)
    encoder = {key: weight for key, weight in weights.items() if not key.startswith("decoder")}
    with pytest.raises(CheckpointError, match=r"\(saved as T5EncoderModel\) lacks the weight 'decoder\."):
        convert({**values, "architectures": ["T5EncoderModel"]}, encoder, where="somewhere")


def test_what_is_not_computed_here_is_refused():
    foreign.refuses(T5, RELEASED, {"feed_forward_proj": "gated-mish"}, {"dense_act_fn": "tanh"})
    foreign.refuses(T5, RELEASED, {"is_decoder": True}, {"is_encoder_decoder": False}, {"scalable_attention": True})
