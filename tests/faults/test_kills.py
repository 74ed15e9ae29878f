"""Killed at any moment, a run can continue, loses one save at most, and in the end is the run that nobody killed."""

import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.faults.trained import train
from tests.training.forked import end, start
from tests.training.small_runs import corpus, logged
from transformer_core.model.transformer import Transformer
from transformer_core.training.run import commands
from transformer_core.training.run.directory import RunDirectory
from transformer_core.training.run.film import Film

__all__ = ["corpus"]  # a fixture


N_STEPS = 16
AFTER_START, AFTER_RUNNING = 0.15, 0.2  # seconds, at most, until a kill that strikes anywhere, or a run at work
CHANGES_FILES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "open", "os.chmod", "os.utime")


def training(save_every: int) -> dict[str, Any]:
    """A film of every step, and saves; evaluations are few, so that most of the time something is written."""
    return {"steps": N_STEPS, "save_every": save_every, "evaluate_every": 8}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    run = tmp_path_factory.mktemp("unbroken") / "run"
    assert end(start(train, run, corpus, training(1))) == 0
    return run


def parameters(model: Transformer) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def check_readable(run: Path, save_every: int) -> int:
    """Read all files of a killed process, as a watching page does; return the step that it can continue from."""
    if not (run / "run.json").exists():
        RunDirectory.refuse_if_taken(run)  # killed before there was a run: it can be begun
        return 0
    directory = RunDirectory.open(run)
    standing = directory.standing()
    assert standing is None or standing.state in ("failed", "finished")
    steps = [record["step"] for record in directory.metrics.read() if "loss" in record]
    assert steps == [*range(1, len(steps) + 1)]
    directory.film.heads.read()
    directory.film.step_now()
    for moment in directory.film.snapshots()[-3:]:
        assert parameters(directory.film.load(moment)[0]).isfinite().all()
    progress, saved = directory.progress(), directory.read_last()
    reached = 0 if progress is None else progress.step
    assert reached >= (max(steps, default=1) - 1) // save_every * save_every
    if saved is not None:
        assert saved.progress == progress
        assert saved.card["trained"]["steps"] == reached
        assert parameters(saved.model).isfinite().all()
        assert all(tensor.isfinite().all() for tensor in saved.optimizer_tensors.values())
    return reached


def check_same(run: Path, unbroken: Path) -> None:
    """Compare a run that came to its end at last with the one that nobody killed."""
    directory = RunDirectory.open(run)
    standing = directory.standing()
    assert standing is not None
    assert (standing.state, standing.step) == ("finished", N_STEPS)
    assert logged(run) == logged(unbroken)
    assert set(directory.film.snapshots()) >= {*range(N_STEPS + 1)}
    assert [record["step"] for record in directory.film.heads.read()] == directory.film.snapshots()
    saved, expected = directory.read_last(), RunDirectory.open(unbroken).read_last()
    assert saved is not None
    assert expected is not None
    assert torch.equal(parameters(saved.model), parameters(expected.model))
    for moment in (0, 1, 5, N_STEPS):
        one, other = (parameters(Film(path).load(moment)[0]) for path in (run, unbroken))
        assert torch.equal(one, other)
    left_over = [path.name for path in run.rglob(".*") if path.name not in (".lock", ".reserve")]
    assert left_over == []


def delays(seed: int) -> Iterator[tuple[bool, float]]:
    """Seeded moments: whether to wait until the run is at work, and for how long to wait then."""
    draw = random.Random(seed)
    while True:
        at_work = draw.random() < 0.7
        yield at_work, draw.random() * (AFTER_RUNNING if at_work else AFTER_START)


def is_at_work(run: Path, n_lines: int) -> bool:
    """Whether a run has logged a step since it had this many lines."""
    try:
        return len((run / "metrics.jsonl").read_bytes().splitlines()) > n_lines
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("n_kills", [6, pytest.param(40, marks=pytest.mark.full)])
def test_killed_at_random_moments(tmp_path: Path, corpus: Path, unbroken: Path, n_kills: int):
    moments, n_killed, n_runs = delays(seed=n_kills), 0, 0
    while n_killed < n_kills:
        n_runs += 1
        run, save_every = tmp_path / f"run-{n_runs}", 1 if n_runs % 2 else 3
        while True:
            reached = check_readable(run, save_every)
            process = start(train, run, corpus, training(save_every))
            if n_killed < n_kills:
                waits, seconds = next(moments)
                deadline = time.monotonic() + 300
                while waits and process.is_alive() and not is_at_work(run, reached + reached // 8 + 1):
                    assert time.monotonic() < deadline
                    time.sleep(0.002)
                if waits and process.is_alive():
                    commands.ask(run, "look")
                    commands.ask(run, "snapshot")
                time.sleep(seconds)
                process.kill()
            status = end(process)
            n_killed += status == -signal.SIGKILL
            if status == 0:
                break
            assert status == -signal.SIGKILL
        check_same(run, unbroken)


def train_and_die(
    run: Path, corpus: Path, settings: dict[str, Any], number: int, seconds: float, counted: Path
) -> None:
    """Train, and be killed a moment after the n-th time that a file of the run is about to change; 0: count them."""
    n_changes = 0
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # it kills, wherever the process is, and needs nobody to send it

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal n_changes
        if event not in CHANGES_FILES or not str(arguments[0]).startswith(str(run)):
            return
        if event == "open" and isinstance(arguments[1], str) and arguments[1].startswith("r"):
            return
        n_changes += 1
        if n_changes == number:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        if not number:
            counted.write_text(str(n_changes))

    sys.addaudithook(hook)
    train(run, corpus, settings)


@pytest.mark.parametrize("n_later", [3, pytest.param(20, marks=pytest.mark.full)])
def test_killed_at_any_change_of_a_file(tmp_path: Path, corpus: Path, unbroken: Path, n_later: int):
    """Not moments but places: at any of the openings, renames and removals that one life makes, or just after it."""
    counted = tmp_path / "counted"
    assert end(start(train_and_die, tmp_path / "whole", corpus, training(3), 0, 0.0, counted)) == 0
    n_changes = int(counted.read_text())
    assert n_changes > 10 * N_STEPS
    draw = random.Random(n_later)
    run = tmp_path / "run"
    first = range(1, 13, 4 if n_later < 20 else 1)  # they make the folder
    for number in (*first, *(draw.randrange(13, n_changes // 3) for _ in range(n_later))):
        seconds = 1e-6 if draw.random() < 0.3 else draw.random() * 4e-4
        status = end(start(train_and_die, run, corpus, training(3), number, seconds, counted))
        if status == 0:
            break
        assert status == -signal.SIGALRM
        check_readable(run, 3)
    assert end(start(train, run, corpus, training(3))) == 0
    check_same(run, unbroken)
