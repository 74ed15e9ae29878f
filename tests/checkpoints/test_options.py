"""Options of a foreign config.json: nothing in it is passed over in silence."""

from typing import Any

import pytest

from tests.german import in_german
from transformer_core.checkpoints.options import Options
from transformer_core.errors import CheckpointError, Message

IGNORED = """
    unsloth_version transformers.js_config task_specific_params _attn_implementation_internal mask_token_id
    bad_words_ids attn_implementation id2label torch_dtype
"""


def test_unknown_options():
    """One that is off, or speaks of nothing that is computed, changes nothing; others are refused with their value."""
    for value in (None, False, 0, 0.0, "", [], {}):
        Options({"attention_sinks": value}, where="config.json").finish()
    for name in IGNORED.split():
        Options({name: {"a": 1}}, where="config.json").finish()
    for name in ("attention_sinks", "residual_multiplier", "normType", "logit_softcapping", "embd_scale"):
        for value in (True, 1, 0.5, "post", [1], {"a": 1}):
            with pytest.raises(CheckpointError, match=f"^config.json: {name} = .* may change the model's output"):
                Options({name: value}, where="config.json").finish()
    with pytest.raises(CheckpointError) as caught:
        Options({"layer_names": ["layer"] * 1000}, where="config.json").finish()
    assert len(str(caught.value)) < 300
    assert in_german(caught.value).startswith("config.json: layer_names = ")
    assert "wird nicht unterstützt" in in_german(caught.value)


def test_what_was_read_or_named_idle_is_not_unknown():
    options = Options({"attn_scale": 2.0, "mlp_dropout": 0.1, "norm": True, "none": None}, where="config.json")
    assert options.number("attn_scale") == 2.0
    options.idle("mlp_dropout")
    assert options.switch("norm", False) is True
    assert "none" not in options  # null counts as absent, but where it means "none"
    assert options.whole("none", 3) == options.whole_or_null("absent", 3) == 3
    assert options.whole_or_null("none", 3) is None
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
