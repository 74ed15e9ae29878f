"""`--set key=value`: typed by its field, and refused in words."""

from typing import Any

import pytest

from transformer_core.cli.settings import parse_settings
from transformer_core.errors import ConfigError


def test_each_field_goes_to_its_configuration_with_its_type():
    assignments = [
        "d_model=64",
        "dropout=0.25",
        "attention_bias=none",
        "positions=learned",
        "batch_size=3",
        "clip_norm=none",
        " log_every = 5 ",
        "learning_rate_factor=2",
    ]
    model, training = parse_settings(assignments)
    assert model == {"d_model": 64, "dropout": 0.25, "attention_bias": "none", "positions": "learned"}
    assert training == {"batch_size": 3, "clip_norm": None, "log_every": 5, "learning_rate_factor": 2.0}
    assert type(training["learning_rate_factor"]) is float


def test_the_last_one_counts():
    assert parse_settings(["d_model=64", "d_model=32"])[0] == {"d_model": 32}


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("d_model", "takes key=value, got 'd_model'"),
        ("d_modle=64", "no setting 'd_modle'; did you mean d_model"),
        ("head=4", "did you mean .*n_heads"),
        ("zzzz=4", "known are architecture, .*steps"),
        ("vocab_size=100", "comes from the corpus's tokenizer"),
        ("eos_id=3", "comes from the corpus's tokenizer"),
        ("d_model=many", "d_model must be a whole number, got 'many'"),
        ("d_model=1.5", "d_model must be a whole number"),
        ("dropout=some", "dropout must be a number, got 'some'"),
        ("dropout=", "dropout must be a number, got ''"),
        ("clip_norm=off", "clip_norm must be a number, got 'off'"),
        ("gated=1", "gated must be true or false, got '1'"),
    ],
)
def test_what_is_wrong_is_said(assignment: str, message: Any):
    with pytest.raises(ConfigError, match=message):
        parse_settings([assignment])
