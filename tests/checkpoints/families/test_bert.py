"""BERT: segments, older files, and what is refused by name."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import transformer_core as tc
from tests.checkpoints import foreign
from transformer_core.checkpoints.convert import convert
from transformer_core.checkpoints.families.bert import FAMILIES
from transformer_core.errors import CheckpointError

(BERT,) = FAMILIES
RELEASED = {  # as bert-base-uncased was published, and what the Chinese one has besides
    **{"architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1, "gradient_checkpointing": False},
    **{"hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02},
    **{"intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "bert"},
    **{"num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0, "position_embedding_type": "absolute"},
    **{"transformers_version": "4.6.0.dev0", "type_vocab_size": 2, "use_cache": True, "vocab_size": 30522},
    **{"directionality": "bidi", "pooler_fc_size": 768, "pooler_num_attention_heads": 12, "pooler_num_fc_layers": 3},
    **{"pooler_size_per_head": 128, "pooler_type": "first_token_transform"},
}


def test_the_released_configuration_is_that_of_the_preset():
    """But for [CLS] and [SEP], which only the tokenizer's files name."""
    preset = tc.presets.bert_base()
    assert replace(BERT.config(RELEASED), bos_id=preset.bos_id, eos_id=preset.eos_id) == preset


def test_segments_are_the_librarys(folder_of: Callable[[str], Path]):
    folder, (tokens,) = folder_of("bert"), foreign.batch("bert")
    segments = torch.randint(0, 3, tokens.shape, generator=torch.Generator().manual_seed(3))
    with torch.inference_mode():
        expected = foreign.theirs("bert", folder)(
            tokens, (tokens != foreign.PAD).long(), token_type_ids=segments
        ).logits
        logits = foreign.ours(folder)(tokens, segments=segments)
    real = foreign.is_real(tokens)
    torch.testing.assert_close(logits[real], expected[real], rtol=1e-5, atol=1e-5)


def test_older_files_call_a_norm_gamma_and_beta_and_hold_positions_and_other_heads(folder_of: Callable[[str], Path]):
    values, weights = foreign.read(folder_of("bert"))
    older = {
        key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): weight
        for key, weight in weights.items()
    }
    older |= {
        "bert.embeddings.position_ids": torch.arange(24)[None],
        "bert.pooler.dense.weight": torch.ones(36, 36),
        "bert.pooler.dense.bias": torch.ones(36),
        "cls.seq_relationship.weight": torch.ones(2, 36),
        "cls.seq_relationship.bias": torch.ones(2),
        "cls.predictions.decoder.weight": weights["bert.embeddings.word_embeddings.weight"],
    }
    assert len(older) > len(weights)
    tokens = foreign.batch("bert")
    expected = convert(values, weights, where="bert")(*tokens)
    assert torch.equal(convert(values, older, where="bert")(*tokens), expected)


def test_weights_that_contradict_are_refused(folder_of: Callable[[str], Path]):
    values, weights = foreign.read(folder_of("bert"))
    bias, ids = "cls.predictions.decoder.bias", "bert.embeddings.position_ids"
    both = {**weights, bias: weights["cls.predictions.bias"].clone()}
    assert convert(values, both, where="bert").config.unembed_bias
    half = {key: weight for key, weight in weights.items() if "predictions.transform" not in key}
    for given, message in (
        ({**both, bias: both[bias] + 1}, rf"'{bias}' must equal 'cls\.predictions"),
        (half, r"lacks the weight 'cls\.predictions\.transform\.dense\.weight'"),
        ({**weights, ids: torch.arange(24)[None] + 2}, f"'{ids}' has unexpected values"),
    ):
        with pytest.raises(CheckpointError, match=message):
            convert(values, given, where="somewhere")


def test_what_is_not_computed_here_is_refused():
    foreign.refuses(BERT, RELEASED, {"position_embedding_type": "relative_key"}, {"is_decoder": True})
    foreign.refuses(BERT, RELEASED, {"hidden_act": "tanh"}, {"embedding_size": 128})
