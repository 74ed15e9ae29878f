"""`train` as a process: finished, stopped by Ctrl-C and gone on with, and a task learned to the end."""

import json
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from transformer_core.checkpoints.checkpoint import read_card
from transformer_core.cli.main import main
from transformer_core.cli.settings import parse_settings
from transformer_core.model.presets import PRESETS
from transformer_core.training.presets import preset_training
from transformer_core.training.run.directory import RunDirectory

ROOT = Path(__file__).resolve().parents[2]

SMALL = """
    --steps 30 --set d_model=16 --set d_ff=16 --set n_encoder_layers=1 --set n_decoder_layers=1 --set dropout=0.1
    --set log_every=1 --set evaluate_every=20 --set evaluate_pairs=4 --set batch_size=16 --set save_every=10
""".split()


def start(*arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "transformer_core", "train", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def logged(run: Path) -> list[dict[str, float]]:
    """The metrics without what depends on the clock."""
    records = RunDirectory.open(run).metrics.read()
    clocked = ("tokens_per_second", "seconds")
    return [{name: value for name, value in record.items() if name not in clocked} for record in records]


def wait_for_step(run: Path, step: int) -> None:
    """Wait until a run has logged a step."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if (run / "metrics.jsonl").exists() and (run / "metrics.jsonl").read_text().count("\n") >= step:
            return
        time.sleep(0.01)
    raise AssertionError(f"step {step} did not come within five minutes")


@pytest.mark.training
def test_a_whole_run(tmp_path: Path):
    run, kept = tmp_path / "run", tmp_path / "kept"
    process = start("--corpus", "copy", "--run", str(run), "--keep", str(kept), *SMALL)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    assert "copy, tiny: " in out
    assert "step 30 of 30   loss " in out
    assert "step 30, on 1,000 held-out pairs:   loss " in out
    assert "Finished: 30 steps in" in out

    asked = json.loads((run / "run.json").read_text())
    assert (asked["corpus"], asked["model"]["d_model"], asked["training"]["steps"]) == ("copy", 16, 30)
    assert json.loads((run / "status.json").read_text())["state"] == "finished"
    assert [record["step"] for record in logged(run) if "loss" in record] == list(range(1, 31))
    card = read_card(kept)
    assert card["trained"]["steps"] == 30
    assert 0 <= card["metrics"]["exact_match"] <= 1

    again = shlex.split(card["trained"]["command"])
    settings = [value for flag, value in pairwise(again) if flag == "--set"]
    assigned = parse_settings(settings)
    assert not assigned.reading
    vocab_size = asked["model"]["vocab_size"]
    assert replace(PRESETS["tiny"](vocab_size), **assigned.model).to_dict() == asked["model"]
    training = replace(preset_training("tiny", "copy"), **assigned.training, steps=30)
    assert json.loads(json.dumps(training.to_dict())) == asked["training"]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 200 steps that nothing disturbed."""
    run = tmp_path_factory.mktemp("unbroken") / "run"
    start("--corpus", "copy", "--run", str(run), *SMALL, "--steps", "200").communicate(timeout=300)
    return run


@pytest.mark.training
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_and_gone_on_with_it_logs_what_an_unbroken_run_logs(
    tmp_path: Path, unbroken: Path, number: signal.Signals, status: int
):
    stopped = tmp_path / "stopped"
    process = start("--corpus", "copy", "--run", str(stopped), *SMALL, "--steps", "200")
    wait_for_step(stopped, 5)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert process.returncode == status
    assert err.strip() == "Stopping after this step, and saving; once more ends at once."
    assert f"train --run {stopped} --resume" in out
    left = json.loads((stopped / "status.json").read_text())
    assert left["state"] == "stopped"
    assert left["reason"]["template"] == ("Ctrl-C" if number == signal.SIGINT else "SIGTERM")
    assert 5 <= left["step"] < 200

    process = start("--run", str(stopped), "--resume")
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    assert f"Going on after step {left['step']}." in out
    assert logged(stopped) == logged(unbroken)


@pytest.mark.training
def test_a_second_process_on_a_live_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    process = start("--corpus", "copy", "--run", str(tmp_path / "run"), *SMALL, "--steps", "100000")
    try:
        wait_for_step(tmp_path / "run", 2)
        assert main(["train", "--run", str(tmp_path / "run"), "--resume"]) == 2
        assert f"being trained by process {process.pid}" in capsys.readouterr().err
        assert main(["train", "--run", str(tmp_path / "run"), "--corpus", "copy"]) == 2
        assert "already contains a run" in capsys.readouterr().err
    finally:
        process.kill()
        process.communicate()


@pytest.mark.training
@pytest.mark.faults
def test_a_second_ctrl_c_ends_at_once_and_the_run_can_go_on(tmp_path: Path):
    run = tmp_path / "run"
    process = start("--corpus", "copy", "--run", str(run), *SMALL, "--set", "n_encoder_layers=40")
    wait_for_step(run, 1)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "once more" not in process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode in (-signal.SIGINT, 130)  # 130: it was saved before the second one came
    process = start("--run", str(run), "--resume")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)


@pytest.mark.training
def test_copy_is_learned(tmp_path: Path):
    process = start("--corpus", "copy", "--preset", "tiny-one-layer", "--run", str(tmp_path / "run"))
    process.communicate(timeout=300)
    assert process.returncode == 0
    assert read_card(tmp_path / "run" / "last")["metrics"]["exact_match"] >= 0.99
