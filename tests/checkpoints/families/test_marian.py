"""MarianMT: stored positions, and what is refused by name."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.checkpoints import foreign
from transformer_core.checkpoints.convert import convert
from transformer_core.checkpoints.families.marian import FAMILIES
from transformer_core.errors import CheckpointError
from transformer_core.model.positions import sinusoidal_table

(MARIAN,) = FAMILIES
STORED = "model.decoder.embed_positions.weight"
RELEASED = {  # as opus-mt-en-de was published
    **{"_num_labels": 3, "activation_dropout": 0.0, "activation_function": "swish", "add_bias_logits": False},
    **{"add_final_layer_norm": False, "architectures": ["MarianMTModel"], "attention_dropout": 0.0},
    **{"bad_words_ids": [[58100]], "bos_token_id": 0, "classif_dropout": 0.0, "classifier_dropout": 0.0},
    **{"d_model": 512, "decoder_attention_heads": 8, "decoder_ffn_dim": 2048, "decoder_layerdrop": 0.0},
    **{"decoder_layers": 6, "decoder_start_token_id": 58100, "decoder_vocab_size": 58101, "dropout": 0.1},
    **{"encoder_attention_heads": 8, "encoder_ffn_dim": 2048, "encoder_layerdrop": 0.0, "encoder_layers": 6},
    **{"eos_token_id": 0, "extra_pos_embeddings": 58101, "force_bos_token_to_be_generated": False},
    **{"forced_eos_token_id": 0, "init_std": 0.02, "is_encoder_decoder": True, "max_length": 512},
    **{"max_position_embeddings": 512, "model_type": "marian", "normalize_before": False},
    **{"normalize_embedding": False, "num_beams": 4, "num_hidden_layers": 6, "pad_token_id": 58100},
    **{"scale_embedding": True, "share_encoder_decoder_embeddings": True, "static_position_embeddings": True},
    **{"transformers_version": "4.22.0.dev0", "use_cache": True, "vocab_size": 58101},
}


def test_the_released_configuration_is_the_papers_base_model_but_for_what_it_says_otherwise():
    config = MARIAN.config(RELEASED)
    assert (config.d_model, config.d_ff, config.n_heads, config.n_encoder_layers) == (512, 2048, 8, 6)
    assert (config.positions, config.activation, config.norm_position) == ("sinusoidal_halves", "silu", "post")
    assert (config.pad_id, config.bos_id, config.eos_id) == (58100, 58100, 0)
    assert config.tie_embeddings == "three_way"
    assert config.unembed_bias and config.scale_embeddings


def test_the_last_bias_counts(folder_of: Callable[[str], Path]):
    values, weights = foreign.read(folder_of("marian"))
    tokens = foreign.batch("marian")
    moved = {**weights, "final_logits_bias": weights["final_logits_bias"] + 3}
    difference = convert(values, moved, where="marian")(*tokens) - convert(values, weights, where="marian")(*tokens)
    torch.testing.assert_close(difference, torch.full_like(difference, 3.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_stored_positions_are_accepted_if_they_are_the_computed_ones(
    dtype: torch.dtype, folder_of: Callable[[str], Path]
):
    values, weights = foreign.read(folder_of("marian"))
    theirs = foreign.theirs("marian", folder_of("marian")).model.decoder.embed_positions.weight.detach()
    assert theirs.shape == (24, 36)
    convert(values, {**weights, STORED: theirs.to(dtype)}, where="marian")


@pytest.mark.parametrize(
    "table", [sinusoidal_table(24, 36, "interleaved"), sinusoidal_table(24, 34, "halves"), torch.zeros(24)]
)
def test_other_stored_positions_are_refused(table: torch.Tensor, folder_of: Callable[[str], Path]):
    values, weights = foreign.read(folder_of("marian"))
    with pytest.raises(CheckpointError, match=f"'{STORED}' has unexpected values .sinusoidal positions"):
        convert(values, {**weights, STORED: table}, where="somewhere")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings = False is not supported"),
        ({"decoder_vocab_size": 60000}, "decoder_vocab_size = 60000 .* one vocabulary; vocab_size = 58101"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings = False is not supported"),
        ({"normalize_embedding": True}, "normalize_embedding = True is not supported"),
        ({"normalize_before": True}, "normalize_before = True is not supported"),
        ({"static_position_embeddings": False}, "static_position_embeddings = False is not supported"),
        ({"decoder_ffn_dim": 1024}, "decoder_ffn_dim = 1024 is not supported; .* encoder_ffn_dim = 2048"),
        ({"decoder_attention_heads": 4}, "decoder_attention_heads = 4 is not supported"),
        ({"activation_function": "sigmoid"}, "activation_function = 'sigmoid' is not supported"),
    ],
)
def test_what_is_not_computed_here_is_refused(changes: Mapping[str, Any], message: str):
    with pytest.raises(CheckpointError, match=message):
        MARIAN.config({**RELEASED, **changes})
