"""MarianMT: its published configuration, stored positions, and what is refused by name."""

from collections.abc import Callable
from pathlib import Path

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


def test_the_released_configuration():
    config = MARIAN.config(RELEASED)
    assert (config.d_model, config.d_ff, config.n_heads, config.n_encoder_layers) == (512, 2048, 8, 6)
    assert (config.positions, config.activation, config.norm_position) == ("sinusoidal_halves", "silu", "post")
    assert (config.pad_id, config.bos_id, config.eos_id) == (58100, 58100, 0)
    assert (config.tie_embeddings, config.unembed_bias, config.scale_embeddings) == ("three_way", True, True)


def test_stored_positions_are_accepted_if_they_are_the_computed_ones(folder_of: Callable[[str], Path]):
    values, weights = foreign.read(folder_of("marian"))
    theirs = foreign.theirs("marian", folder_of("marian")).model.decoder.embed_positions.weight.detach()
    assert theirs.shape == (24, 36)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        convert(values, {**weights, STORED: theirs.to(dtype)}, where="marian")
    for table in (sinusoidal_table(24, 36, "interleaved"), sinusoidal_table(24, 34, "halves"), torch.zeros(24)):
        with pytest.raises(CheckpointError, match=f"'{STORED}' has unexpected values .sinusoidal positions"):
            convert(values, {**weights, STORED: table}, where="somewhere")


def test_what_is_not_computed_here_is_refused():
    switches = "share_encoder_decoder_embeddings", "tie_word_embeddings", "static_position_embeddings"
    foreign.refuses(MARIAN, RELEASED, *({name: False} for name in switches))
    foreign.refuses(MARIAN, RELEASED, {"normalize_embedding": True}, {"normalize_before": True})
    foreign.refuses(MARIAN, RELEASED, {"decoder_vocab_size": 60000}, {"decoder_ffn_dim": 1024})
    foreign.refuses(MARIAN, RELEASED, {"decoder_attention_heads": 4}, {"activation_function": "sigmoid"})
