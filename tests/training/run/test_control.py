"""What is asked of a run, and what a real one does: paused, stepped, stopped, filmed, at another rate."""

import shlex
import time
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
from transformer_core.training.run import commands, worker
from transformer_core.training.run import status as run_status
from transformer_core.training.run.directory import RunDirectory
from transformer_core.training.run.job import Job
from transformer_core.training.run.queue import take_place

__all__ = ["corpus"]  # a fixture

pytestmark = pytest.mark.training
A_DAY = 24 * 3600.0  # s


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    """A run of which nobody asked anything."""
    path = tmp_path_factory.mktemp("undisturbed") / "run"
    work(begin(path, corpus))
    return path


class Looks:
    """Notes how a run stands: its state, its step, and the step that is saved."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int, int]] = []

    def __call__(self, job: Job) -> None:
        status, progress = job.directory.standing(), job.directory.progress()
        assert status is not None
        self.seen.append((status.state, status.step, -1 if progress is None else progress.step))


def test_paused_it_waits_saved_and_goes_on_with_the_same_losses(tmp_path: Path, corpus: Path, undisturbed: Path):
    look = Looks()
    job = begin(tmp_path / "run", corpus)
    work(job, ("running", 1, asking("pause")), ("paused", 2, look), ("paused", 2, asking("resume")))
    assert look.seen == [("paused", 2, 2)]
    assert standing(tmp_path / "run") == ("finished", 12, "")
    assert logged(tmp_path / "run") == logged(undisturbed)


def test_it_takes_single_steps_and_several(tmp_path: Path, corpus: Path, undisturbed: Path):
    look = Looks()
    work(
        begin(tmp_path / "run", corpus),
        ("running", 2, asking("pause")),
        ("paused", 3, asking("step")),
        ("paused", 4, look),
        ("paused", 4, asking("step", 4.0)),
        ("paused", 8, look),
        ("paused", 8, asking("resume")),
    )
    assert look.seen == [("paused", 4, 4), ("paused", 8, 8)]
    assert logged(tmp_path / "run") == logged(undisturbed)


def test_asked_for_steps_while_it_runs_it_does_those_and_pauses(tmp_path: Path, corpus: Path):
    events = work(
        begin(tmp_path / "run", corpus),
        ("running", 2, asking("step", 2.0)),  # taken after step 3
        ("paused", 5, asking("stop")),
    )
    assert [event.step for event in events if isinstance(event, StepRecord)] == [1, 2, 3, 4, 5]
    assert standing(tmp_path / "run") == ("stopped", 5, "stopped by the user")


def test_the_pause_does_not_count_as_training(tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch):
    """Stopped while it is paused, or gone on with: the run knows how long it was trained, not how long it lay."""
    offset = 0.0

    def clock() -> float:
        return real_clock() + offset

    def wait(job: Job) -> None:
        nonlocal offset
        offset += A_DAY

    real_clock = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", clock)
    monkeypatch.setattr(worker, "perf_counter", clock)
    job = begin(tmp_path / "run", corpus)
    work(job, ("running", 1, asking("pause")), ("paused", 2, wait), ("paused", 2, asking("stop")))
    progress = job.directory.progress()
    assert progress is not None
    assert progress.seconds == job.seconds
    assert 0 < job.seconds < A_DAY


@pytest.mark.parametrize("state", ["running", "paused"])
def test_stopped_it_is_saved_and_can_go_on(tmp_path: Path, corpus: Path, undisturbed: Path, state: str):
    before = [("running", 2, asking("pause"))] if state == "paused" else []
    job = begin(tmp_path / "run", corpus)
    work(job, *before, (state, 3, asking("stop")))
    state_now, step, reason = standing(tmp_path / "run")
    assert (state_now, reason) == ("stopped", "stopped by the user")
    assert step == (3 if state == "paused" else 4)
    job = go_on(tmp_path / "run")
    assert job.step == step
    work(job)
    assert logged(tmp_path / "run") == logged(undisturbed)


def test_a_snapshot_that_was_asked_for_is_in_the_film_and_stays(tmp_path: Path, corpus: Path):
    weights: dict[int, dict[str, torch.Tensor]] = {}

    def note(job: Job) -> None:
        weights[job.step] = {name: tensor.clone() for name, tensor in job.model.state_dict().items()}

    job = begin(tmp_path / "run", corpus, film_megabytes=0)
    work(
        job,
        ("running", 4, asking("pause")),
        ("paused", 5, note),
        ("paused", 5, asking("snapshot")),
        ("paused", 5, asking("snapshot")),  # twice is once
        ("paused", 5, asking("step", 2.0)),
        ("paused", 7, asking("snapshot")),
        ("paused", 7, asking("resume")),
    )
    assert job.directory.film.snapshots() == [5, 7]  # a film without room has no others
    model, _ = job.directory.film.load(5)
    assert all(torch.equal(tensor, weights[5][name]) for name, tensor in model.state_dict().items())


def test_who_looks_gets_the_weights_of_this_snapshot(tmp_path: Path, corpus: Path):
    seen: list[int] = []

    def compare(job: Job) -> None:
        step, model, _ = job.directory.film.load_now()
        seen.append(step)
        for name, tensor in job.model.state_dict().items():
            assert torch.equal(tensor, model.state_dict()[name])

    work(
        begin(tmp_path / "run", corpus),
        ("running", 2, asking("look")),  # taken after step 3
        ("running", 3, lambda job: seen.append(job.directory.film.step_now() or 0)),
        ("running", 3, asking("pause")),
        ("paused", 4, asking("look")),
        ("paused", 4, lambda job: None),
        ("paused", 4, asking("step")),
        ("paused", 5, asking("look")),
        ("paused", 5, asking("step", 2.0)),
        ("paused", 7, asking("look")),
        ("paused", 7, asking("step", 1.0)),
        ("paused", 8, asking("stop")),
    )
    directory = RunDirectory.open(tmp_path / "run")
    assert seen == [3]
    step, model, _ = directory.film.load_now()
    assert step == 7
    assert sum(tensor.numel() for tensor in model.state_dict().values()) > 0


@pytest.mark.parametrize("state", ["running", "paused"])
def test_at_another_rate_the_run_can_be_made_again_by_its_own_command(tmp_path: Path, corpus: Path, state: str):
    """The oracle is a second run, begun with what run.json's command says."""
    factor = 0.1 + 0.2  # a factor that no shorter number gives
    before = [("running", 2, asking("pause"))] if state == "paused" else []
    after = [("paused", 3, asking("resume"))] if state == "paused" else []
    changed_after = 3 if state == "paused" else 4
    work(
        begin(tmp_path / "first", corpus),
        *before,
        (state, 3, asking("learning-rate", 5.0)),
        (state, 3, asking("learning-rate", factor)),  # before it was taken: the last one counts
        *after,
        ("running", 8, asking("learning-rate", 2.0)),
    )
    request = RunDirectory.open(tmp_path / "first").request
    assert request.training.rate_changes == ((changed_after + 1, factor), (10, 2.0))
    rates = [record["learning_rate"] for record in logged(tmp_path / "first") if "loss" in record]
    assert rates[9] / rates[changed_after] == pytest.approx(
        2.0 / factor * min(10**-0.5, 10 * 8**-1.5) / min((changed_after + 1) ** -0.5, (changed_after + 1) * 8**-1.5)
    )

    again = run_command(request.command, tmp_path / "again")
    work(again)
    assert losses(tmp_path / "again") == losses(tmp_path / "first")
    assert again.directory.request.training == request.training


def run_command(command: str, path: Path) -> Job:
    """Begin the run of a command of ours, as `train` does, in another folder."""
    words = shlex.split(command)
    assert words[:4] == ["python", "-m", "transformer_core", "train"]
    assigned = parse_settings([value for flag, value in pairwise(words) if flag == "--set"])
    named: dict[str, Any] = {flag: value for flag, value in pairwise(words) if flag.startswith("--")}
    numbers = {name: int(named[f"--{name}"]) for name in ("steps", "seed") if f"--{name}" in named}
    settings = replace(assigned, training={**assigned.training, **numbers})
    return beginning.begin(
        path,
        corpus_name=named["--corpus"],
        preset=named["--preset"],
        settings=settings,
    )


def test_a_rate_asked_for_just_before_the_stop_is_remembered(tmp_path: Path, corpus: Path):
    job = begin(tmp_path / "run", corpus)
    work(
        job,
        ("running", 2, asking("pause")),
        ("paused", 3, asking("learning-rate", 0.5)),
        ("paused", 3, asking("stop")),
    )
    assert RunDirectory.open(tmp_path / "run").request.training.rate_changes == ((4, 0.5),)
    work(go_on(tmp_path / "run"))
    assert losses(tmp_path / "run") != []


def test_what_is_asked_last_counts_though_other_changes_were_planned(tmp_path: Path, corpus: Path):
    job = begin(tmp_path / "run", corpus, rate_changes=((2, 0.5), (6, 0.25), (9, 0.1)))
    work(job, ("running", 5, asking("learning-rate", 2.0)))  # taken after step 6
    assert job.directory.request.training.rate_changes == ((2, 0.5), (6, 0.25), (7, 2.0))
    assert standing(tmp_path / "run")[0] == "finished"


def test_broken_off_paused_and_at_another_rate_it_is_as_if_unbroken(tmp_path: Path, corpus: Path):
    """A kill between the change and the next save: the run goes back, and comes by the change again."""
    path = tmp_path / "broken"
    job = begin(path, corpus)
    work(job, ("running", 4, asking("learning-rate", 0.5)), until=6)  # from step 6 on
    job = go_on(path)
    assert job.directory.request.training.rate_changes == ((6, 0.5),)
    work(job, ("running", 7, asking("pause")), ("paused", 8, asking("resume")), until=9)
    work(go_on(path))

    whole = begin(tmp_path / "whole", corpus, rate_changes=((6, 0.5),))
    work(whole)
    assert logged(path) == logged(tmp_path / "whole")


def test_what_nobody_can_do_disturbs_nobody(tmp_path: Path, corpus: Path, undisturbed: Path):
    def ask_nonsense(job: Job) -> None:
        folder = job.directory.path / "commands"
        folder.mkdir(exist_ok=True)
        for name, content in (("step", "nan"), ("learning-rate", "-3"), ("pause", ""), ("dance", "1.0")):
            (folder / name).write_text(content)

    work(begin(tmp_path / "run", corpus), ("running", 2, ask_nonsense))
    assert logged(tmp_path / "run") == logged(undisturbed)


def test_what_is_asked_of_a_run_that_waits_is_done_when_it_begins(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HEADLIGHT_RUNS_AT_ONCE", "1")
    monkeypatch.setattr(run_status, "_HEARTBEAT_SECONDS", 0.0)  # each sign of life says what it waits for
    other = take_place()
    assert other is not None
    job = begin(tmp_path / "run", corpus)

    def end_the_other(job: Job) -> None:
        reason = "queued until another training ends: this machine runs 1 at a time, paused ones included"
        assert standing(tmp_path / "run") == ("queued", 0, reason)
        assert commands.waiting(tmp_path / "run") == ["pause", "learning-rate"]
        other.release()

    work(
        job,
        ("queued", 0, asking("pause")),
        ("queued", 0, asking("learning-rate", 0.5)),
        ("queued", 0, end_the_other),
        ("paused", 1, asking("stop")),
        waits=True,
    )
    assert standing(tmp_path / "run")[:2] == ("stopped", 1)
    assert job.directory.request.training.rate_changes == ((2, 0.5),)


def test_stopped_while_it_waits(tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_RUNS_AT_ONCE", "1")
    other = take_place()
    assert other is not None
    work(begin(tmp_path / "run", corpus), ("queued", 0, asking("stop")), waits=True)
    assert standing(tmp_path / "run") == ("stopped", 0, "stopped while queued")
    other.release()
    work(go_on(tmp_path / "run"), waits=True)
    assert standing(tmp_path / "run") == ("finished", 12, "")


def test_what_was_asked_of_a_dead_run_is_forgotten_when_it_goes_on(tmp_path: Path, corpus: Path, undisturbed: Path):
    work(begin(tmp_path / "run", corpus), until=3)
    for name in ("stop", "pause"):
        commands.ask(tmp_path / "run", name)
    work(go_on(tmp_path / "run"))
    assert commands.waiting(tmp_path / "run") == []
    assert logged(tmp_path / "run") == logged(undisturbed)
