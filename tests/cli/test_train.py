"""`train` as a process: finished, stopped by Ctrl-C and gone on with, and a task learned to the end."""

import json
import shlex
import signal
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from headlight.cli.main import main
from tests.training.forked import Command, until
from transformer_core.checkpoints.checkpoint import read_card
from transformer_core.cli.settings import parse_settings
from transformer_core.model.presets import PRESETS
from transformer_core.training.presets import preset_training
from transformer_core.training.run.begin import go_on
from transformer_core.training.run.directory import RunDirectory
from transformer_core.training.run.request import Settings

SMALL = """
    --steps 60 --set d_model=16 --set d_ff=16 --set n_encoder_layers=1 --set n_decoder_layers=1 --set dropout=0.1
    --set log_every=1 --set evaluate_every=20 --set evaluate_pairs=4 --set batch_size=16 --set save_every=10
""".split()


def logged(run: Path) -> list[dict[str, float]]:
    """The metrics without what depends on the clock."""
    records = RunDirectory.open(run).metrics.read()
    clocked = ("tokens_per_second", "seconds")
    return [{name: value for name, value in record.items() if name not in clocked} for record in records]


def until_step(run: Path, step: int) -> None:
    """Wait until a run has logged a step."""
    until(lambda: (run / "metrics.jsonl").exists() and (run / "metrics.jsonl").read_text().count("\n") >= step)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing disturbed, and what is kept of it."""
    folder = tmp_path_factory.mktemp("unbroken")
    words = ["train", "--corpus", "copy", "--run", str(folder / "run"), "--keep", str(folder / "kept"), *SMALL]
    status, out, err = Command(folder / "log", *words).wait()
    assert (status, err) == (0, "")
    (folder / "out").write_text(out)
    return folder


@pytest.mark.training
def test_a_whole_run(unbroken: Path):
    run, kept, out = unbroken / "run", unbroken / "kept", (unbroken / "out").read_text()
    for message in (
        "copy, tiny: ",
        "step 60 of 60   loss ",
        "step 60, on 1,000 held-out pairs:   loss ",
        "Finished: 60",
    ):
        assert message in out
    request = json.loads((run / "run.json").read_text())
    assert (request["corpus"], request["model"]["d_model"], request["training"]["steps"]) == ("copy", 16, 60)
    assert json.loads((run / "status.json").read_text())["state"] == "finished"
    assert [record["step"] for record in logged(run) if "loss" in record] == list(range(1, 61))
    card = read_card(kept)
    assert card["trained"]["steps"] == 60
    assert 0 <= card["metrics"]["exact_match"] <= 1

    again = shlex.split(card["trained"]["command"])
    settings = [value for flag, value in pairwise(again) if flag == "--set"]
    assigned = parse_settings(settings)
    assert not assigned.reading
    vocab_size = request["model"]["vocab_size"]
    model = replace(PRESETS["tiny"](vocab_size), **assigned.model)
    assert json.loads(json.dumps(model.to_dict())) == request["model"]
    training = replace(preset_training("tiny", "copy"), **assigned.training, steps=60)
    assert json.loads(json.dumps(training.to_dict())) == request["training"]


@pytest.mark.training
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.full)]
)
def test_stopped_and_resumed_it_logs_what_an_unbroken_run_logs(
    tmp_path: Path, unbroken: Path, number: signal.Signals, status: int
):
    stopped = tmp_path / "stopped"
    command = Command(tmp_path / "log", "train", "--corpus", "copy", "--run", str(stopped), *SMALL)
    until_step(stopped, 5)
    command.signal(number)
    exit_status, out, err = command.wait()
    assert exit_status == status
    assert err.strip() == "Stopping after this step, and saving; once more ends at once."
    assert f"train --run {stopped} --resume" in out
    left = json.loads((stopped / "status.json").read_text())
    assert left["state"] == "stopped"
    assert left["reason"]["template"] == ("Ctrl-C" if number == signal.SIGINT else "SIGTERM")
    assert 5 <= left["step"] < 60

    exit_status, out, err = Command(tmp_path / "log", "train", "--run", str(stopped), "--resume").wait()
    assert (exit_status, err) == (0, "")
    assert f"Resuming after step {left['step']}." in out
    assert logged(stopped) == logged(unbroken / "run")


@pytest.mark.training
@pytest.mark.faults
def test_a_live_run_is_refused_to_others_and_a_second_ctrl_c_ends_it_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    run, slow = tmp_path / "run", ["--steps", "100000", "--set", "n_encoder_layers=40"]
    command = Command(tmp_path / "log", "train", "--corpus", "copy", "--run", str(run), *SMALL, *slow)
    until_step(run, 1)
    assert main(["train", "--run", str(run), "--resume"]) == 2
    assert f"being trained by process {command.pid}" in capsys.readouterr().err
    assert main(["train", "--run", str(run), "--corpus", "copy"]) == 2
    assert "already contains a run" in capsys.readouterr().err
    command.signal(signal.SIGINT)
    until(lambda: "once more" in command.err)
    command.signal(signal.SIGINT)
    assert command.wait()[0] in (-signal.SIGINT, 130)  # 130: it was saved before the second one came
    job = go_on(run, corpus_name=None, preset=None, settings=Settings())
    job.directory.release()


@pytest.mark.full
@pytest.mark.training
def test_copy_is_learned(tmp_path: Path):
    assert main(["train", "--corpus", "copy", "--preset", "tiny-one-layer", "--run", str(tmp_path / "run")]) == 0
    assert read_card(tmp_path / "run" / "last")["metrics"]["exact_match"] >= 0.99
