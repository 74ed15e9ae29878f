"""The presets: the papers' numbers, and as many parameters as was published."""

from collections.abc import Callable

import pytest

import transformer_core as tc
from transformer_core.config import ModelConfig
from transformer_core.model.presets import PRESETS
from transformer_core.model.transformer import assemble

PUBLISHED = {"transformer_base", "transformer_big", "gpt2", "bert-base", "t5-small", "llama-like"}


def n_parameters(config: ModelConfig) -> int:
    """Count them on a model without memory; a shared matrix once."""
    return sum(parameter.numel() for parameter in assemble(config, device="meta").parameters())


@pytest.mark.parametrize("name, millions, within", [("transformer_base", 65, 0.03), ("transformer_big", 213, 0.01)])
def test_as_many_parameters_as_the_paper_says(name: str, millions: int, within: float):
    assert n_parameters(PRESETS[name](37000)) == pytest.approx(millions * 1e6, rel=within)


@pytest.mark.parametrize(
    "preset, published",
    [
        (tc.presets.gpt2, 124_439_808),  # gpt2, without its masks
        (tc.presets.bert_base, 109_514_298),  # bert-base-uncased with its masked-token head, without the pooler
        (tc.presets.t5_small, 60_506_624),  # t5-small
        (tc.presets.llama_like, 134_515_008),  # SmolLM-135M
    ],
)
def test_as_many_parameters_as_the_released_model_has(preset: Callable[[], ModelConfig], published: int):
    assert n_parameters(preset()) == published


def test_base_is_the_paper_s():
    """Table 3, first row; sec. 3.4 for the shared matrix, sec. 3.1 for post-norm, sec. 3.5 for positions."""
    config = tc.presets.transformer_base(37000)
    assert (config.n_encoder_layers, config.n_decoder_layers, config.d_model, config.d_ff) == (6, 6, 512, 2048)
    assert (config.n_heads, config.d_head, config.dropout, config.dropout_pattern) == (8, 64, 0.1, 0.0)
    assert (config.tie_embeddings, config.norm_position) == ("three_way", "post")
    assert config.positions == "sinusoidal_interleaved"


def test_big_is_the_paper_s():
    """Table 3, last row."""
    config = tc.presets.transformer_big(37000)
    assert (config.n_encoder_layers, config.n_decoder_layers, config.d_model, config.d_ff) == (6, 6, 1024, 4096)
    assert (config.n_heads, config.d_head, config.dropout) == (16, 64, 0.3)


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_a_corpus_s_vocabulary_may_be_small(name: str):
    """Special tokens are among the first, or the last, of whatever vocabulary."""
    eos_id = PRESETS[name](5).eos_id
    assert eos_id is not None and eos_id < 5
