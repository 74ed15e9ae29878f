"""The model's configuration: what it refuses, with which words and which way out, and that it survives a file."""

import json
import math
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import transformer_core as tc
from transformer_core.config import ModelConfig
from transformer_core.errors import ConfigError

SIZES = ("vocab_size", "d_model", "n_heads", "max_seq_len", "rotary_original_len", "relative_max_distance")
SIZES_OR_NONE = ("sliding_window",)
ABOVE_0_OR_NONE = ("logit_cap", "score_cap")
COUNTS = (
    "d_embed",
    "d_ff",
    "n_encoder_layers",
    "n_decoder_layers",
    "n_segments",
    "src_vocab_size",
    "d_head",
    "n_kv_heads",
)
PROBABILITIES = ("dropout", "dropout_pattern")
ABOVE_0 = (
    *("rotary_base", "rotary_fraction", "rotary_scaling_factor", "rotary_low_freq_factor", "rotary_high_freq_factor"),
    *("layer_norm_eps", "rotary_base_in_window", "alibi_scale"),
)
LAYERS = ("layers_without_window", "layers_without_rotation")
TOKENS = ("pad_id", "bos_id", "eos_id")
CHOICES = {
    "architecture": ("encoder_decoder", "decoder_only", "encoder_only"),
    "positions": (
        *("sinusoidal_interleaved", "sinusoidal_halves", "learned"),
        *("rotary_halves", "rotary_interleaved", "alibi", "relative_buckets", "none"),
    ),
    "rotary_scaling": ("none", "linear", "llama3", "yarn", "longrope"),
    "norm": ("layer", "layer_without_bias", "rms", "none"),
    "norm_position": ("post", "pre"),
    "activation": ("relu", "gelu", "gelu_tanh", "silu", "squared_relu"),
    "attention_bias": ("all", "qkv", "none"),
    "qk_norm_scope": ("shared", "per_head", "joint"),
    "tie_embeddings": ("three_way", "target", "none"),
}
SWITCHES = (
    *("embedding_norm", "gated", "feed_forward_bias", "qk_norm", "scale_scores", "scale_embeddings"),
    *("unembed", "unembed_transform", "unembed_bias", "scale_logits", "final_norm", "parallel_residual", "first_norm"),
    *("last_norm", "input_norm", "output_norm", "relative_bias", "alibi_rounding"),
)

DECODER = {"architecture": "decoder_only", "n_encoder_layers": 0, "tie_embeddings": "target"}
ENCODER = {"architecture": "encoder_only", "n_decoder_layers": 0, "tie_embeddings": "target"}
WITHOUT_OUTPUT = {"tie_embeddings": "none", "unembed": False}
ROTARY = {"positions": "rotary_halves"}
LINEAR = ROTARY | {"rotary_scaling": "linear"}
LLAMA3 = ROTARY | {"rotary_scaling": "llama3"}
LONGROPE = ROTARY | {"rotary_scaling": "longrope", "d_head": 4, "rotary_pair_factors": (1.0, 2.5)}
BUCKETS = {"positions": "relative_buckets"}
NEEDS: dict[str, dict[str, Any]] = {  # what a choice needs beside itself
    "decoder_only": DECODER,
    "encoder_only": ENCODER,
    "linear": LINEAR,
    "llama3": LLAMA3,
    "yarn": ROTARY | {"rotary_scaling": "yarn", "rotary_base": 500.0},
    "longrope": LONGROPE,
    "alibi_rounding": DECODER | {"n_decoder_layers": 6, "positions": "alibi"},
    "unembed": {"tie_embeddings": "none"},
    "parallel_residual": {"norm_position": "pre"},
    "first_norm": {"norm_position": "pre"},
    "last_norm": {"norm_position": "pre"},
    "output_norm": {"norm_position": "pre"},
    "input_norm": {"norm_position": "pre", "output_norm": True},
    "shared": {"qk_norm": True},
    "per_head": {"qk_norm": True},
    "joint": {"qk_norm": True, "norm": "rms"},
    "none": {"norm_position": "pre"},  # of norm
}


pytestmark = pytest.mark.usefixtures("without_type_checks")


def config(**values: Any) -> ModelConfig:
    return ModelConfig(**({"vocab_size": 100} | values))


def refusal(**values: Any) -> str:
    """The message with which a configuration is refused."""
    with pytest.raises(ConfigError) as error:
        config(**values)
    return str(error.value)


def test_every_field_is_of_a_kind():
    """So each has its rows in the tests that follow."""
    others = ("n_relative_buckets", "more_eos_ids", "rotary_pair_factors", *LAYERS)
    kinds = (SIZES, SIZES_OR_NONE, COUNTS, others, PROBABILITIES, ABOVE_0, ABOVE_0_OR_NONE, TOKENS, CHOICES, SWITCHES)
    names = [name for kind in kinds for name in kind]
    assert sorted(names) == sorted(field.name for field in fields(ModelConfig))


WRONG: dict[str, tuple[tuple[str, ...], tuple[object, ...]]] = {  # fields of a kind, and what each of them refuses
    "sizes": ((*SIZES, *SIZES_OR_NONE), (0, -3, 8.0, "8", True)),
    "sizes that may not be left open": (SIZES, (None,)),
    "counts": (COUNTS, (-1, 8.0, "8", True, None)),
    "buckets": (("n_relative_buckets",), (3, 8.0, None)),
    "probabilities": (PROBABILITIES, (-0.1, 1.0, 1, math.nan, math.inf, "0.1", None, True)),
    "divisors": ((*ABOVE_0, *ABOVE_0_OR_NONE), (0, 0.0, -1e-5, math.nan, math.inf, 10**400, "1e-5", True)),
    "divisors that may not be left open": (ABOVE_0, (None,)),
    "choices": (tuple(CHOICES), ("rotary", "", "POST", None, 3, ["pre"], True, 0)),
    "switches": (SWITCHES, ("no", 0, 1, None)),
    "tokens": (TOKENS, (-1, 100, 1.5, "1", True)),
    "what an encoder-decoder begins with": (("bos_id",), (None,)),
    "lists of layers": (LAYERS, ((6,), (-1,), (1, 1), (2, 1), (1.0,), (True,), [1], 7, "1", None)),
    "several tokens": (("more_eos_ids",), ((100,), (-1,), ("1",), (1, 1.5), [1], 7, "1", None)),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_value_is_refused_with_its_name_and_the_value(kind: str):
    """Whatever else is wrong: `d_model` is odd here, and a misspelt position encoding is not called sinusoidal."""
    names, values = WRONG[kind]
    for name in names:
        for value in values:
            message = refusal(**{"d_model": 9, "n_heads": 3, "positions": "learned"} | {name: value})
            assert message.startswith(f"{name} ") and repr(value) in message
            assert name not in CHOICES or ", ".join(CHOICES[name]) in message


def test_each_choice_is_taken():
    for name, choices in CHOICES.items():
        for value in choices:
            assert getattr(config(**NEEDS.get(value, {}) | {name: value}), name) == value
    for name in SWITCHES:
        for switch in (True, False):
            assert getattr(config(**ENCODER | NEEDS.get(name, {}) | {name: switch}), name) is switch
    for name in (*SIZES_OR_NONE, *ABOVE_0_OR_NONE, "pad_id", "eos_id"):
        assert getattr(config(**{name: None}), name) is None


@pytest.mark.parametrize("d_model, n_heads, way_out", [(512, 7, 8), (512, 9, 8), (48, 5, 4), (7, 3, 1), (6, 100, 6)])
def test_heads_divide_the_width(d_model: int, n_heads: int, way_out: int):
    message = refusal(d_model=d_model, n_heads=n_heads, positions="learned")
    assert message.startswith(f"d_model ({d_model}) ") and f"use {way_out} heads" in message
    assert config(d_model=d_model, n_heads=way_out, positions="learned").d_head == d_model // way_out
    assert config(d_model=d_model, n_heads=n_heads, d_head=5, positions="learned").d_head == 5


@pytest.mark.parametrize("n_heads, n_kv_heads, way_out", [(8, 3, 2), (8, 16, 8), (9, 4, 3), (6, 5, 6)])
def test_heads_of_keys_and_values_serve_as_many_queries_each(n_heads: int, n_kv_heads: int, way_out: int):
    message = refusal(n_heads=n_heads, n_kv_heads=n_kv_heads, d_head=64)
    assert message.startswith(f"n_heads ({n_heads}) ") and message.endswith(f"use {way_out}")
    assert config(n_heads=n_heads, n_kv_heads=way_out, d_head=64).n_kv_heads == way_out


def check(values: dict[str, Any], words: str, *ways_out: dict[str, Any]) -> None:
    """These values are refused with these words, and each way out is one."""
    assert words in refusal(**values)
    for way_out in ways_out:
        config(**values | way_out)


PRE = {"norm_position": "pre"}
REFUSED: list[tuple[dict[str, Any], str, tuple[dict[str, Any], ...]]] = [  # with what words, and ways out
    # Each stack has layers, and one that is not there has none.
    ({"n_encoder_layers": 0}, "n_encoder_layers", ({"n_encoder_layers": 1}, DECODER)),
    ({"n_decoder_layers": 0}, "n_decoder_layers", ({"n_decoder_layers": 1}, ENCODER)),
    (DECODER | {"n_encoder_layers": 6}, "n_encoder_layers", ({"n_encoder_layers": 0},)),
    (ENCODER | {"n_decoder_layers": 6}, "n_decoder_layers", ({"architecture": "encoder_decoder"},)),
    (DECODER | {"tie_embeddings": "three_way"}, "tied three ways", ({"tie_embeddings": "target"},)),
    (ENCODER | {"tie_embeddings": "three_way"}, "tied three ways", ({"tie_embeddings": "none"},)),
    # A vocabulary of the source's own.
    (DECODER | {"src_vocab_size": 9}, "src_vocab_size must be 0, got 9", ({"src_vocab_size": 0},)),
    ({"src_vocab_size": 9}, "has its own embedding", ({"tie_embeddings": "target"}, {"tie_embeddings": "none"})),
    (
        {"src_vocab_size": 9, "tie_embeddings": "none", "pad_id": 9},
        "pads sources too",
        ({"pad_id": 8}, {"pad_id": None}),
    ),
    # What belongs to encoders alone.
    ({"n_segments": 2}, "n_segments must be 0 in an encoder-decoder", ({"n_segments": 0}, ENCODER)),
    *(
        (ENCODER | WITHOUT_OUTPUT | {name: value}, f"{name} = {value!r} has no effect without unembed", ())
        for name, value in (("tie_embeddings", "target"), ("unembed_transform", True), ("unembed_bias", True))
    ),
    # Embeddings of another width are normalized, then projected, and final states return to it.
    (ENCODER | {"d_embed": 10}, "set embedding_norm", ({"embedding_norm": True, "unembed_transform": True},)),
    (
        ENCODER | {"d_embed": 10, "embedding_norm": True},
        "need unembed_transform",
        ({"unembed_transform": True}, WITHOUT_OUTPUT),
    ),
    (ROTARY | {"relative_bias": True}, "besides learned or sinusoidal", ({"positions": "learned"},)),
    # Parallel blocks are of self-attention and a feed-forward network.
    (DECODER | PRE | {"parallel_residual": True, "d_ff": 0}, "parallel_residual needs blocks", ({"d_ff": 8},)),
    (PRE | {"parallel_residual": True}, "parallel_residual needs blocks", ({"parallel_residual": False},)),
    # Sines and cosines come in pairs, and rotation turns pairs.
    ({"d_model": 9, "n_heads": 3}, "d_model (9) must be even", ({"d_model": 12}, {"positions": "learned"})),
    (ROTARY | {"d_head": 9}, "the rotated part of a head, 9 of 9, must be even", ({"rotary_fraction": 0.9},)),
    (ROTARY | {"rotary_fraction": 0.02}, "a head, 1 of 64, must be even", ({"rotary_fraction": 0.04}, {"d_head": 100})),
    (ROTARY | {"rotary_fraction": 1.5}, "must lie in (0, 1], got 1.5", ({"rotary_fraction": 1.0},)),
    *(
        (LONGROPE | {"rotary_pair_factors": value}, "must be 2 numbers above 0", ())
        for value in ((), (1.0,), (1.0, 0.0), (1.0, "2"), [1.0, 2.0], None)
    ),
    (ENCODER | {"positions": "alibi", "alibi_rounding": True}, "needs a causal mask", ({"alibi_rounding": False},)),
    (NEEDS["yarn"] | {"rotary_base": 1.0}, "needs a rotary_base above 1, got 1.0", ({"rotary_base": 1.5},)),
    # Ranges have two ends.
    (LLAMA3 | {"rotary_low_freq_factor": 4.0}, "rotary_high_freq_factor (4.0)", ({"rotary_low_freq_factor": 3.5},)),
    (
        {"qk_norm": True, "qk_norm_scope": "joint"},
        "joint needs norm rms",
        ({"norm": "rms"}, {"qk_norm_scope": "per_head"}),
    ),
    (BUCKETS | {"relative_max_distance": 16}, "relative_max_distance (16)", ({"relative_max_distance": 17},)),
]


@pytest.mark.parametrize(("values", "words", "ways_out"), REFUSED)
def test_what_does_not_fit_together_is_refused_and_ways_out_are_ones(
    values: dict[str, Any], words: str, ways_out: tuple[dict[str, Any], ...]
):
    check(values, words, *ways_out)


ONLY_ROTARY = "positions rotary_halves or rotary_interleaved"
ONLY_SCALED = "rotary_scaling linear, llama3 or yarn"
ONLY_BY_TURNS = "rotary_scaling llama3 or yarn"
ONLY_BUCKETS = "positions relative_buckets or relative_bias"
ONLY_FEED_FORWARD = "a feed-forward network (d_ff above 0)"


@pytest.mark.parametrize(
    "name, value, idle_in, where, way_out",
    [
        ("rotary_base", 500.0, {"positions": "learned"}, ONLY_ROTARY, ROTARY),
        ("rotary_fraction", 0.5, {"positions": "alibi"}, ONLY_ROTARY, ROTARY),
        ("rotary_scaling", "linear", {}, ONLY_ROTARY, ROTARY),
        ("rotary_scaling_factor", 2.0, {}, ONLY_ROTARY, LINEAR),
        ("rotary_scaling_factor", 2.0, ROTARY, ONLY_SCALED, LINEAR),
        ("rotary_low_freq_factor", 2.0, {}, ONLY_ROTARY, LLAMA3),
        ("rotary_low_freq_factor", 9.0, ROTARY, ONLY_BY_TURNS, LLAMA3 | {"rotary_high_freq_factor": 10.0}),
        ("rotary_high_freq_factor", 9.0, LINEAR, ONLY_BY_TURNS, LLAMA3),
        ("rotary_original_len", 12, LINEAR, ONLY_BY_TURNS, LLAMA3),
        ("rotary_pair_factors", (1.5, 2.0), ROTARY | {"d_head": 4}, "rotary_scaling longrope", LONGROPE),
        ("alibi_scale", 0.5, ROTARY, "positions alibi", {"positions": "alibi"}),
        ("alibi_rounding", True, DECODER, "positions alibi", {"positions": "alibi"}),
        ("n_relative_buckets", 8, ROTARY, ONLY_BUCKETS, BUCKETS),
        ("relative_max_distance", 99, {"positions": "none"}, ONLY_BUCKETS, BUCKETS),
        ("final_norm", True, {"norm_position": "pre"}, "norm_position post", {"norm_position": "post"}),
        ("parallel_residual", True, DECODER, "norm_position pre", {"norm_position": "pre"}),
        ("last_norm", False, {}, "norm_position pre", {"norm_position": "pre"}),
        ("output_norm", True, {}, "norm_position pre", {"norm_position": "pre"}),
        ("input_norm", False, {"norm_position": "pre"}, "output_norm", {"output_norm": True}),
        ("qk_norm_scope", "per_head", {}, "qk_norm", {"qk_norm": True}),
        ("logit_cap", 5.0, ENCODER | WITHOUT_OUTPUT, "unembed", {"unembed": True}),
        ("gated", True, {"d_ff": 0}, ONLY_FEED_FORWARD, {"d_ff": 8}),
        ("activation", "silu", {"d_ff": 0}, ONLY_FEED_FORWARD, {"d_ff": 8}),
        ("feed_forward_bias", False, {"d_ff": 0}, ONLY_FEED_FORWARD, {"d_ff": 8}),
    ],
)
def test_what_would_change_nothing_is_refused(
    name: str, value: object, idle_in: dict[str, Any], where: str, way_out: dict[str, Any]
):
    """A field that has no effect must not be set."""
    config(**idle_in)
    check(idle_in | {name: value}, f"{name} = {value!r} has no effect without {where}", way_out)


def test_the_masked_token_head_has_an_activation_without_a_feed_forward_network():
    assert config(**ENCODER, d_ff=0, unembed_transform=True, activation="gelu").activation == "gelu"


def test_what_is_left_open_is_resolved():
    assert (config().d_head, config().n_kv_heads) == (64, 8)
    assert config(d_model=48, n_heads=3).d_head == 16
    assert config(d_head=10).d_head == 10
    assert config(n_kv_heads=2).n_kv_heads == 2


def test_heads_go_on_sharing_the_width_where_it_or_their_number_changes():
    assert config().changed(n_heads=4) == config(n_heads=4)
    assert config(d_head=10).changed(n_heads=4, d_ff=7) == config(d_head=10, n_kv_heads=4, n_heads=4, d_ff=7)
    assert config(n_kv_heads=2).changed(d_model=64) == config(n_kv_heads=2, d_model=64)
    assert config().changed(d_model=64, d_head=5, n_kv_heads=4) == config(d_model=64, d_head=5, n_kv_heads=4)


def test_files_said_null_where_other_fields_decide():
    assert ModelConfig.from_dict({"vocab_size": 100, "d_head": None, "n_kv_heads": None}) == config()


@pytest.mark.parametrize(
    "values, has_encoder, has_decoder", [({}, True, True), (DECODER, False, True), (ENCODER, True, False)]
)
def test_which_stacks_there_are(values: dict[str, Any], has_encoder: bool, has_decoder: bool):
    assert (config(**values).has_encoder, config(**values).has_decoder) == (has_encoder, has_decoder)


def test_which_positions_are_rotations():
    rotary = {value for value in CHOICES["positions"] if config(positions=value).has_rotary_positions}
    assert rotary == {"rotary_halves", "rotary_interleaved"}


def test_without_normalization_what_belongs_to_one_is_refused():
    assert refusal(norm="none").startswith("post-norm needs a normalization: set norm_position")
    switched = {"qk_norm": True, "embedding_norm": True, "first_norm": False, "last_norm": False, "output_norm": True}
    for name, value in {**switched, "layer_norm_eps": 0.1}.items():
        message = f"{name} = {value!r} has no effect without norm layer or rms"
        assert refusal(**{"norm": "none", "norm_position": "pre", name: value}) == message


def merged(parts: tuple[Any, ...]) -> dict[str, Any]:
    return {name: value for part in parts for name, value in part.items()}


@settings(max_examples=50)
@given(
    st.tuples(
        st.fixed_dictionaries({"vocab_size": st.integers(3, 10**6)}),
        st.sampled_from([{}, {"tie_embeddings": "target"}, DECODER, ENCODER, ENCODER | {"n_segments": 2}]),
        st.sampled_from([{}, LINEAR | {"rotary_scaling_factor": 2.5}, LLAMA3, BUCKETS | {"n_relative_buckets": 9}]),
        st.fixed_dictionaries(
            {},
            optional={
                **{
                    name: st.booleans()
                    for name in SWITCHES
                    if name not in (*NEEDS, "unembed_transform", "final_norm", "relative_bias")
                },
                **{name: st.sampled_from(CHOICES[name]) for name in ("norm_position", "attention_bias")},
                "norm": st.sampled_from([norm for norm in CHOICES["norm"] if norm != "none"]),
                "activation": st.sampled_from(CHOICES["activation"]),
                "d_ff": st.integers(1, 10**5),
                "d_head": st.sampled_from([0, 2, 64]),
                "n_kv_heads": st.sampled_from([0, 1, 4]),
                "sliding_window": st.none() | st.integers(1, 99),
                "dropout": st.floats(0, 1, exclude_max=True),
                "layer_norm_eps": st.floats(1e-12, 1e-1),
                "pad_id": st.sampled_from([None, 0, 2]),
                "more_eos_ids": st.sampled_from([(), (0,), (1, 2)]),
            },
        ),
    ).map(merged)
)
def test_it_survives_a_file(values: dict[str, Any]):
    config = ModelConfig(**values)
    read = ModelConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    assert read == config and type(read.dropout) is type(config.dropout)


OLD_FILE = """{
  "vocab_size": 934, "d_model": 128, "d_ff": 256, "n_heads": 4, "n_encoder_layers": 2, "n_decoder_layers": 2,
  "max_seq_len": 64, "positions": "sinusoidal_interleaved", "norm_position": "post", "layer_norm_eps": 1e-05,
  "tie_embeddings": "three_way", "attention_bias": true, "dropout": 0.0, "dropout_pattern": 0.0,
  "pad_id": 0, "bos_id": 1, "eos_id": 2
}"""  # as it was written before there were other architectures


def test_an_old_file_is_still_the_model_that_it_was():
    """The paper's encoder-decoder, whatever can be chosen today."""
    read = ModelConfig.from_dict(json.loads(OLD_FILE))
    assert read == tc.presets.tiny(934)
    assert (read.architecture, read.norm, read.activation, read.gated) == ("encoder_decoder", "layer", "relu", False)
    assert (read.attention_bias, read.feed_forward_bias, read.unembed_bias) == ("all", True, False)
    assert (read.d_head, read.n_kv_heads, read.sliding_window) == (32, 4, None)
    assert (read.scale_embeddings, read.scale_scores, read.scale_logits) == (True, True, False)


@pytest.mark.parametrize("written, meant", [(True, "all"), (False, "none"), ("qkv", "qkv")])
def test_attention_bias_was_true_or_false_once(written: object, meant: str):
    values = {"vocab_size": 100, "attention_bias": written}
    assert ModelConfig.from_dict(values).attention_bias == meant
    assert values["attention_bias"] == written  # what was read is left unchanged


def test_a_file_with_a_wrong_key_or_value():
    for key, nearest in (("dmodel", "d_model"), ("n_head", "n_heads"), ("drop_out", "dropout")):
        with pytest.raises(ConfigError, match=f"'{key}'; did you mean {nearest}"):
            ModelConfig.from_dict({"vocab_size": 100, key: 1})
    names = ", ".join(field.name for field in fields(ModelConfig))
    with pytest.raises(ConfigError, match=f"'xyzzy'; available are {names}$"):
        ModelConfig.from_dict({"vocab_size": 100, "xyzzy": 1})
    with pytest.raises(ConfigError, match="lacks vocab_size"):
        ModelConfig.from_dict({"d_model": 64})
    with pytest.raises(ConfigError, match="d_ff"):
        ModelConfig.from_dict({"vocab_size": 100, "d_ff": "wide"})


def test_layers_with_a_window_and_without_alternate():
    """Warner et al. 2024: some layers see all keys; the others have their own RoPE base."""
    alternating = config(
        **ENCODER | ROTARY,
        **{"rotary_base": 500.0, "rotary_base_in_window": 70.0, "sliding_window": 5, "layers_without_window": (0, 3)},
    )
    at = [alternating.at_layer(i) for i in range(5)]
    assert [one.sliding_window for one in at] == [None, 5, 5, None, 5]
    assert [one.rotary_base for one in at] == [500, 70, 70, 500, 70]
    uniform = config(**ROTARY, sliding_window=5)
    assert uniform.at_layer(1) is uniform
    without_rotation = config(**ENCODER, sliding_window=5, layers_without_window=(0, 2))
    assert [without_rotation.at_layer(i).sliding_window for i in range(3)] == [None, 5, None]


def test_layers_without_rotation():
    scaled = config(**LLAMA3, rotary_base=500.0, layers_without_rotation=(1,))
    at = [scaled.at_layer(i) for i in range(3)]
    assert [one.positions for one in at] == ["rotary_halves", "none", "rotary_halves"]
    assert [one.rotary_scaling for one in at] == ["llama3", "none", "llama3"]


@pytest.mark.parametrize("interval, layers", [(None, ()), (1, (0, 1, 2, 3)), (3, (0, 3)), (9, (0,))])
def test_an_interval_of_older_files_is_a_list_of_layers(interval: int | None, layers: tuple[int, ...]):
    values = ENCODER | {"vocab_size": 100, "n_encoder_layers": 4, "sliding_window": 3, "full_attention_every": interval}
    assert ModelConfig.from_dict(values).layers_without_window == layers
    with pytest.raises(ConfigError, match="no field 'full_attention_every'"):
        ModelConfig.from_dict(values | {"full_attention_every": "3"})


def test_what_alternates_needs_what_it_alternates_with():
    assert refusal(layers_without_window=(1,)) == "layers_without_window = (1,) has no effect without sliding_window"
    assert refusal(layers_without_rotation=(1,)).endswith(f"has no effect without {ONLY_ROTARY}")
    assert refusal(**ROTARY, rotary_base_in_window=3.0).endswith("has no effect without layers_without_window")
    assert refusal(first_norm=False) == "first_norm = False has no effect without norm_position pre"
