"""The work of a training process: a run from beginning to end, broken off and gone on with, and what it refuses."""

import errno
import math
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

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
TRAINING = {
    "steps": 20,
    "batch_size": 8,
    "warmup_steps": 10,
    "log_every": 1,
    "save_every": 4,
    "evaluate_every": 10,
    "evaluate_pairs": 3,
    "schedule": "paper",
}


@pytest.fixture(autouse=True)
def corpora(monkeypatch: pytest.MonkeyPatch, turns: Corpus) -> dict[str, Corpus]:
    """The corpora that can be trained on here."""
    known = {"turns": turns}
    monkeypatch.setattr(beginning, "load_corpus", lambda name, *, seed, reading: known[name])
    return known


@pytest.fixture(autouse=True)
def normal_denormals() -> Iterator[None]:
    """A training sets a flag of the processor; other tests shall not feel it."""
    yield
    torch.set_flush_denormal(False)


def begin(path: Path, **training: Any) -> Job:
    settings = Settings(model=MODEL, training=TRAINING | training)
    return beginning.begin(path, corpus_name="turns", preset="tiny", settings=settings)


def go_on(path: Path, *, corpus_name: str | None = None, preset: str | None = None, **settings: Any) -> Job:
    model = {name: settings.pop(name) for name in list(settings) if name in MODEL}
    return beginning.go_on(
        path, corpus_name=corpus_name, preset=preset, settings=Settings(model=model, training=settings)
    )


def work(job: Job, *, until: int | None = None) -> list[Event]:
    """Work until the run is done, or until somebody asks it to stop after a step."""
    return list(worker.work(job, stop_reason=lambda: "enough" if job.step == until else ""))


def logged(path: Path) -> list[dict[str, float]]:
    """The metrics without what depends on the clock."""
    records = RunDirectory.open(path).metrics.read()
    clocked = ("tokens_per_second", "seconds")
    return [{name: value for name, value in record.items() if name not in clocked} for record in records]


@pytest.mark.slow
def test_a_run_from_beginning_to_end(tmp_path: Path, turns: Corpus):
    job = begin(tmp_path / "first")
    events = work(job)
    assert [event.step for event in events if isinstance(event, StepRecord)] == list(range(1, 21))
    *others, final = (event for event in events if isinstance(event, Measurement))
    assert [(other.step, other.n_items) for other in others] == [(4, 3), (8, 3), (12, 3), (16, 3)]  # five in all
    assert (final.step, final.n_items) == (20, len(turns.held_out))
    assert final.metrics.keys() == {"loss", "accuracy", "exact_match"}

    status = job.directory.status()
    assert status is not None
    assert (status.state, status.step, str(status.reason)) == ("finished", 20, "")
    steps = [record for record in job.directory.metrics.read() if "loss" in record]
    assert [record["step"] for record in steps] == list(range(1, 21))
    assert steps[-1]["loss"] < steps[0]["loss"]
    tested = [record for record in job.directory.metrics.read() if "probe_seen_accuracy" in record]
    assert [record["step"] for record in tested] == [4, 8, 12, 16, 20]
    assert all(record["probe_seen_accuracy"] == record["probe_hidden_accuracy"] for record in tested)
    card = read_card(tmp_path / "first" / "last")
    assert card["trained"]["steps"] == 20
    assert card["metrics"] == dict(final.metrics)
    reading = asdict(CorpusReading())
    assert card["corpus"] == {"name": "turns", "fingerprint": turns.fingerprint, "seed": 0, "reading": reading}
    assert card["parameters"] == sum(parameter.numel() for parameter in job.model.parameters())


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory, turns: Corpus) -> Path:
    """The folder of a run that nothing broke off."""
    folder = tmp_path_factory.mktemp("unbroken")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beginning, "load_corpus", lambda name, *, seed, reading: turns)
        work(begin(folder / "run"))
    return folder / "run"


@pytest.mark.training
@pytest.mark.parametrize("breaks", [[1], [10], [4, 5, 19]])
def test_broken_off_and_gone_on_with_it_logs_what_an_unbroken_run_logs(
    tmp_path: Path, unbroken: Path, breaks: list[int]
):
    job = begin(tmp_path / "broken")
    for step in breaks:
        work(job, until=step)
        status = job.directory.status()
        assert status is not None
        assert (status.state, status.step, str(status.reason)) == ("stopped", step, "enough")
        job = go_on(tmp_path / "broken")
        assert job.step == step
    work(job)
    assert logged(tmp_path / "broken") == logged(unbroken)
    one, other = (load(folder / "last")[0] for folder in (unbroken, tmp_path / "broken"))
    assert all(torch.equal(parameter, other.get_parameter(name)) for name, parameter in one.named_parameters())


@pytest.mark.training
@pytest.mark.parametrize("killed_after", [2, 6])
def test_after_a_kill_it_goes_on_from_the_last_save(tmp_path: Path, unbroken: Path, killed_after: int):
    job = begin(tmp_path / "killed")
    events = worker.work(job)
    while next(events).step < killed_after:
        pass
    with (job.directory.path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 7, "los')
    job.directory.release()  # what the system does for a process that is killed
    job = go_on(tmp_path / "killed")
    assert job.step == killed_after // 4 * 4  # nothing, or the save at step 4
    work(job)
    assert logged(tmp_path / "killed") == logged(unbroken)


@pytest.mark.slow
def test_a_finished_run_can_train_longer(tmp_path: Path, unbroken: Path):
    work(begin(tmp_path / "short", steps=12))
    work(go_on(tmp_path / "short", steps=20))

    def losses(run: Path) -> list[float]:
        return [record["loss"] for record in logged(run) if "loss" in record]

    assert losses(tmp_path / "short") == losses(unbroken)
    assert RunDirectory.open(tmp_path / "short").request.training.steps == 20
    assert "--steps 20" in read_card(tmp_path / "short" / "last")["trained"]["command"]
    with pytest.raises(RunError, match="has already trained 20 steps"):
        go_on(tmp_path / "short", steps=15)


@pytest.mark.slow
def test_a_run_whose_schedule_knows_its_end_cannot_train_longer(tmp_path: Path):
    work(begin(tmp_path / "run", schedule="cosine"), until=5)
    with pytest.raises(RunError, match=r"ends at step 20, .* start a new run with --steps 30"):
        go_on(tmp_path / "run", steps=30)
    status = RunDirectory.open(tmp_path / "run").status()
    assert status is not None
    assert status.state == "stopped"
    work(go_on(tmp_path / "run", steps=20))


def test_a_finished_run_stays_finished(tmp_path: Path):
    job = begin(tmp_path / "run")
    work(job)
    before = logged(tmp_path / "run")
    again = go_on(tmp_path / "run")
    assert work(again) == []
    assert logged(tmp_path / "run") == before
    assert again.metrics == job.metrics
    status = again.directory.status()
    assert status is not None
    assert status.state == "finished"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, "seed = 0, which cannot be changed to 1"),
        ({"batch_size": 9}, "batch_size = 8, which cannot be changed to 9"),
        ({"d_model": 32}, "d_model = 16, which cannot be changed to 32"),
        ({"corpus_name": "copy"}, "corpus = turns, which cannot be changed to copy"),
        ({"preset": "transformer_base"}, "preset = tiny, which cannot be changed to transformer_base"),
    ],
)
def test_what_was_asked_cannot_change_on_the_way(tmp_path: Path, change: dict[str, Any], message: str):
    work(begin(tmp_path / "run"), until=2)
    with pytest.raises(RunError, match=message):
        go_on(tmp_path / "run", **change)
    go_on(
        tmp_path / "run", corpus_name="turns", preset="tiny", seed=0, d_model=16
    ).directory.release()  # the same may be said again


def test_a_corpus_that_is_another_one_now_is_refused(tmp_path: Path, corpora: dict[str, Corpus]):
    work(begin(tmp_path / "run"), until=2)
    corpora["turns"] = replace(corpora["turns"], train=corpora["turns"].train[1:])
    with pytest.raises(RunError, match="has changed since"):
        go_on(tmp_path / "run")


def test_a_run_that_cannot_begin_leaves_no_folder(tmp_path: Path):
    with pytest.raises(ConfigError):
        begin(tmp_path / "run", batch_size=0)
    settings = Settings(model=MODEL | {"max_seq_len": 3}, training=TRAINING)
    with pytest.raises(CorpusError, match="tokens"):
        beginning.begin(tmp_path / "run", corpus_name="turns", preset="tiny", settings=settings)
    assert not (tmp_path / "run").exists()


def test_a_loss_that_is_no_number_fails_the_run_and_leaves_the_last_save(tmp_path: Path):
    job = begin(tmp_path / "run")
    events = worker.work(job)
    while next(events).step < 6:
        pass
    with torch.no_grad():
        next(job.model.parameters()).fill_(math.nan)
    with pytest.raises(RunError, match="became nan at step 7"):
        list(events)
    status = job.directory.status()
    assert status is not None
    assert status.state == "failed"
    assert "became nan at step 7" in str(status.reason)
    saved = job.directory.read_last()
    assert saved is not None
    assert saved.progress.step == 4


def test_no_room_fails_the_run_in_a_sentence(tmp_path: Path):
    job = begin(tmp_path / "run")
    (tmp_path / "run" / "metrics.jsonl").mkdir()  # stands for any place that cannot be written
    with pytest.raises(RunError, match=r"cannot be written: .*--resume"):
        work(job)
    status = job.directory.status()
    assert status is not None
    assert status.state == "failed"


def test_the_card_says_what_differs_from_the_preset(tmp_path: Path):
    job = begin(tmp_path / "a run")
    words = job.card()["trained"]["command"]
    assert words.startswith("python -m transformer_core train --corpus turns --preset tiny --run 'runs/a run' ")
    assert str(tmp_path) not in words
    assert "--steps 20" in words
    assert "--set d_model=16" in words
    assert "--set save_every=4" in words
    assert "norm_position" not in words  # as the preset has it


def test_at_each_new_snapshot_of_the_film_the_heads_can_be_measured(tmp_path: Path):
    """A line a snapshot in heads.jsonl, though the run is broken off, and a snapshot is asked for twice."""
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


@pytest.mark.slow
def test_what_goes_wrong_while_heads_are_measured_ends_the_run_in_a_sentence(tmp_path: Path):
    job = begin(tmp_path / "run")

    def measure(step: int) -> None:
        if step == 6:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(RunError, match=r"the disk is full\. The checkpoint of step 4 is intact"):
        list(worker.work(job, on_snapshot=measure))
    status = job.directory.standing()
    assert status is not None
    assert (status.state, status.step) == ("failed", 6)
    assert "the disk is full" in str(status.reason)
    work(go_on(tmp_path / "run"))


def test_a_wrong_number_of_places_ends_the_run_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_RUNS_AT_ONCE", "many")
    with pytest.raises(ConfigError, match="HEADLIGHT_RUNS_AT_ONCE must be a whole number"):
        work(begin(tmp_path / "run"))
    status = RunDirectory.open(tmp_path / "run").standing()
    assert status is not None
    assert status.state == "failed"
    assert "HEADLIGHT_RUNS_AT_ONCE" in str(status.reason)


@pytest.mark.training
@pytest.mark.parametrize(
    "training",
    [
        {"optimizer": "adamw", "weight_decay": 0.1},
        {"schedule": "cosine", "learning_rate_floor": 0.1, "accumulate": 2},
        {"schedule": "constant", "rate_changes": ((3, 0.5), (7, 2.0))},
    ],
)
def test_the_same_seed_gives_the_same_run_broken_off_or_not(tmp_path: Path, training: dict[str, Any]):
    training |= {"steps": 9, "film_megabytes": 0}
    work(begin(tmp_path / "whole", **training))
    work(begin(tmp_path / "broken", **training), until=5)
    work(go_on(tmp_path / "broken"))
    assert logged(tmp_path / "broken") == logged(tmp_path / "whole")
    work(begin(tmp_path / "other", **training, seed=1), until=2)
    assert logged(tmp_path / "other")[:2] != logged(tmp_path / "whole")[:2]
