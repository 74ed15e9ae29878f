"""The experiments of this machine, as the app finds them: by name, the last one, those at work; old ones go."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st

from headlight.cli.launch import Launcher
from headlight.experiments.experiment import ExperimentDirectory, ExperimentKind, ExperimentRequest
from pages.learn import experiment_runs
from pages.shared import runs
from transformer_core.errors import RunError
from transformer_core.training.run import commands
from transformer_core.training.run.status import RunState

Ended = Callable[..., ExperimentDirectory]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the experiments are; nothing is started in earnest."""
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(Launcher, "warm_up", lambda self: None)
    monkeypatch.setattr(st, "session_state", {})
    return tmp_path / "runs" / ".experiments"


def request(kind: ExperimentKind = "masks") -> ExperimentRequest:
    variants = {"masks": ("look_ahead", "no_mask"), "positions": ("alibi", "none")}[kind]
    return ExperimentRequest(kind=kind, task="copy", variants=variants, seed=0, steps=20)


@pytest.fixture
def ended(place: Path) -> Ended:
    """Makes an experiment that has ended."""

    def make(name: str, state: RunState = "finished", step: int = 20) -> ExperimentDirectory:
        kind: ExperimentKind = "masks" if name.startswith("masks") else "positions"
        directory = ExperimentDirectory.create(place / name, request(kind))
        directory.metrics.append({"step": step, "loss": {}, "seconds": 2.0})
        directory.write_status(state, step=step)
        directory.release()
        return directory

    return make


def test_the_last_one_of_a_kind_is_shown(ended: Ended):
    assert experiment_runs.shown("masks") is None
    for name in ("masks-20260101-120000", "masks-20260102-110000", "masks-20260102-110000-2", "masks-20260102-105959"):
        ended(name)
    ended("positions-20270101-000000")
    shown = experiment_runs.shown("masks")
    assert shown is not None
    assert (shown.name, shown.state, shown.step) == ("masks-20260102-110000-2", "finished", 20)
    assert shown.request == request() and not shown.is_at_work


def test_only_a_name_of_the_pages_own_experiments_finds_one_and_a_damaged_one_says_so(ended: Ended, place: Path):
    ended("masks-20260101-120000")
    for name in ("", "..", "masks", "masks-20260101-120000/..", "../secret", "norms-20260101-120000"):
        assert experiment_runs.find(name) is None
        with pytest.raises(ValueError, match="masks-20260101-120000"):
            experiment_runs.MASKS.read(name)
    with pytest.raises(ValueError, match="the format is positions-"):
        experiment_runs.POSITIONS.read("masks-20260101-120000")
    (place / "masks-20260101-120000" / "experiment.json").write_text("{")
    actual = experiment_runs.find("masks-20260101-120000")
    assert actual is not None and (actual.state, actual.request) == ("failed", None) and "damaged" in str(actual.reason)


def test_who_starts_one_more_too_many_is_told(place: Path, monkeypatch: pytest.MonkeyPatch):
    waiting = [
        ExperimentDirectory.create(place / f"masks-20260101-12000{i}", request())
        for i in range(experiment_runs.MOST_WAITING + 1)
    ]
    assert [experiment.name[-1] for experiment in experiment_runs.at_work()] == [*"01234"]
    with pytest.raises(RunError, match="4 experiments are already queued"):
        experiment_runs.start(request())
    experiment_runs.stop(experiment_runs.at_work()[1])
    assert commands.waiting(waiting[1].path) == ["stop"]
    waiting[0].write_status("finished", step=20)
    actual: list[list[str]] = []
    monkeypatch.setattr(Launcher, "start", lambda self, run, arguments, waits: actual.append([run.name, *arguments]))
    experiment_runs.start(request("positions"))
    ((name, *arguments),) = actual
    assert name.startswith("positions-") and experiment_runs.POSITIONS.value == name
    assert arguments == [*request("positions").arguments, "--folder", str(place / name), "--queue"]
    for directory in waiting:
        directory.release()


def test_the_oldest_that_have_ended_go(ended: Ended, place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(experiment_runs, "MOST_KEPT", 3)
    monkeypatch.setattr(Launcher, "start", lambda self, run, arguments, waits: None)
    at_work = ExperimentDirectory.create(place / "masks-20250101-000000", request())
    for day in range(1, 6):
        ended(f"{'masks' if day % 2 else 'positions'}-2026010{day}-120000")
    experiment_runs.start(request())
    left = sorted(path.name for path in place.glob("*-*"))
    assert left == ["masks-20250101-000000", "masks-20260105-120000", "positions-20260104-120000"]
    at_work.release()


def test_an_experiment_that_a_process_is_about_to_make_is_no_run(place: Path):
    path = place / "masks-20260101-120000"
    try:
        runs.launcher().start(path, ["experiment", "masks", "--steps", "1", "--folder", str(path)])  # which is refused
        assert runs.available() == {}
        deadline = time.monotonic() + 300
        while (
            (actual := experiment_runs.find(path.name)) and actual.state == "starting" and time.monotonic() < deadline
        ):
            time.sleep(0.05)
        assert actual and actual.state == "failed" and "steps must be a whole number" in str(actual.reason)
    finally:
        runs.launcher().close()
