"""GPT-2: its published configuration, older files, and what is refused by name."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import transformer_core as tc
from tests.checkpoints import foreign
from transformer_core.checkpoints.convert import convert
from transformer_core.checkpoints.families.gpt2 import FAMILIES
from transformer_core.errors import CheckpointError

(GPT2,) = FAMILIES
RELEASED = {  # as the smallest model was published
    **{"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1},
    **{"bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02},
    **{"layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12},
    **{"n_positions": 1024, "resid_pdrop": 0.1, "summary_activation": None, "summary_first_dropout": 0.1},
    **{"summary_proj_to_labels": True, "summary_type": "cls_index", "summary_use_proj": True, "vocab_size": 50257},
    "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
}


def test_the_released_configuration():
    assert GPT2.config(RELEASED) == tc.presets.gpt2()
    assert GPT2.config({**RELEASED, "n_embd": 24, "n_inner": None}).d_ff == 96  # four times the width
    assert GPT2.config({**RELEASED, "n_inner": 100}).d_ff == 100


def test_the_released_files_have_no_prefix_and_hold_the_mask(folder_of: Callable[[str], Path]):
    values, weights = foreign.read(folder_of("gpt2"))
    bare = {key.removeprefix("transformer."): weight for key, weight in weights.items()}
    masks = {f"h.{i}.attn.bias": torch.ones(1, 1, 24, 24).tril() for i in range(3)}
    masks |= {f"h.{i}.attn.masked_bias": torch.tensor(-1e4) for i in range(3)}
    tokens = foreign.batch("gpt2")
    expected = convert(values, weights, where="gpt2")(*tokens)
    assert torch.equal(convert(values, {**bare, **masks}, where="gpt2")(*tokens), expected)


def test_what_is_not_computed_here_is_refused():
    unknown = {"scale_attn_by_inverse_layer_idx": True}, {"add_cross_attention": True}, {"activation_function": "mish"}
    foreign.refuses(GPT2, RELEASED, *unknown, {"n_embd": "768"}, {"n_layer": None})
    for changes, message in (({"n_head": 5}, "must be divisible by n_heads"), ({"bos_token_id": 50257}, "bos_id")):
        with pytest.raises(CheckpointError, match=message):
            GPT2.config({**RELEASED, **changes})
