"""Valid requests and their commands; an experiment's folder, created once and read by any process."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import pytest

from headlight.experiments import experiment
from transformer_core.config import Positions
from transformer_core.errors import ConfigError, RunError
from transformer_core.training.run import commands

MASKS = experiment.ExperimentRequest(kind="masks", task="copy", variants=("look_ahead", "no_mask"), seed=1, steps=20)
GOOD: dict[str, Any] = {"kind": "positions", "task": "reverse", "variants": ("alibi", "none"), "seed": 3, "steps": 40}


@pytest.mark.parametrize("kind", get_args(experiment.ExperimentKind))
def test_what_is_usual_may_be_asked(kind: experiment.ExperimentKind):
    for task in experiment.TASKS[kind]:
        experiment.ExperimentRequest(
            kind=kind, task=task, variants=experiment.USUAL_VARIANTS[kind], seed=0, steps=experiment.USUAL_STEPS[kind]
        )
    assert {*experiment.USUAL_VARIANTS[kind]} <= {*experiment.VARIANTS[kind]}
    assert experiment.VARIANTS["positions"] == get_args(Positions)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"kind": "norms"}, "kind must be one of positions, masks; got 'norms'"),
        ({"variants": ("alibi", "rotary")}, "there is no variant 'rotary'; the variants of this experiment are sinus"),
        ({"variants": ()}, "1 to 6 different variants; got none"),
        ({"variants": get_args(Positions)[: experiment.MOST_VARIANTS + 1]}, "1 to 6 different variants"),
        ({"seed": -1}, "seed must be a whole number from 0 to"),
        ({"steps": 19}, "steps must be a whole number from 20 to 1,000, got 19"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], words: str):
    with pytest.raises(ConfigError, match=words):
        experiment.ExperimentRequest(**GOOD | wrong)


def test_plain_values_make_the_same_request():
    request = experiment.ExperimentRequest(**GOOD)
    values = asdict(request)
    assert (
        experiment.ExperimentRequest.from_dict(values | {"variants": [*values["variants"]]}) == request
    )  # as JSON has it
    with pytest.raises(TypeError):
        experiment.ExperimentRequest.from_dict(values | {"variant": "alibi"})


def test_the_command_says_all():
    words = shlex.split(experiment.ExperimentRequest(**GOOD).command)
    assert words[:5] == ["python", "-m", "transformer_core", "experiment", "positions"]
    assert dict(zip(words[5::2], words[6::2], strict=True)) == {
        "--task": "reverse",
        "--variants": "alibi,none",
        "--seed": "3",
        "--steps": "40",
    }


def test_what_was_created_is_found(tmp_path: Path):
    mine = experiment.ExperimentDirectory.create(tmp_path / "experiment", MASKS)
    actual = experiment.ExperimentDirectory.open(tmp_path / "experiment")
    assert actual.request == MASKS
    mine.write_status("running", step=7)
    mine.metrics.append({"step": 7, "loss": {"look_ahead": 1.5}})
    with (tmp_path / "experiment" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 8, "lo')  # torn
    assert actual.metrics.read() == [{"step": 7, "loss": {"look_ahead": 1.5}}]
    assert not mine.is_asked_to_stop()
    commands.ask(tmp_path / "experiment", "stop")
    assert mine.is_asked_to_stop()
    mine.release()  # as the system does when a process is killed
    status = actual.standing()
    assert status is not None
    assert (status.state, status.step) == ("failed", 7)
    assert "start it again" in str(status.reason)


def test_what_cannot_be_read_is_told(tmp_path: Path):
    with pytest.raises(RunError, match="does not contain an experiment"):
        experiment.ExperimentDirectory.open(tmp_path)
    for content, words in (("{", "damaged"), ('{"kind": "norms"}', "another version"), ("{}", "another version")):
        (tmp_path / "experiment.json").write_text(content)
        with pytest.raises(RunError, match=words):
            experiment.ExperimentDirectory.open(tmp_path)


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path):
    (tmp_path / "thesis.txt").write_text("mine")
    for taken in (tmp_path, tmp_path / "thesis.txt"):
        with pytest.raises(RunError, match="not empty"):
            experiment.ExperimentDirectory.create(taken, MASKS)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
