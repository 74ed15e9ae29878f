"""The presets: the papers' numbers, and as many parameters as was published, and as a formula says exactly."""

from collections.abc import Callable

import pytest

import transformer_core as tc
from tests.model.building import odd_config
from transformer_core.config import ModelConfig
from transformer_core.model.presets import PRESETS
from transformer_core.model.transformer import assemble

ONE_STACK = {"tiny-decoder", "tiny-encoder", "tiny-attention"}
TINY = ONE_STACK | {"tiny", "tiny-pre-norm", "tiny-one-layer", "translation"}
PUBLISHED = {"transformer_base", "transformer_big", "gpt2", "bert-base", "t5-small", "llama-like"}


def n_parameters(config: ModelConfig) -> int:
    """Count them on a model without memory; a shared matrix once."""
    return sum(parameter.numel() for parameter in assemble(config, device="meta").parameters())


def n_parameters_by_formula(config: ModelConfig) -> int:
    """Vaswani et al. 2017, sec. 3, matrix by matrix."""
    d_model, d_ff = config.d_model, config.d_ff
    attention = 4 * (d_model * d_model + (d_model if config.attention_bias == "all" else 0))
    feed_forward = (1 + config.gated) * (d_model * d_ff + d_ff) + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder_block = attention + feed_forward + 2 * norm
    decoder_block = 2 * attention + feed_forward + 3 * norm
    n_matrices = {"three_way": 1, "target": 2, "none": 3}[config.tie_embeddings]
    learned = 2 * config.max_seq_len * d_model if config.positions == "learned" else 0
    last_norms = 2 * norm if config.norm_position == "pre" else 0
    return (
        n_matrices * config.vocab_size * d_model
        + learned
        + config.n_encoder_layers * encoder_block
        + config.n_decoder_layers * decoder_block
        + last_norms
    )


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


@pytest.mark.parametrize(
    "config",
    [
        tc.presets.transformer_base(),
        tc.presets.transformer_big(),
        tc.presets.tiny(301),
        tc.presets.tiny_pre_norm(301),
        tc.presets.tiny_one_layer(301),
        tc.presets.translation(301),
        odd_config(tie_embeddings="target", attention_bias="none"),
        odd_config(tie_embeddings="none", positions="learned"),
        odd_config(norm_position="pre", n_encoder_layers=3, n_decoder_layers=1),
    ],
    ids=["base", "big", "tiny", "tiny-pre-norm", "tiny-one-layer", "translation", "target", "none", "pre"],
)
def test_as_many_parameters_as_the_formula_says(config: ModelConfig):
    assert n_parameters(config) == n_parameters_by_formula(config)


@pytest.mark.parametrize("name", sorted(ONE_STACK))
def test_the_tiny_ones_of_one_stack(name: str):
    """Matrix by matrix; without a feed-forward network a layer is one attention and one norm."""
    config = PRESETS[name](301)
    d_model, d_ff = config.d_model, config.d_ff
    attention, norm = 4 * (d_model * d_model + d_model), 2 * d_model
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model + norm if d_ff else 0
    n_layers = config.n_encoder_layers + config.n_decoder_layers
    n_matrices = 1 if config.tie_embeddings == "target" else 2
    learned = config.max_seq_len * d_model if config.positions == "learned" else 0
    expected = n_matrices * 301 * d_model + learned + n_layers * (attention + norm + feed_forward) + norm
    assert n_parameters(config) == expected


@pytest.mark.parametrize("name", sorted(TINY))
def test_a_built_model_has_as_many(name: str):
    model = tc.build(PRESETS[name](301))
    assert sum(p.numel() for p in model.parameters()) == n_parameters(model.config)


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
    assert PRESETS[name](5).eos_id < 5
