"""`--set key=value`: typed by its field, and refused in words."""

from typing import Any

import pytest

from tests.german import in_german
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
        "rate_changes=120:0.5,300:0.1",
        "tokens=character",
        "vocab_size=300",
    ]
    settings = parse_settings(assignments)
    training = settings.training
    assert settings.reading == {"tokens": "character", "vocab_size": 300}
    assert training.pop("rate_changes") == ((120, 0.5), (300, 0.1))
    assert settings.model == {"d_model": 64, "dropout": 0.25, "attention_bias": "none", "positions": "learned"}
    assert training == {"batch_size": 3, "clip_norm": None, "log_every": 5, "learning_rate_factor": 2.0}
    assert type(training["learning_rate_factor"]) is float


def test_the_last_one_counts():
    assert parse_settings(["d_model=64", "d_model=32"]).model == {"d_model": 32}


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("d_model", "takes key=value, got 'd_model'"),
        ("d_modle=64", "no setting 'd_modle'; did you mean d_model"),
        ("head=4", "did you mean .*n_heads"),
        ("zzzz=4", "available are architecture, .*steps"),
        ("pad_id=100", "is determined by the corpus's tokenizer"),
        ("rate_changes=fast", "steps and factors, such as 120:0.5"),
        ("eos_id=3", "is determined by the corpus's tokenizer"),
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


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("", ()),
        ("120:0.5", ((120, 0.5),)),
        (" 3:1e-3 , 10:2 ,", ((3, 0.001), (10, 2.0))),
        ("1:0.30000000000000004", ((1, 0.1 + 0.2),)),
    ],
)
def test_changes_of_the_rate(text: str, changes: Any):
    assert parse_settings([f"rate_changes={text}"]).training == {"rate_changes": changes}


@pytest.mark.parametrize("text", ["3", "3:", ":0.5", "3:0.5:7", "1.5:0.5", "3:half", "3:0.5;4:1"])
def test_changes_of_the_rate_that_cannot_be_read(text: str):
    with pytest.raises(ConfigError, match=f"steps and factors, such as 120:0.5,300:0.1; got '{text}'"):
        parse_settings([f"rate_changes={text}"])


@pytest.mark.parametrize(("text", "value"), [("true", True), ("False", False)])
def test_compiled_or_not(text: str, value: bool):
    assert parse_settings([f"compile={text}"]).training == {"compile": value}


@pytest.mark.parametrize(
    ("assignment", "german"),
    [
        ("dropout", "--set nimmt key=value, nicht 'dropout'; zum Beispiel --set dropout=0.1"),
        ("d_model=x", "d_model muss eine ganze Zahl sein, nicht 'x'"),
        ("gated=1", "gated muss true oder false sein, nicht '1'"),
        ("pad_id=1", "pad_id ist durch den Tokenizer des Korpus bestimmt und lässt sich nicht setzen"),
        ("dropoutt=1", "eine Einstellung 'dropoutt' gibt es nicht; meinst du dropout oder dropout_pattern?"),
    ],
)
def test_a_german_reader_is_told_in_german(assignment: str, german: str):
    with pytest.raises(ConfigError) as caught:
        parse_settings([assignment])
    assert in_german(caught.value) == german
