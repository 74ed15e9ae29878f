"""What may be asked of an experiment, and the command that asks it."""

import shlex
from dataclasses import asdict
from typing import Any, get_args

import pytest

from headlight.experiments.experiment import (
    MOST_VARIANTS,
    TASKS,
    USUAL_STEPS,
    USUAL_VARIANTS,
    VARIANTS,
    ExperimentKind,
    ExperimentRequest,
)
from transformer_core.config import Positions
from transformer_core.errors import ConfigError

GOOD: dict[str, Any] = {"kind": "positions", "task": "reverse", "variants": ("alibi", "none"), "seed": 3, "steps": 40}


@pytest.mark.parametrize("kind", get_args(ExperimentKind))
def test_what_is_usual_may_be_asked(kind: ExperimentKind):
    for task in TASKS[kind]:
        ExperimentRequest(kind=kind, task=task, variants=USUAL_VARIANTS[kind], seed=0, steps=USUAL_STEPS[kind])
    assert {*USUAL_VARIANTS[kind]} <= {*VARIANTS[kind]}
    assert VARIANTS["positions"] == get_args(Positions)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"kind": "norms"}, "the experiment must be one of positions, masks; got 'norms'"),
        ({"variants": ("alibi", "rotary")}, "there is no variant 'rotary'; the variants of this experiment are sinus"),
        ({"variants": ()}, "1 to 6 different variants; got none"),
        ({"variants": get_args(Positions)[: MOST_VARIANTS + 1]}, "1 to 6 different variants"),
        ({"seed": -1}, "seed must be a whole number from 0 to"),
        ({"steps": 19}, "steps must be a whole number from 20 to 1000, got 19"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], words: str):
    with pytest.raises(ConfigError, match=words):
        ExperimentRequest(**GOOD | wrong)


def test_plain_values_make_the_same_request():
    request = ExperimentRequest(**GOOD)
    values = asdict(request)
    assert ExperimentRequest.from_dict(values | {"variants": [*values["variants"]]}) == request  # as JSON has it
    with pytest.raises(TypeError):
        ExperimentRequest.from_dict(values | {"variant": "alibi"})


def test_the_command_says_all():
    words = shlex.split(ExperimentRequest(**GOOD).command)
    assert words[:5] == ["python", "-m", "transformer_core", "experiment", "positions"]
    assert dict(zip(words[5::2], words[6::2], strict=True)) == {
        "--task": "reverse",
        "--variants": "alibi,none",
        "--seed": "3",
        "--steps": "40",
    }
