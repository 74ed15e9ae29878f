"""BERT: segments, older files, and what is refused by name."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import transformer_core as tc
from tests.checkpoints import foreign
from transformer_core.checkpoints.convert import convert
from transformer_core.checkpoints.families.bert import FAMILIES
from transformer_core.errors import CheckpointError, ConfigError

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


def test_positions_that_are_counted_otherwise_are_refused(folder_of: Callable[[str], Path]):
    values, weights = foreign.read(folder_of("bert"))
    key = "bert.embeddings.position_ids"
    with pytest.raises(CheckpointError, match=f"'{key}' has unexpected values \\(position indices"):
        convert(values, {**weights, key: torch.arange(24)[None] + 2}, where="somewhere")


def test_two_different_biases_of_the_last_layer_are_refused(folder_of: Callable[[str], Path]):
    values, weights = foreign.read(folder_of("bert"))
    bias = weights["cls.predictions.bias"]
    both = {**weights, "cls.predictions.decoder.bias": bias.clone()}
    assert convert(values, both, where="bert").config.unembed_bias
    with pytest.raises(CheckpointError, match=r"'cls\.predictions\.decoder\.bias' must equal 'cls\.predictions"):
        convert(values, {**both, "cls.predictions.decoder.bias": bias + 1}, where="somewhere")


def test_without_the_masked_token_head_it_gives_the_same_states_and_no_logits(folder_of: Callable[[str], Path]):
    values, weights = foreign.read(folder_of("bert"))
    bare = {key.removeprefix("bert."): weight for key, weight in weights.items() if key.startswith("bert.")}
    model = convert(values, bare, where="somewhere")
    whole, tokens = foreign.ours(folder_of("bert")), foreign.batch("bert")
    assert not model.config.unembed and whole.config.unembed
    assert torch.equal(model.final_states(*tokens), whole.final_states(*tokens))
    with pytest.raises(ConfigError, match="no language-modelling head, so it makes no predictions"):
        model(*tokens)


def test_half_a_head_is_refused(folder_of: Callable[[str], Path]):
    values, weights = foreign.read(folder_of("bert"))
    half = {key: weight for key, weight in weights.items() if "predictions.transform" not in key}
    with pytest.raises(CheckpointError, match=r"lacks the weight 'cls\.predictions\.transform\.dense\.weight'"):
        convert(values, half, where="somewhere")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"position_embedding_type": "relative_key"}, "position_embedding_type = 'relative_key' is not supported"),
        ({"is_decoder": True}, "is_decoder = True is not supported"),
        ({"hidden_act": "tanh"}, "hidden_act = 'tanh' is not supported"),
        ({"hidden_size": 770}, r"d_model \(770\) must be divisible by n_heads \(12\)"),
        ({"embedding_size": 128}, "embedding_size = 128 is not supported; it may change the model's output"),
    ],
)
def test_what_is_not_computed_here_is_refused(changes: Mapping[str, Any], message: str):
    with pytest.raises(CheckpointError, match=message):
        BERT.config({**RELEASED, **changes})
