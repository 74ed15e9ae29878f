"""`experiment` as a process: what it prints, what it leaves in its folder, and that the same command gives the same."""

import shlex
from pathlib import Path

import pytest

from headlight.cli.main import main
from headlight.experiments.experiment import ExperimentDirectory
from tests.training.forked import Command


@pytest.mark.training
def test_the_command_of_an_experiment_gives_the_same_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    chosen = ["--variants", "look_ahead,not_shifted", "--steps", "20", "--folder", str(tmp_path / "first")]
    assert main(["experiment", "masks", *chosen]) == 0
    first = capsys.readouterr()
    assert first.err == ""
    assert "step 1 of 20, loss in nats:   look_ahead 3." in first.out
    assert "after step 20, on the validation set:" in first.out
    actual = ExperimentDirectory.open(tmp_path / "first")
    status = actual.standing()
    assert status is not None
    assert (status.state, status.step) == ("finished", 20)

    words = shlex.split(actual.request.command)
    assert words[:3] == ["python", "-m", "transformer_core"]
    _, out, _ = Command(tmp_path / "log", *words[3:], "--folder", str(tmp_path / "second"), "--queue").wait()
    assert out.splitlines()[-3:] == first.out.splitlines()[-3:]
    losses = [
        [record["loss"] for record in ExperimentDirectory.open(tmp_path / name).metrics.read() if "loss" in record]
        for name in ("first", "second")
    ]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 20
