"""Options of a foreign config.json: nothing in it is passed over in silence."""

import pytest

from tests.german import in_german
from transformer_core.checkpoints.options import Options
from transformer_core.errors import CheckpointError

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
    for value in (True, 1, 0.5, "post", [1], {"a": 1}):
        with pytest.raises(CheckpointError, match=r"^config\.json: normType = .* may change the model's output"):
            Options({"normType": value}, where="config.json").finish()
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
