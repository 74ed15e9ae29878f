"""What may be asked of a trial, and the command that asks it."""

import shlex
from typing import Any, get_args

import pytest

from transformer_core.config import Positions
from transformer_core.errors import ConfigError
from transformer_core.training.trial.trial import (
    ARMS,
    MOST_ARMS,
    TASKS,
    USUAL_ARMS,
    USUAL_STEPS,
    TrialKind,
    TrialRequest,
)

GOOD: dict[str, Any] = {"kind": "positions", "task": "reverse", "arms": ("alibi", "none"), "seed": 3, "steps": 40}


@pytest.mark.parametrize("kind", get_args(TrialKind))
def test_what_is_usual_may_be_asked(kind: TrialKind):
    for task in TASKS[kind]:
        TrialRequest(kind=kind, task=task, arms=USUAL_ARMS[kind], seed=0, steps=USUAL_STEPS[kind])
    assert {*USUAL_ARMS[kind]} <= {*ARMS[kind]}
    assert ARMS["positions"] == get_args(Positions)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"kind": "norms"}, "a trial is one of positions, masks; got 'norms'"),
        ({"task": "dates"}, "the task must be one of reverse, copy, sort; got 'dates'"),
        ({"arms": ("alibi", "rotary")}, "there is no arm 'rotary'; arms of this trial are sinusoidal_interleaved"),
        ({"arms": ()}, "1 to 6 different arms; got none"),
        ({"arms": ("alibi", "alibi")}, "different arms; got alibi, alibi"),
        ({"arms": get_args(Positions)[: MOST_ARMS + 1]}, "1 to 6 different arms"),
        ({"seed": -1}, "seed must be a whole number from 0 to"),
        ({"seed": True}, "seed must be a whole number"),
        ({"steps": 19}, "steps must be a whole number from 20 to 1000, got 19"),
        ({"steps": 1001}, "got 1001"),
        ({"steps": 40.0}, "got 40.0"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], words: str):
    with pytest.raises(ConfigError) as refusal:
        TrialRequest(**GOOD | wrong)
    assert words in str(refusal.value)


def test_plain_values_make_the_same_request():
    request = TrialRequest(**GOOD)
    values = request.to_dict()
    assert TrialRequest.from_dict(values | {"arms": [*values["arms"]]}) == request  # as JSON has it
    for damaged in ({"arms": 3}, {"arms": "alibi"}):
        with pytest.raises(ConfigError):
            TrialRequest.from_dict(values | damaged)
    with pytest.raises(TypeError):
        TrialRequest.from_dict(values | {"arm": "alibi"})


def test_the_command_says_all():
    words = shlex.split(TrialRequest(**GOOD).command)
    assert words[:5] == ["python", "-m", "transformer_core", "trial", "positions"]
    assert dict(zip(words[5::2], words[6::2], strict=True)) == {
        "--task": "reverse",
        "--arms": "alibi,none",
        "--seed": "3",
        "--steps": "40",
    }
