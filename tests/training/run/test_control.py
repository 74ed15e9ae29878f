"""Commands to a real run: pause, step, stop, snapshot, another learning rate."""

import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.small_runs import asking, begin, corpus, go_on, logged, losses, standing, work
from transformer_core.cli.settings import parse_settings
from transformer_core.training.loop import StepRecord
from transformer_core.training.run import begin as beginning
from transformer_core.training.run import commands
from transformer_core.training.run.directory import RunDirectory
from transformer_core.training.run.job import Job

__all__ = ["corpus"]  # a fixture

pytestmark = pytest.mark.training


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    """A run without requests."""
    path = tmp_path_factory.mktemp("undisturbed") / "run"
    work(begin(path, corpus))
    return path


def test_paused_and_stepped_it_waits_saved_and_has_the_same_losses(tmp_path: Path, corpus: Path, undisturbed: Path):
    seen: list[tuple[str, int, int]] = []

    def look(job: Job) -> None:
        status, progress = job.directory.standing(), job.directory.progress()
        assert status is not None
        seen.append((status.state, status.step, -1 if progress is None else progress.step))

    events = work(
        begin(tmp_path / "run", corpus),
        ("running", 1, asking("step", 2.0)),  # taken after step 2
        ("paused", 4, look),
        ("paused", 4, asking("step")),
        ("paused", 5, asking("step", 3.0)),
        ("paused", 8, look),
        ("paused", 8, asking("resume")),
        ("running", 9, asking("pause")),
        ("paused", 10, look),
        ("paused", 10, asking("resume")),
    )
    assert seen == [("paused", step, step) for step in (4, 8, 10)]
    assert [event.step for event in events if isinstance(event, StepRecord)] == [*range(1, 13)]
    assert standing(tmp_path / "run") == ("finished", 12, "")
    assert logged(tmp_path / "run") == logged(undisturbed)


def test_stopped_it_is_saved_and_can_go_on(tmp_path: Path, corpus: Path, undisturbed: Path):
    """Whether it is running or paused; requests while it is stopped are dropped."""
    job = begin(tmp_path / "run", corpus)
    work(job, ("running", 2, asking("stop")))
    assert standing(tmp_path / "run") == ("stopped", 3, "stopped by the user")
    for name in ("stop", "pause"):
        commands.ask(tmp_path / "run", name)
    job = go_on(tmp_path / "run")
    assert job.step == 3
    work(job, ("running", 5, asking("pause")), ("paused", 6, asking("stop")))
    assert standing(tmp_path / "run") == ("stopped", 6, "stopped by the user")
    work(go_on(tmp_path / "run"))
    assert commands.waiting(tmp_path / "run") == []
    assert logged(tmp_path / "run") == logged(undisturbed)


def test_snapshots_that_are_asked_for_and_looks(tmp_path: Path, corpus: Path):
    weights: dict[int, torch.Tensor] = {}
    looks: list[int] = []

    def flat(model: torch.nn.Module) -> torch.Tensor:
        return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])

    def note(job: Job) -> None:
        weights[job.step] = flat(job.model)

    def compare(job: Job) -> None:
        step, model, _ = job.directory.film.load_now()
        looks.append(step)
        assert torch.equal(flat(model), weights[step])

    job = begin(tmp_path / "run", corpus, film_megabytes=0)
    work(
        job,
        ("running", 4, asking("pause")),
        ("paused", 5, note),
        ("paused", 5, asking("look")),
        ("paused", 5, asking("snapshot")),
        ("paused", 5, asking("snapshot")),  # twice is once
        ("paused", 5, asking("step", 2.0)),
        ("paused", 7, compare),
        ("paused", 7, asking("resume")),
    )
    assert looks == [5]
    assert job.directory.film.snapshots() == [5]  # a film without room has no others
    assert torch.equal(flat(job.directory.film.load(5)[0]), weights[5])


def test_at_another_rate_the_run_can_be_made_again_by_its_own_command(tmp_path: Path, corpus: Path):
    """The oracle is a second run, begun with what run.json's command says."""
    factor = 0.1 + 0.2  # a factor that no shorter number gives
    first = tmp_path / "first"
    work(
        begin(first, corpus, rate_changes=((2, 0.5), (9, 0.1))),
        ("running", 3, asking("learning-rate", 5.0)),
        ("running", 3, asking("learning-rate", factor)),  # before the first is taken: the last one counts
        ("running", 4, asking("learning-rate", 4.0)),  # taken after the step that the former began with
        ("running", 6, asking("pause")),
        ("paused", 7, asking("learning-rate", 2.0)),
        ("paused", 7, asking("stop")),
    )
    changes = ((2, 0.5), (5, factor), (6, 4.0), (8, 2.0))  # what was planned for later is dropped
    assert RunDirectory.open(first).request.training.rate_changes == changes
    work(go_on(first))

    request = RunDirectory.open(first).request
    again = run_command(request.command, tmp_path / "again")
    work(again)
    assert losses(tmp_path / "again") == losses(first)
    assert again.directory.request.training == request.training


def run_command(command: str, path: Path) -> Job:
    """Begin the run of a command of ours, as `train` does, in another folder."""
    words = shlex.split(command)
    assert words[:4] == ["python", "-m", "transformer_core", "train"]
    assigned = parse_settings([value for flag, value in pairwise(words) if flag == "--set"])
    named: dict[str, Any] = {flag: value for flag, value in pairwise(words) if flag.startswith("--")}
    numbers = {name: int(named[f"--{name}"]) for name in ("steps", "seed") if f"--{name}" in named}
    settings = replace(assigned, training={**assigned.training, **numbers})
    return beginning.begin(path, corpus_name=named["--corpus"], preset=named["--preset"], settings=settings)
