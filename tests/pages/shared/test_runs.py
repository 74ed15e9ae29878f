"""Which trainings there are, how they stand, and what is known of them from their folders."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pages.shared import run_commands, runs
from pages.shared.runs import Run
from tests.pages.train.small_films import save_run
from transformer_core.errors import RunError
from transformer_core.training.run.queue import take_place
from transformer_core.training.run.status import WorkDirectory


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app's runs: none yet."""
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path / "runs"))
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


def run_of(name: str) -> Run:
    return runs.available()[name]


def stands(place: Path, state: str, step: int, host: str = "elsewhere", **values: Any) -> None:
    """Let a run's folder say how it stands; a process of another machine is taken for alive for a while."""
    status = {"state": state, "step": step, "pid": 1, "host": host, "heartbeat": time.time(), "reason": ""} | values
    (place / "status.json").write_text(json.dumps(status))


def log(place: Path, *steps: int) -> None:
    """Replace what was measured."""
    (place / "metrics.jsonl").write_text("".join(json.dumps({"step": step, "loss": 1.0}) + "\n" for step in steps))


def test_the_newest_run_is_first_and_what_is_no_run_is_left_out(folder: Path):
    for name, time_made in (("old", 1_000), ("b", 2_000), ("a", 2_000), ("new", 3_000), (".hidden", 4_000)):
        save_run(folder / name, steps=(0,))
        os.utime(folder / name / "run.json", (time_made, time_made))
    (folder / "notes.txt").write_text("no run")
    (folder / "empty").mkdir()
    actual = runs.available()
    assert [*actual] == ["new", "a", "b", "old"], "those of one moment by their names"
    assert [run.path for run in actual.values()] == [folder / name for name in actual]


def test_only_the_name_of_a_run_finds_one(folder: Path):
    for place in (".hidden", "../other", "a/b", "."):
        (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / place / "run.json").write_text('{"a": 1}')
    assert not [name for name in ("", ".", "..", ".hidden", "../other", "a/b", "none") if runs.find(name)]


def test_a_run_tells_its_state_its_step_and_what_was_asked(folder: Path):
    save_run(folder / "one", steps=(0,))
    run = run_of("one")
    assert (run.state, run.step, run.n_steps, run.architecture) == ("finished", 60, 60, "encoder_decoder")
    assert runs.saved_step(run) is None, "nothing was saved"
    (folder / "one" / "status.json").unlink()
    starting = WorkDirectory(folder / "one")
    assert starting.take()
    run = run_of("one")
    assert (run.state, run.step, run.n_steps, run.architecture) == ("starting", 0, 0, "") and run.is_at_work
    starting.release()
    run = run_of("one")
    assert run.state == "failed" and "its process ended" in str(run.reason), "nobody is left who could start it"
    (folder / "one" / "status.json").write_text("{")
    run = run_of("one")
    assert run.state == "failed" and run.reason and not run.is_at_work
    (folder / "one" / "run.json").write_text("{")
    assert runs.saved_step(run) is None, "which cannot be read"


def test_a_run_at_work_is_as_far_as_it_logged_and_one_that_was_killed_as_far_as_anything_says(folder: Path):
    """A list that is not drawn each second says of what continues that it is at work."""
    save_run(folder / "one", steps=(0,))
    for state, logged, step, in_the_list in (
        ("queued", (), 3, "running"),
        *(("running", logged, step, "running") for logged, step in (((1, 5), 5), ((1, 2), 2), ((), 3))),
        *(("failed", logged, step, "failed") for logged, step in (((1, 5), 5), ((1, 2), 3))),
        *((state, (1, 5), 3, state) for state in ("paused", "stopped", "finished")),
    ):
        stands(folder / "one", state, 3)
        log(folder / "one", *logged)
        run = run_of("one")
        assert (run.step, run.title) == (step, f"one · {in_the_list}"), (state, logged)
        assert run.is_at_work == (state in ("queued", "running", "paused"))


def test_of_a_run_at_work_nothing_is_seen_that_is_later_than_the_run(folder: Path):
    save_run(folder / "one", steps=(0,))
    stands(folder / "one", "running", 2)
    log(folder / "one", 1, 2, 4)
    run = run_of("one")
    log(folder / "one", 1, 2, 4, 6, 8)
    assert [record["step"] for record in runs.records(run)] == [1, 2, 4]
    stands(folder / "one", "finished", 8)
    assert [record["step"] for record in runs.records(run_of("one"))] == [1, 2, 4, 6, 8]


def test_a_new_run_has_a_name_like_the_wanted_one_that_is_free(folder: Path):
    for taken in ("one", "two", "two-2"):
        (folder / taken).mkdir()
    names = {"A  text, of mine.TXT": "a-text-of-mine.txt", "../..": "run", "é": "run", "-.x.-": "x"}
    names |= {"ONE": "one-2", "two": "two-3", "n" * 39 + ".tsv": "n" * 39}
    assert {wanted: run_commands.free_name(wanted) for wanted in names} == names


def test_trainings_that_wait_are_limited_and_import_nothing_first(folder: Path, monkeypatch: pytest.MonkeyPatch):
    waited: list[bool] = []
    visitor = "a"

    def start(run: Path, arguments: Sequence[str], *, waits: bool) -> None:
        waited.append(waits)
        stands(run, "queued", 0)

    monkeypatch.setattr(runs.launcher(), "start", start)
    monkeypatch.setenv("HEADLIGHT_CACHE", str(folder / ".cache"))
    monkeypatch.setenv("HEADLIGHT_RUNS_AT_ONCE", "1")
    monkeypatch.setattr(run_commands.owners, "visitor", lambda: visitor)
    place = take_place()
    assert place is not None
    refused = []
    for i in range(12):
        visitor = "ab"[i // 6]
        try:
            run_commands.start(f"run-{i}", ["--steps", str(i)])
        except RunError as error:
            refused.append(str(error))
    assert sum(run.is_at_work for run in runs.available().values()) == 9 == 1 + run_commands.MOST_WAITING
    assert [error.split(" that you started")[0] for error in refused[:1]] == [
        f"{run_commands.MOST_OF_A_VISITOR} trainings"
    ]
    assert len(refused) == 3
    assert waited == [True] * 9
    stands(folder / "run-3", "stopped", 0)
    run = run_of("run-3")
    assert (run.state, run.request, run.arguments) == ("stopped", None, ("--steps", "3"))
    place.release()
    run_commands.resume(run)
    assert waited[-1] is False
    assert run_of("run-3").state == "queued"


def test_what_ended_since_the_last_visit_is_told_once(folder: Path):
    save_run(folder / "early", steps=(0,))
    assert runs.ended_since_last_visit(runs.available()) == [], "at the first time, none"
    save_run(folder / "between", steps=(0,))
    assert runs.ended_since_last_visit(runs.available()) == ["between"]
    stands(folder / "early", "running", 3)
    assert runs.ended_since_last_visit(runs.available()) == []
    stands(folder / "early", "finished", 4)
    os.utime(folder / "early" / "status.json", (1_000_000, 1_000_000))  # by a clock that is slow
    assert runs.ended_since_last_visit(runs.available()) == ["early"], "it was at work at the last visit"
    assert runs.ended_since_last_visit(runs.available()) == []


def test_a_run_is_deleted_as_a_whole_unless_a_process_works_on_it(folder: Path):
    save_run(folder / "one", steps=(0,))
    save_run(folder / "two", steps=(0,))
    for state in ("queued", "running", "paused"):
        stands(folder / "one", state, 3)
        with pytest.raises(RunError, match="one is training; stop it first"):
            run_commands.delete(run_of("one"))
    stands(folder / "one", "stopped", 3)
    (folder / ".one.deleted").mkdir()  # of a deletion that was interrupted
    run = run_of("one")
    run_commands.delete(run)
    assert [path.name for path in folder.iterdir()] == ["two"]
    run_commands.delete(run)  # which is gone


@pytest.mark.parametrize("content", ["{}", "[]", "null", '{"training": {"steps": "many"}, "model": {}}', "{", None])
def test_a_run_whose_request_is_damaged_has_failed_and_can_be_deleted(folder: Path, content: str | None):
    """And is not about to start, for ever."""
    save_run(folder / "one", steps=(0,))
    (folder / "one" / "run.json").unlink()
    if content is None:
        os.mkfifo(folder / "one" / "run.json")
    else:
        (folder / "one" / "run.json").write_text(content)
    run = run_of("one")
    assert (run.state, run.n_steps, run.architecture, run.is_at_work) == ("failed", 0, "", False)
    assert str(run.reason)
    run_commands.delete(run)
    assert not (folder / "one").exists()
