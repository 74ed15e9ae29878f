"""The work of a training process: a run from beginning to end, broken off and resumed, and what it refuses."""

import errno
import math
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.small_runs import logged, losses, standing
from transformer_core.checkpoints.checkpoint import load, read_card
from transformer_core.corpora import CorpusReading
from transformer_core.corpora.corpus import Corpus
from transformer_core.errors import ConfigError, CorpusError, RunError
from transformer_core.training.loop import StepRecord
from transformer_core.training.run import begin as beginning
from transformer_core.training.run import commands, worker
from transformer_core.training.run.directory import RunDirectory
from transformer_core.training.run.job import Job
from transformer_core.training.run.request import Settings
from transformer_core.training.run.worker import Event, Measurement

MODEL = {"d_model": 16, "d_ff": 32, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1, "dropout": 0.1}
TRAINING: dict[str, Any] = {"steps": 20, "batch_size": 8, "warmup_steps": 10, "log_every": 1, "save_every": 4}
TRAINING |= {"evaluate_every": 10, "evaluate_pairs": 3, "schedule": "paper"}


@pytest.fixture(scope="module", autouse=True)
def corpora(turns: Corpus) -> Iterator[dict[str, Corpus]]:
    """The corpora that can be trained on here."""
    known = {"turns": turns}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beginning, "load_corpus", lambda name, *, seed, reading: known[name])
        yield known


def begin(path: Path, *, model: dict[str, Any] | None = None, **training: Any) -> Job:
    settings = Settings(model=MODEL | (model or {}), training=TRAINING | training)
    return beginning.begin(path, corpus_name="turns", preset="tiny", settings=settings)


def go_on(path: Path, *, corpus_name: str | None = None, preset: str | None = None, **settings: Any) -> Job:
    model = {name: settings.pop(name) for name in list(settings) if name in MODEL}
    asked = Settings(model=model, training=settings)
    return beginning.go_on(path, corpus_name=corpus_name, preset=preset, settings=asked)


def work(job: Job, *, until: int | None = None) -> list[Event]:
    """Work until the run is done, or is asked to stop after a step."""
    return list(worker.work(job, stop_reason=lambda: "enough" if job.step == until else ""))


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory, corpora: dict[str, Corpus]) -> tuple[Path, list[Event]]:
    """The folder of a run that nothing broke off, and its events."""
    job = begin(tmp_path_factory.mktemp("unbroken") / "run")
    return job.directory.path, work(job)


def test_a_run_from_beginning_to_end(unbroken: tuple[Path, list[Event]], turns: Corpus):
    run, events = unbroken
    assert [event.step for event in events if isinstance(event, StepRecord)] == list(range(1, 21))
    *others, final = (event for event in events if isinstance(event, Measurement))
    assert [(other.step, other.n_items) for other in others] == [(4, 3), (8, 3), (12, 3), (16, 3)]  # five in all
    assert (final.step, final.n_items) == (20, len(turns.held_out))
    assert final.metrics.keys() == {"loss", "accuracy", "exact_match"}

    assert standing(run) == ("finished", 20, "")
    records = RunDirectory.open(run).metrics.read()
    steps = [record for record in records if "loss" in record]
    assert [record["step"] for record in steps] == list(range(1, 21))
    tested = [record for record in records if "probe_seen_accuracy" in record]
    assert [record["step"] for record in tested] == [4, 8, 12, 16, 20]
    card = read_card(run / "last")
    assert card["trained"]["steps"] == 20
    assert card["metrics"] == dict(final.metrics)
    reading = asdict(CorpusReading())
    assert card["corpus"] == {"name": "turns", "fingerprint": turns.fingerprint, "seed": 0, "reading": reading}
    assert card["parameters"] == sum(parameter.numel() for parameter in load(run / "last")[0].parameters())


@pytest.mark.training
def test_stopped_and_killed_and_resumed_it_logs_what_an_unbroken_run_logs(
    tmp_path: Path, unbroken: tuple[Path, list[Event]]
):
    run = tmp_path / "broken"
    job = begin(run)
    for killed_after, saved in ((2, 0), (6, 4)):  # saved every four steps
        events = worker.work(job)
        while next(events).step < killed_after:
            pass
        with (run / "metrics.jsonl").open("a") as file:
            file.write('{"step": 7, "los')
        job.directory.release()  # what the system does for a process that is killed
        job = go_on(run)
        assert job.step == saved
    for step in (5, 19):
        work(job, until=step)
        assert standing(run) == ("stopped", step, "enough")
        job = go_on(run)
        assert job.step == step
    work(job)
    assert logged(run) == logged(unbroken[0])
    one, other = (load(folder / "last")[0] for folder in (unbroken[0], run))
    assert all(torch.equal(parameter, other.get_parameter(name)) for name, parameter in one.named_parameters())


def test_a_finished_run_stays_finished_and_can_train_longer(tmp_path: Path, unbroken: tuple[Path, list[Event]]):
    run = tmp_path / "short"
    work(begin(run, steps=12))
    before = logged(run)
    again = go_on(run)
    assert work(again) == []
    assert logged(run) == before
    assert standing(run) == ("finished", 12, "")
    work(go_on(run, steps=20))
    assert losses(run) == losses(unbroken[0])
    assert RunDirectory.open(run).request.training.steps == 20
    with pytest.raises(RunError, match="has already trained 20 steps"):
        go_on(run, steps=15)


def test_a_run_whose_schedule_knows_its_end_cannot_train_longer(tmp_path: Path):
    work(begin(tmp_path / "run", schedule="cosine"), until=5)
    with pytest.raises(RunError, match=r"ends at step 20, .* start a new run with --steps 30"):
        go_on(tmp_path / "run", steps=30)
    assert standing(tmp_path / "run")[0] == "stopped"
    go_on(tmp_path / "run", steps=20).directory.release()


def test_what_was_asked_cannot_change_on_the_way(tmp_path: Path, corpora: dict[str, Corpus]):
    work(begin(tmp_path / "run"), until=2)
    for change, said in (
        ({"seed": 1}, "seed = 0, which cannot be changed to 1"),
        ({"corpus_name": "copy"}, "corpus = turns, which cannot be changed to copy"),
    ):
        with pytest.raises(RunError, match=said):
            go_on(tmp_path / "run", **change)
    same: dict[str, Any] = {"corpus_name": "turns", "preset": "tiny", "seed": 0, "d_model": 16}
    go_on(tmp_path / "run", **same).directory.release()
    turns = corpora["turns"]
    try:
        corpora["turns"] = replace(turns, train=turns.train[1:])
        with pytest.raises(RunError, match="has changed since"):
            go_on(tmp_path / "run")
    finally:
        corpora["turns"] = turns


def test_a_run_that_cannot_begin_leaves_no_folder(tmp_path: Path):
    with pytest.raises(ConfigError):
        begin(tmp_path / "run", batch_size=0)
    with pytest.raises(CorpusError, match="tokens"):
        begin(tmp_path / "run", model={"max_seq_len": 3})
    assert not (tmp_path / "run").exists()


def test_what_fails_leaves_the_last_save(tmp_path: Path):
    run = tmp_path / "run"
    job = begin(run)
    events = worker.work(job)
    while next(events).step < 6:
        pass
    with torch.no_grad():
        next(job.model.parameters()).fill_(math.nan)
    with pytest.raises(RunError, match="became nan at step 7"):
        list(events)
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


def test_at_each_new_snapshot_of_the_film_the_heads_can_be_measured(tmp_path: Path):
    """A line per snapshot in heads.jsonl, though the run is broken off, and a snapshot is asked for twice."""
    job = begin(tmp_path / "run")
    heads = job.directory.film.heads

    def measure(step: int) -> None:
        assert step == job.step
        heads.append({"step": step})

    list(worker.work(job, stop_reason=lambda: "enough" if job.step == 7 else "", on_snapshot=measure))
    job = go_on(tmp_path / "run")
    commands.ask(tmp_path / "run", "snapshot")
    list(worker.work(job, on_snapshot=measure))
    assert [record["step"] for record in heads.read()] == job.directory.film.snapshots() == [*range(21)]
