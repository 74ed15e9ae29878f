"""`--set key=value`: typed by its field, and refused in words."""

from typing import Any

import pytest

from transformer_core.cli.settings import parse_settings
from transformer_core.errors import ConfigError


def test_each_field_goes_to_its_configuration_with_its_type():
    assignments = [
        *("d_model=32", "d_model=64", "dropout=0.25", "attention_bias=none", "positions=learned", "gated=False"),
        *("batch_size=3", "clip_norm=None", " log_every = 5 ", "learning_rate_factor=2", "compile=true"),
        *("rate_changes= 3:1e-3 , 10:2 ,", "tokens=character", "vocab_size=300"),
    ]
    settings = parse_settings(assignments)
    training = settings.training
    assert settings.reading == {"tokens": "character", "vocab_size": 300}
    assert training.pop("rate_changes") == ((3, 0.001), (10, 2.0))
    assert settings.model.pop("gated") is False
    assert training.pop("compile") is True
    assert settings.model == {"d_model": 64, "dropout": 0.25, "attention_bias": "none", "positions": "learned"}
    assert training == {"batch_size": 3, "clip_norm": None, "log_every": 5, "learning_rate_factor": 2.0}
    assert type(training["learning_rate_factor"]) is float
    assert parse_settings(["rate_changes="]).training == {"rate_changes": ()}
    lists = parse_settings(["layers_without_window=1, 3", "rotary_pair_factors=1,2.5"]).model
    assert lists == {"layers_without_window": (1, 3), "rotary_pair_factors": (1.0, 2.5)}


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("d_model", "takes key=value, got 'd_model'"),
        ("d_modle=64", "no setting 'd_modle'; did you mean d_model"),
        ("head=4", "did you mean .*n_heads"),
        ("zzzz=4", "available are architecture, .*steps"),
        ("pad_id=100", "is determined by the corpus's tokenizer"),
        *(
            (f"rate_changes={text}", "steps and factors, such as 120:0.5")
            for text in ("fast", "3:", ":1", "3:1:7", "1.5:1")
        ),
        ("eos_id=3", "is determined by the corpus's tokenizer"),
        ("d_model=many", "d_model must be a whole number, got 'many'"),
        ("d_model=1.5", "d_model must be a whole number"),
        ("dropout=some", "dropout must be a number, got 'some'"),
        ("dropout=", "dropout must be a number, got ''"),
        ("layers_without_window=1,x", "layers_without_window must be a whole number, got 'x'"),
        ("clip_norm=off", "clip_norm must be a number, got 'off'"),
        ("gated=1", "gated must be true or false, got '1'"),
    ],
)
def test_what_is_wrong_is_said(assignment: str, message: Any):
    with pytest.raises(ConfigError, match=message):
        parse_settings([assignment])
