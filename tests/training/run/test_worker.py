"""The work of a training process: a run from beginning to end, interrupted and resumed, and its errors."""

import errno
import math
from pathlib import Path

import pytest
import torch

from tests.training.small_runs import begin, corpus, go_on, logged, losses, standing, work, write_corpus
from transformer_core.checkpoints.checkpoint import read_card
from transformer_core.checkpoints.load import load
from transformer_core.errors import ConfigError, RunError
from transformer_core.training.loop import StepRecord
from transformer_core.training.run import begin as beginning
from transformer_core.training.run import commands, worker
from transformer_core.training.run.directory import RunDirectory
from transformer_core.training.run.job import Job
from transformer_core.training.run.request import Settings
from transformer_core.training.run.worker import Event, Measurement

__all__ = ["corpus"]  # a fixture


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> tuple[Job, list[Event]]:
    """A run that nothing broke off, and its events."""
    job = begin(tmp_path_factory.mktemp("unbroken") / "run", corpus)
    return job, work(job)


def test_a_run_from_beginning_to_end(unbroken: tuple[Job, list[Event]]):
    job, events = unbroken
    run = job.directory.path
    assert [event.step for event in events if isinstance(event, StepRecord)] == [*range(1, 13)]
    *others, final = (event for event in events if isinstance(event, Measurement))
    assert [(other.step, other.n_items) for other in others] == [(step, 2) for step in (2, 4, 6, 8, 10)]
    assert (final.step, final.n_items) == (12, len(job.corpus.held_out))

    assert standing(run) == ("finished", 12, "")
    records = job.directory.metrics.read()
    assert [record["step"] for record in records if "loss" in record] == [*range(1, 13)]
    assert [record["step"] for record in records if "probe_seen_accuracy" in record] == [2, 4, 6, 8, 10, 12]
    card = read_card(run / "last")
    assert card["trained"]["steps"] == 12 and card["trained"]["command"] == job.directory.request.command
    assert card["metrics"] == dict(final.metrics)
    assert (card["name"], card["corpus"]["fingerprint"]) == ("letters", job.corpus.fingerprint)
    assert card["parameters"] == sum(parameter.numel() for parameter in load(run / "last")[0].parameters())


@pytest.mark.training
def test_stopped_and_killed_and_resumed_it_logs_what_an_unbroken_run_logs(
    tmp_path: Path, corpus: Path, unbroken: tuple[Job, list[Event]]
):
    run = tmp_path / "broken"
    job = begin(run, corpus)
    for killed_after, saved in ((2, 0), (6, 4)):  # saved every four steps
        events = worker.work(job)
        while next(events).step < killed_after:
            pass
        with (run / "metrics.jsonl").open("a") as file:
            file.write('{"step": 7, "los')
        job.directory.release()  # what the system does for a process that is killed
        job = go_on(run)
        assert job.step == saved
    for step in (5, 11):
        work(job, until=step)
        assert standing(run) == ("stopped", step, "enough")
        job = go_on(run)
        assert job.step == step
    work(job)
    whole = unbroken[0].directory.path
    assert logged(run) == logged(whole)
    one, other = (load(folder / "last")[0] for folder in (whole, run))
    assert all(torch.equal(parameter, other.get_parameter(name)) for name, parameter in one.named_parameters())


def test_a_finished_run_stays_finished_and_can_train_longer(
    tmp_path: Path, corpus: Path, unbroken: tuple[Job, list[Event]]
):
    run = tmp_path / "short"
    work(begin(run, corpus, steps=8))
    before = logged(run)
    assert work(go_on(run)) == []
    assert logged(run) == before
    assert standing(run) == ("finished", 8, "")
    work(go_on(run, steps=12))
    assert losses(run) == losses(unbroken[0].directory.path)
    assert RunDirectory.open(run).request.training.steps == 12
    with pytest.raises(RunError, match="has already trained 12 steps"):
        go_on(run, steps=10)


def test_a_run_whose_schedule_knows_its_end_cannot_train_longer(tmp_path: Path, corpus: Path):
    work(begin(tmp_path / "run", corpus, schedule="cosine"), until=5)
    with pytest.raises(RunError, match=r"ends at step 12, .* start a new run with --steps 30"):
        go_on(tmp_path / "run", steps=30)
    assert standing(tmp_path / "run")[0] == "stopped"
    go_on(tmp_path / "run", steps=12).directory.release()


def test_what_was_asked_cannot_change_on_the_way(tmp_path: Path, corpus: Path):
    run, letters = tmp_path / "run", write_corpus(tmp_path / "letters.txt")
    work(begin(run, letters), until=2)
    with pytest.raises(RunError, match="seed = 0, which cannot be changed to 1"):
        go_on(run, seed=1)
    with pytest.raises(RunError, match=r"corpus = .*letters\.txt, which cannot be changed to copy"):
        beginning.go_on(run, corpus_name="copy", preset=None, settings=Settings())
    letters.write_text(letters.read_text() + "a c e g\n")
    with pytest.raises(RunError, match="has changed since"):
        go_on(run)


def test_a_run_that_cannot_begin_leaves_no_folder(tmp_path: Path, corpus: Path):
    with pytest.raises(ConfigError):
        begin(tmp_path / "run", corpus, batch_size=0)
    assert not (tmp_path / "run").exists()


def test_what_fails_leaves_the_last_save(tmp_path: Path, corpus: Path):
    run = tmp_path / "run"
    job = begin(run, corpus)
    events = worker.work(job)
    while next(events).step < 6:
        pass
    with torch.no_grad():
        next(job.model.parameters()).fill_(math.nan)
    with pytest.raises(RunError, match="became nan at step 7"):
        list(events)  # step 6 is measured all the same
    assert standing(run)[0] == "failed" and "became nan at step 7" in standing(run)[2]
    saved = job.directory.read_last()
    assert saved is not None
    assert saved.progress.step == 4

    def measure(step: int) -> None:
        if step == 6:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(RunError, match=r"the disk is full\. The checkpoint of step 4 is intact"):
        list(worker.work(go_on(run), on_snapshot=measure))
    assert standing(run)[:2] == ("failed", 6) and "the disk is full" in standing(run)[2]


@pytest.mark.parametrize("step", [8, 12])  # when the run is saved on the way, and at its end
def test_weights_that_an_update_spoils_are_not_saved(tmp_path: Path, corpus: Path, step: int):
    job = begin(tmp_path / "run", corpus)

    def spoil(at: int) -> None:
        next(job.model.parameters()).data.view(-1)[0] += math.inf if at == step else 0

    with pytest.raises(RunError, match=rf"update.* at step {step}.* broke .* The checkpoint of step {step - 4} is"):
        list(worker.work(job, on_snapshot=spoil))
    saved = job.directory.read_last()
    assert standing(tmp_path / "run")[0] == "failed" and saved is not None and saved.progress.step == step - 4


def test_at_each_new_snapshot_of_the_film_the_heads_can_be_measured(tmp_path: Path, corpus: Path):
    """A line per snapshot in heads.jsonl, though the run is broken off, and a snapshot is requested twice."""
    job = begin(tmp_path / "run", corpus)
    heads = job.directory.film.heads

    def measure(step: int) -> None:
        assert step == job.step
        heads.append({"step": step})

    work(job, until=7, on_snapshot=measure)
    job = go_on(tmp_path / "run")
    commands.ask(tmp_path / "run", "snapshot")
    work(job, on_snapshot=measure)
    assert [record["step"] for record in heads.read()] == job.directory.film.snapshots() == [*range(13)]
