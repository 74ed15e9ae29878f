"""`trial` as a process: what it prints, what it leaves in its folder, and that the same command gives the same."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from transformer_core.cli.main import main
from transformer_core.training.trial.directory import TrialDirectory

ROOT = Path(__file__).resolve().parents[2]


def trial(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "transformer_core", "trial", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.training
def test_the_command_of_a_trial_gives_the_same_numbers(tmp_path: Path):
    first = trial("masks", "--arms", "look_ahead,not_shifted", "--steps", "20", "--folder", str(tmp_path / "first"))
    assert (first.returncode, first.stderr) == (0, "")
    assert "step 1 of 20, loss in nats:   look_ahead 3." in first.stdout
    assert "after step 20, on what was held out:" in first.stdout
    found = TrialDirectory.open(tmp_path / "first")
    status = found.standing()
    assert status is not None
    assert (status.state, status.step) == ("finished", 20)

    words = shlex.split(found.request.command)
    assert words[:4] == ["python", "-m", "transformer_core", "trial"]
    second = trial(*words[4:], "--folder", str(tmp_path / "second"), "--queue")
    assert second.stdout.splitlines()[-3:] == first.stdout.splitlines()[-3:]
    losses = [
        [record["loss"] for record in TrialDirectory.open(tmp_path / name).metrics.read() if "loss" in record]
        for name in ("first", "second")
    ]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 20


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["positions", "--task", "dates"], "error: the task must be one of reverse, copy, sort; got 'dates'"),
        (["masks", "--arms", "alibi"], "error: there is no arm 'alibi'; arms of this trial are look_ahead, no_mask"),
        (["masks", "--arms", ""], "error: there is no arm ''"),
        (["masks", "--steps", "5"], "error: steps must be a whole number from 20 to 1000, got 5"),
    ],
)
def test_what_makes_no_sense_is_told_in_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["trial", *arguments]) == 2
    message = capsys.readouterr().err
    assert sentence in message
    assert message.count("\n") == 1


def test_help_names_what_can_be_tried(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["trial", "--help"])
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("positions", "rotary_halves", "not_shifted", "--queue", "examples:"))
    assert max(map(len, shown.splitlines())) <= 120
