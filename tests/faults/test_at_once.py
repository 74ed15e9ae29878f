"""Several at once: three processes on one run, and two who ask things of it."""

import time
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from tests.faults.trained import TOLD, told, train
from tests.training.forked import CONTEXT, end, start
from tests.training.small_runs import begin, corpus, logged, losses, standing, work
from transformer_core.training.run import commands
from transformer_core.training.run.directory import RunDirectory
from transformer_core.training.run.job import Job

__all__ = ["corpus"]  # a fixture

pytestmark = pytest.mark.faults

TRAINING: dict[str, Any] = {"steps": 10, "save_every": 5, "evaluate_every": 5}


def meet(barrier: Barrier, target: Callable[..., None], *arguments: Any) -> None:
    """Do something at the same moment as others."""
    barrier.wait(timeout=300)
    target(*arguments)


def at_once(n_processes: int, target: Callable[..., None], *arguments: Any) -> list[int | None]:
    """Let so many processes do the same at the same moment; return their exit statuses."""
    barrier = CONTEXT.Barrier(n_processes)
    processes = [start(meet, barrier, target, *arguments) for _ in range(n_processes)]
    return [end(process) for process in processes]


def wait_until_told(job: Job, n_others: int) -> None:
    """Hold the run until the others were told that it is held; for five minutes at most."""
    deadline = time.monotonic() + 300
    while len(told(job.directory.path)) < n_others and time.monotonic() < deadline:
        time.sleep(0.01)


def test_of_three_who_begin_a_run_in_one_folder_one_does(tmp_path: Path, corpus: Path):
    ends = at_once(3, train, tmp_path / "run", corpus, TRAINING, wait_until_told, 2)
    assert sorted(map(str, ends)) == ["0", str(TOLD), str(TOLD)]
    for sentence in told(tmp_path / "run"):
        assert (
            "has just started a run in" in sentence
            or "already contains a run" in sentence
            or "is being trained" in sentence
        )
    assert standing(tmp_path / "run") == ("finished", 10, "")
    work(begin(tmp_path / "alone", corpus, **TRAINING))
    assert logged(tmp_path / "run") == logged(tmp_path / "alone")


def test_of_three_who_go_on_with_a_run_one_does(tmp_path: Path, corpus: Path):
    work(begin(tmp_path / "run", corpus, **TRAINING), until=4)
    ends = at_once(3, train, tmp_path / "run", corpus, TRAINING, wait_until_told, 2)
    assert sorted(map(str, ends)) == ["0", str(TOLD), str(TOLD)]
    sentences = told(tmp_path / "run")
    assert len(sentences) == 2
    for sentence in sentences:
        assert "is being trained by process" in sentence
        assert "stop that one first" in sentence
    work(begin(tmp_path / "alone", corpus, **TRAINING))
    assert logged(tmp_path / "run") == logged(tmp_path / "alone")


def ask_much(run: Path, factors: list[float]) -> None:
    """Ask this and that, again and again, until the run is over."""
    while True:
        status = RunDirectory.open(run).standing()
        if status is not None and status.state == "finished":
            return
        for name in ("pause", "look", "step", "snapshot", "resume"):
            commands.ask(run, name)
        commands.ask(run, "learning-rate", factors[0])
        factors.append(factors.pop(0))
        directory = RunDirectory.open(run)
        directory.metrics.read()
        if directory.film.step_now() is not None:
            directory.film.load_now()


def test_two_who_ask_things_of_one_run_at_once(tmp_path: Path, corpus: Path):
    """Whatever they ask and in whatever order it comes, the run comes to its end, and can be made again."""
    run = tmp_path / "run"
    job = begin(run, corpus, **TRAINING)
    watchers = [start(ask_much, run, factors) for factors in ([0.5, 0.7], [1.0, 2.0, 0.1])]
    job.directory.release()
    assert end(start(train, run, corpus, TRAINING)) == 0
    assert [end(watcher) for watcher in watchers] == [0, 0]
    assert standing(run) == ("finished", 10, "")
    changes = RunDirectory.open(run).request.training.rate_changes
    assert changes
    again: Job = begin(tmp_path / "again", corpus, **TRAINING, rate_changes=changes)
    work(again)
    assert losses(run) == losses(tmp_path / "again")
