"""Options of a foreign config.json: nothing in it is passed over in silence."""

from typing import Any

import pytest

from tests.german import in_german
from transformer_core.checkpoints.options import Options
from transformer_core.errors import CheckpointError, Message


@pytest.mark.parametrize("value", [None, False, 0, 0.0, "", [], {}])
def test_an_unknown_option_that_is_off_changes_nothing(value: Any):
    Options({"attention_sinks": value}, where="config.json").finish()


@pytest.mark.parametrize("value", [True, 1, 0.5, "post", [1], {"a": 1}])
@pytest.mark.parametrize(
    "name", ["attention_sinks", "residual_multiplier", "normType", "logit_softcapping", "embd_scale"]
)
def test_an_unknown_option_that_speaks_of_computing_is_refused_with_its_value(name: str, value: Any):
    with pytest.raises(CheckpointError, match=f"^config.json: {name} = .* may change the model's output.* remove it"):
        Options({name: value}, where="config.json").finish()


@pytest.mark.parametrize(
    "name",
    [
        *("unsloth_version", "transformers.js_config", "task_specific_params", "_attn_implementation_internal"),
        *("mask_token_id", "bad_words_ids", "attn_implementation", "id2label", "torch_dtype"),
    ],
)
def test_other_unknown_options_are_ignored(name: str):
    Options({name: {"a": 1}}, where="config.json").finish()


def test_what_was_read_or_named_idle_is_not_unknown():
    options = Options({"attn_scale": 2.0, "mlp_dropout": 0.1, "norm": True}, where="config.json")
    assert options.number("attn_scale") == 2.0
    options.idle("mlp_dropout")
    assert options.switch("norm", False) is True
    options.finish()


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda options: options.whole("a"), "a = 'x' is not supported; expected a whole number"),
        (lambda options: options.whole_or_null("a"), "expected a whole number"),
        (lambda options: options.number("a"), "expected a number"),
        (lambda options: options.switch("a", True), "expected true or false"),
        (lambda options: options.choice("a", {"y": 1}, "y"), "a = 'x' is not supported; supported are y"),
        (lambda options: options.token("a", 0), "expected a token id"),
        (lambda options: options.inside("a"), "expected an object"),
        (lambda options: options.must_be("a", "y", Message("only y is")), "a = 'x' is not supported; only y is"),
        (lambda options: options.whole("b"), "config.json lacks b, so it does not describe a complete model"),
        (lambda options: options.number("c"), "config.json lacks c"),
    ],
)
def test_a_value_of_another_kind_is_named(read: Any, message: str):
    with pytest.raises(CheckpointError, match=message):
        read(Options({"a": "x", "c": None}, where="config.json"))


def test_a_long_value_is_cut_in_the_message():
    with pytest.raises(CheckpointError) as caught:
        Options({"layer_names": ["layer"] * 1000}, where="config.json").finish()
    assert len(str(caught.value)) < 300


def test_null_counts_as_absent_but_where_it_means_none():
    options = Options({"a": None, "b": None}, where="config.json")
    assert options.whole("a", 3) == 3
    assert "a" not in options
    assert options.whole_or_null("b", 3) is None
    assert options.whole_or_null("c", 3) == 3


def test_a_german_reader_is_told_in_german():
    options = Options({"a": "x", "attention_sinks": True}, where="config.json")
    with pytest.raises(CheckpointError) as of_another_kind:
        options.whole("a")
    with pytest.raises(CheckpointError) as missing:
        options.whole("b")
    with pytest.raises(CheckpointError) as unknown:
        options.finish()
    assert (
        in_german(of_another_kind.value) == "config.json: a = 'x' wird nicht unterstützt; erwartet wird eine ganze Zahl"
    )
    assert in_german(missing.value) == "config.json hat kein b, beschreibt also kein vollständiges Modell"
    assert in_german(unknown.value) == (
        "config.json: attention_sinks = True wird nicht unterstützt; sie könnte die "
        "Ausgabe des Modells ändern; wenn du weißt, dass sie es nicht "
        "tut, entferne sie aus der Datei"
    )
