"""`experiment` as a process: what it prints, what it leaves in its folder, and that the same command gives the same."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from transformer_core.cli.main import main
from transformer_core.training.experiments.directory import ExperimentDirectory

ROOT = Path(__file__).resolve().parents[2]


def experiment(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "transformer_core", "experiment", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.training
def test_the_command_of_an_experiment_gives_the_same_numbers(tmp_path: Path):
    first = experiment(
        "masks", "--variants", "look_ahead,not_shifted", "--steps", "20", "--folder", str(tmp_path / "first")
    )
    assert (first.returncode, first.stderr) == (0, "")
    assert "step 1 of 20, loss in nats:   look_ahead 3." in first.stdout
    assert "after step 20, on the validation set:" in first.stdout
    found = ExperimentDirectory.open(tmp_path / "first")
    status = found.standing()
    assert status is not None
    assert (status.state, status.step) == ("finished", 20)

    words = shlex.split(found.request.command)
    assert words[:4] == ["python", "-m", "transformer_core", "experiment"]
    second = experiment(*words[4:], "--folder", str(tmp_path / "second"), "--queue")
    assert second.stdout.splitlines()[-3:] == first.stdout.splitlines()[-3:]
    losses = [
        [record["loss"] for record in ExperimentDirectory.open(tmp_path / name).metrics.read() if "loss" in record]
        for name in ("first", "second")
    ]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 20


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["positions", "--task", "dates"], "error: the task must be one of reverse, copy, sort; got 'dates'"),
        (
            ["masks", "--variants", "alibi"],
            ("error: there is no variant 'alibi'; the variants of this experiment are look_ahead, no_mask"),
        ),
        (["masks", "--variants", ""], "error: there is no variant ''"),
        (["masks", "--steps", "5"], "error: steps must be a whole number from 20 to 1000, got 5"),
    ],
)
def test_what_makes_no_sense_is_told_in_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["experiment", *arguments]) == 2
    message = capsys.readouterr().err
    assert sentence in message
    assert message.count("\n") == 1


def test_help_names_what_can_be_tried(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["experiment", "--help"])
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("positions", "rotary_halves", "not_shifted", "--queue", "examples:"))
    assert max(map(len, shown.splitlines())) <= 120
