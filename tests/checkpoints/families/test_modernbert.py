"""The configurations of ModernBERT: as they stand on the Hub, as the library writes them, and what is refused."""

from typing import Any

from tests.checkpoints import foreign
from transformer_core.checkpoints.families import FAMILIES

BASE: dict[str, Any] = {  # answerdotai/ModernBERT-base, as published in December 2024
    **{"model_type": "modernbert", "architectures": ["ModernBertForMaskedLM"], "vocab_size": 50368},
    **{"hidden_size": 768, "intermediate_size": 1152, "num_hidden_layers": 22, "num_attention_heads": 12},
    **{"attention_bias": False, "attention_dropout": 0.0, "mlp_bias": False, "mlp_dropout": 0.0, "norm_bias": False},
    **{"classifier_activation": "gelu", "classifier_bias": False, "classifier_dropout": 0.0},
    **{"classifier_pooling": "mean", "decoder_bias": True, "deterministic_flash_attn": False},
    **{"embedding_dropout": 0.0, "hidden_activation": "gelu", "initializer_cutoff_factor": 2.0},
    **{"global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0},
    **{"local_attention": 128, "max_position_embeddings": 8192, "layer_norm_eps": 1e-5, "norm_eps": 1e-5},
    **{"position_embedding_type": "absolute", "tie_word_embeddings": True, "pad_token_id": 50283},
    **{"bos_token_id": 50281, "cls_token_id": 50281, "eos_token_id": 50282, "sep_token_id": 50282},
}


def test_the_published_model():
    """Warner et al. 2024, table 4: every third layer sees everything, the others 128 tokens around."""
    config = FAMILIES["modernbert"].config(BASE)
    assert (config.n_encoder_layers, config.d_model, config.n_heads, config.max_seq_len) == (22, 768, 12, 8192)
    at = [config.at_layer(i) for i in range(22)]
    assert [i for i, one in enumerate(at) if one.sliding_window is None] == [0, 3, 6, 9, 12, 15, 18, 21]
    assert {one.sliding_window for one in at} == {None, 65}  # itself, and 64 on either side
    assert [one.rotary_base for one in at[:3]] == [160_000, 10_000, 10_000]


def test_as_the_library_writes_it():
    written = foreign.library().ModernBertConfig(**BASE).to_dict()
    assert "layer_types" in written and "rope_parameters" in written
    assert FAMILIES["modernbert"].config(written) == FAMILIES["modernbert"].config(BASE)


def test_what_is_not_computed_here_is_refused():
    family = FAMILIES["modernbert"]
    foreign.refuses(family, BASE, {"layer_types": ["sliding_attention", "full_attention"] * 11})
    foreign.refuses(family, BASE, {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}})
    foreign.refuses(family, BASE, {"classifier_activation": "relu"}, {"classifier_bias": True})
