"""Which trainings there are, how they stand, and what is known of them from their folders."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from pages.shared import runs
from pages.shared.runs import Run
from tests.pages.train.small_films import save_run
from transformer_core.errors import RunError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app's runs: none yet."""
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path / "runs"))
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


def run_of(name: str) -> Run:
    run = runs.find(name)
    assert run is not None
    return run


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
    found = runs.available()
    assert [*found] == ["new", "a", "b", "old"], "those of one moment by their names"
    assert [run.path for run in found.values()] == [folder / name for name in found]


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "../other", "a/b", "none"])
def test_only_the_name_of_a_run_finds_one(folder: Path, name: str):
    for place in (".hidden", "../other", "a/b"):
        (folder / place).mkdir(parents=True)
        (folder / place / "run.json").write_text('{"a": 1}')
    (folder / "run.json").write_text('{"a": 1}')
    assert runs.find(name) is None


def test_a_run_tells_its_state_its_step_and_what_was_asked(folder: Path):
    save_run(folder / "one", steps=(0,))
    run = run_of("one")
    assert (run.name, run.state, run.step, run.n_steps) == ("one", "finished", 60, 60)
    assert run.architecture == "encoder_decoder"
    assert run.title == "one · finished" and not run.is_at_work
    (folder / "one" / "status.json").unlink()
    run = run_of("one")
    assert (run.state, run.step, run.n_steps, run.architecture) == ("starting", 0, 0, "") and run.is_at_work
    (folder / "one" / "status.json").write_text("{")
    run = run_of("one")
    assert run.state == "failed" and run.reason and not run.is_at_work


@pytest.mark.parametrize(
    ("state", "is_at_work", "in_the_list"),
    [
        *(("queued", True, "at work"), ("running", True, "at work"), ("paused", True, "paused")),
        *((state, False, state) for state in ("stopped", "finished", "failed")),
    ],
)
def test_a_list_that_is_not_drawn_each_second_says_of_what_goes_on_that_it_is_at_work(
    folder: Path, state: str, is_at_work: bool, in_the_list: str
):
    save_run(folder / "one", steps=(0,))
    stands(folder / "one", state, 3)
    run = run_of("one")
    assert (run.state, run.is_at_work, run.title) == (state, is_at_work, f"one · {in_the_list}")


@pytest.mark.parametrize(
    ("state", "said", "logged", "step"),
    [
        ("running", 3, (1, 5), 5),
        ("running", 3, (1, 2), 2),
        ("running", 3, (), 3),
        ("failed", 3, (1, 5), 5),
        ("failed", 3, (1, 2), 3),
        *((state, 3, (1, 5), 3) for state in ("paused", "stopped", "finished")),
    ],
)
def test_a_run_at_work_is_as_far_as_it_logged_and_one_that_was_killed_as_far_as_anything_says(
    folder: Path, state: str, said: int, logged: tuple[int, ...], step: int
):
    save_run(folder / "one", steps=(0,))
    stands(folder / "one", state, said)
    log(folder / "one", *logged)
    assert run_of("one").step == step


def test_of_a_run_at_work_nothing_is_seen_that_is_later_than_the_run(folder: Path):
    save_run(folder / "one", steps=(0,))
    stands(folder / "one", "running", 2)
    log(folder / "one", 1, 2, 4)
    run = run_of("one")
    log(folder / "one", 1, 2, 4, 6, 8)
    assert [record["step"] for record in runs.records(run)] == [1, 2, 4]
    stands(folder / "one", "finished", 8)
    assert [record["step"] for record in runs.records(run_of("one"))] == [1, 2, 4, 6, 8]


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        *(
            ("Mine", "mine"),
            ("A  text, of mine.TXT", "a-text-of-mine.txt"),
            ("../..", "run"),
            ("", "run"),
            ("é", "run"),
        ),
        *(("-.x.-", "x"), ("one", "one-2"), ("ONE", "one-2"), ("two", "two-3")),
        *(("n" * 50, "n" * 40), ("n" * 39 + ".tsv", "n" * 39)),
    ],
)
def test_a_new_run_has_a_name_like_the_wanted_one_that_is_free(folder: Path, wanted: str, name: str):
    for taken in ("one", "two", "two-2"):
        (folder / taken).mkdir()
    assert runs.free_name(wanted) == name


def test_what_ended_since_the_last_visit_is_told_once(folder: Path):
    save_run(folder / "early", steps=(0,))
    assert runs.ended_since_last_visit(runs.available()) == [], "at the first time, none"
    assert runs.ended_since_last_visit(runs.available()) == []
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
            runs.delete(run_of("one"))
    stands(folder / "one", "stopped", 3)
    (folder / ".one.deleted").mkdir()  # of a deletion that was interrupted
    run = run_of("one")
    runs.delete(run)
    assert [path.name for path in folder.iterdir()] == ["two"]
    runs.delete(run)  # which is gone


def test_what_was_saved_last_is_known_where_it_can_be_read(folder: Path):
    save_run(folder / "one", steps=(0,))
    assert runs.saved_step(run_of("one")) is None, "nothing was"
    run = run_of("one")
    (folder / "one" / "run.json").write_text("{")
    assert runs.saved_step(run) is None
