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


TRAINING: dict[str, Any] = {"steps": 10, "save_every": 5, "evaluate_every": 5}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    run = tmp_path_factory.mktemp("alone") / "run"
    work(begin(run, corpus, **TRAINING))
    return run


def meet(barrier: Barrier, target: Callable[..., None], *arguments: Any) -> None:
    """Do something at the same moment as others."""
    barrier.wait(timeout=300)
    target(*arguments)


def at_once(n_processes: int, target: Callable[..., None], *arguments: Any) -> list[int | None]:
    """Let this many processes do the same at the same moment; return their exit statuses."""
    barrier = CONTEXT.Barrier(n_processes)
    processes = [start(meet, barrier, target, *arguments) for _ in range(n_processes)]
    return [end(process) for process in processes]


def wait_until_told(job: Job, n_others: int) -> None:
    """Hold the run until the others know that it is held; for five minutes at most."""
    deadline = time.monotonic() + 300
    while len(told(job.directory.path)) < n_others and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.mark.parametrize("is_begun", [False, pytest.param(True, marks=pytest.mark.full)])
def test_of_three_who_begin_or_resume_a_run_one_does(tmp_path: Path, corpus: Path, alone: Path, is_begun: bool):
    if is_begun:
        work(begin(tmp_path / "run", corpus, **TRAINING), until=4)
    ends = at_once(3, train, tmp_path / "run", corpus, TRAINING, wait_until_told, 2)
    assert sorted(map(str, ends)) == ["0", str(TOLD), str(TOLD)]
    sentences = told(tmp_path / "run")
    assert len(sentences) == 2
    others = () if is_begun else ("has just started a run in", "already contains a run")
    ways = ("is being trained by process", *others)
    assert all(any(way in sentence for way in ways) for sentence in sentences)
    assert standing(tmp_path / "run") == ("finished", 10, "")
    assert logged(tmp_path / "run") == logged(alone)


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
