"""The model's configuration: what it refuses, with which words, and that it survives a file."""

import json
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from typing import Any

import jaxtyping
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.config import ModelConfig
from transformer_core.errors import ConfigError

SIZES = ("vocab_size", "d_model", "d_ff", "n_heads", "n_encoder_layers", "n_decoder_layers", "max_seq_len")
PROBABILITIES = ("dropout", "dropout_pattern")
TOKENS = ("pad_id", "bos_id", "eos_id")
CHOICES = {
    "positions": ("sinusoidal_interleaved", "sinusoidal_halves", "learned"),
    "norm_position": ("post", "pre"),
    "tie_embeddings": ("three_way", "target", "none"),
}


@pytest.fixture(autouse=True)
def without_type_checks() -> Iterator[None]:
    """A file's values have no types yet: the words must be ours, as outside of the tests, not the checker's."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def refusal(**values: Any) -> str:
    """The message with which a configuration is refused."""
    with pytest.raises(ConfigError) as error:
        ModelConfig(**({"vocab_size": 100} | values))
    return str(error.value)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("value", [0, -3, 8.0, "8", True, None])
def test_a_size_is_a_whole_number_of_at_least_1(name: str, value: object):
    message = refusal(**{name: value})
    assert name in message and repr(value) in message and "whole number of at least 1" in message


@pytest.mark.parametrize(
    "d_model, n_heads, way_out", [(512, 7, 8), (512, 9, 8), (48, 5, 4), (7, 3, 1), (6, 100, 6), (10, 4, 5)]
)
def test_heads_divide_the_width(d_model: int, n_heads: int, way_out: int):
    message = refusal(d_model=d_model, n_heads=n_heads, positions="learned")
    assert f"d_model ({d_model}) must be divisible by n_heads ({n_heads})" in message
    assert f"use {way_out} heads" in message
    assert ModelConfig(vocab_size=100, d_model=d_model, n_heads=way_out, positions="learned").n_heads == way_out


@pytest.mark.parametrize("positions", ["sinusoidal_interleaved", "sinusoidal_halves"])
def test_sines_and_cosines_come_in_pairs(positions: str):
    message = refusal(d_model=9, n_heads=3, positions=positions)
    assert "d_model (9) must be even" in message
    assert ModelConfig(vocab_size=100, d_model=9, n_heads=3, positions="learned").d_head == 3


@pytest.mark.parametrize("name", PROBABILITIES)
@pytest.mark.parametrize("value", [-0.1, 1.0, 1, 1.5, float("nan"), float("inf"), "0.1", None, True])
def test_a_probability_is_below_1(name: str, value: object):
    message = refusal(**{name: value})
    assert name in message and "[0, 1)" in message and repr(value) in message


@pytest.mark.parametrize("value", [0, 0.0, -1e-5, float("nan"), float("inf"), "1e-5", None])
def test_layer_norm_eps_is_above_0(value: object):
    message = refusal(layer_norm_eps=value)
    assert "layer_norm_eps" in message and "above 0" in message and repr(value) in message


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("value", ["rotary", "", "POST", "sinusoidal", None, 3, ["pre"]])
def test_a_choice_is_one_of_the_known(name: str, value: object):
    """Whatever else is wrong: `d_model` is odd here, and a misspelt position encoding is not called sinusoidal."""
    message = refusal(**{"d_model": 9, "n_heads": 3, "positions": "learned"} | {name: value})
    assert name in message and repr(value) in message
    assert all(choice in message for choice in CHOICES[name])


@pytest.mark.parametrize("name", CHOICES)
def test_each_choice_is_taken(name: str):
    for value in CHOICES[name]:
        values: dict[str, Any] = {name: value}
        assert getattr(ModelConfig(vocab_size=100, **values), name) == value


@pytest.mark.parametrize("value", ["no", 0, None])
def test_attention_bias_is_true_or_false(value: object):
    message = refusal(attention_bias=value)
    assert "attention_bias" in message and repr(value) in message


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize("value", [-1, 100, 1.5, "1", True])
def test_a_special_token_is_in_the_vocabulary(name: str, value: object):
    message = refusal(**{name: value})
    assert f"{name} ({value!r})" in message and "0 to 99" in message


def test_only_padding_may_be_missing():
    assert ModelConfig(vocab_size=100, pad_id=None).pad_id is None
    assert "bos_id" in refusal(bos_id=None) and "eos_id" in refusal(eos_id=None)


def test_a_vocabulary_too_small_for_the_special_tokens():
    assert "eos_id (2) must be a token of the vocabulary, 0 to 1" in refusal(vocab_size=2)


def test_it_is_frozen_and_keyword_only():
    config = ModelConfig(vocab_size=100)
    with pytest.raises(FrozenInstanceError):
        config.d_model = 64
    with pytest.raises(TypeError):
        ModelConfig(100)


def test_configurations_are_values():
    assert ModelConfig(vocab_size=100) == ModelConfig(vocab_size=100) != ModelConfig(vocab_size=101)
    assert len({ModelConfig(vocab_size=100), ModelConfig(vocab_size=100)}) == 1


def test_d_head_is_the_width_of_one_head():
    assert ModelConfig(vocab_size=100).d_head == 64
    assert ModelConfig(vocab_size=100, d_model=48, n_heads=3).d_head == 16


@given(
    st.fixed_dictionaries(
        {"vocab_size": st.integers(3, 10**6)},
        optional={
            "d_ff": st.integers(1, 10**5),
            "n_decoder_layers": st.integers(1, 99),
            "dropout": st.floats(0, 1, exclude_max=True),
            "layer_norm_eps": st.floats(1e-12, 1e-1),
            "attention_bias": st.booleans(),
            "pad_id": st.sampled_from([None, 0, 2]),
            **{name: st.sampled_from(choices) for name, choices in CHOICES.items()},
        },
    )
)
def test_it_survives_a_file(values: dict[str, Any]):
    config = ModelConfig(**values)
    read = ModelConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    assert read == config and type(read.dropout) is type(config.dropout)


def test_a_file_may_leave_out_what_has_a_default():
    assert ModelConfig.from_dict({"vocab_size": 100}) == ModelConfig(vocab_size=100)


@pytest.mark.parametrize("key, nearest", [("dmodel", "d_model"), ("n_head", "n_heads"), ("drop_out", "dropout")])
def test_an_unknown_key_names_the_nearest_field(key: str, nearest: str):
    with pytest.raises(ConfigError, match=f"no field '{key}'; did you mean {nearest}"):
        ModelConfig.from_dict({"vocab_size": 100, key: 1})


def test_a_key_like_no_other_gets_the_whole_list():
    with pytest.raises(ConfigError, match=r"no field 'xyzzy'; known are vocab_size, d_model, .*, eos_id$"):
        ModelConfig.from_dict({"vocab_size": 100, "xyzzy": 1})


def test_a_file_without_a_vocabulary():
    with pytest.raises(ConfigError, match="lacks vocab_size, the number of tokens"):
        ModelConfig.from_dict({"d_model": 64})


def test_a_file_with_a_wrong_value():
    with pytest.raises(ConfigError, match="d_ff"):
        ModelConfig.from_dict({"vocab_size": 100, "d_ff": "wide"})
