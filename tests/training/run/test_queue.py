"""The queue: places, the order of waiting runs, their folders and commands, and killed processes."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.training.run.holder import holder
from transformer_core.errors import ConfigError, CorpusError, RunError
from transformer_core.training.run import commands
from transformer_core.training.run import status as run_status
from transformer_core.training.run.queue import QueueTurn, n_at_once, n_free, take_place, turn_of, wait_for_place
from transformer_core.training.run.status import RunStatus, WorkDirectory


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate machine with two places."""
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path))
    monkeypatch.setenv("HEADLIGHT_RUNS_AT_ONCE", "2")
    return tmp_path / "places"


class Waiter:
    """Waits for a place in a separate thread."""

    def __init__(self) -> None:
        self.place: QueueTurn | None = None
        self.n_before: list[int] = []
        self.is_wanted = True
        self._thread = Thread(target=self._wait)
        self._thread.start()
        while not self.n_before and self._thread.is_alive():
            time.sleep(0.005)

    def _wait(self) -> None:
        def is_wanted(n_before: int) -> bool:
            self.n_before.append(n_before)
            return self.is_wanted

        self.place = wait_for_place(is_wanted=is_wanted)

    def leave(self) -> None:
        self.is_wanted = False
        self._thread.join()

    def has_come_in(self) -> QueueTurn:
        self._thread.join(timeout=300)
        assert self.place is not None
        return self.place


def test_as_many_places_as_are_wanted(monkeypatch: pytest.MonkeyPatch):
    first, second = take_place(), take_place()
    assert first is not None
    assert second is not None
    assert take_place() is None
    second.release()
    again = take_place()
    assert again is not None
    line: dict[str, Any] = {"is_wanted": lambda n_before: False, "line": "others", "most": 1}  # does not count
    other = wait_for_place(**line)
    assert other is not None
    assert wait_for_place(**line) is None
    for place in (first, again, other):
        place.release()
    for value in ("0", "many"):
        monkeypatch.setenv("HEADLIGHT_RUNS_AT_ONCE", value)
        with pytest.raises(ConfigError, match=f"a whole number of at least 1, got {value!r}"):
            n_at_once()
    monkeypatch.delenv("HEADLIGHT_RUNS_AT_ONCE")
    assert n_at_once() == max(2, (os.cpu_count() or 1) // 2)


def test_where_nobody_can_wait_nobody_needs_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "file"))
    place = wait_for_place(is_wanted=lambda n_before: False)
    assert place is not None
    place.release()
    assert take_place() is not None


def test_who_came_first_goes_first(places: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_RUNS_AT_ONCE", "1")
    at_work = take_place()
    assert at_work is not None
    waiters = [Waiter() for _ in range(4)]
    assert [waiter.n_before[-1] for waiter in waiters] == [0, 1, 2, 3]
    waiters.pop(1).leave()
    for i, waiter in enumerate(waiters):
        at_work.release()
        at_work = waiter.has_come_in()
        assert all(later.place is None for later in waiters[i + 1 :])
    at_work.release()
    assert list(places.glob("ticket-*")) == []


def test_a_killed_run_and_a_killed_waiter_hold_nobody_up(places: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_RUNS_AT_ONCE", "1")
    with holder(places / "place-0.lock"):
        assert take_place() is None
    place = take_place()
    assert place is not None
    place.release()
    ticket = places / f"ticket-{time.time_ns() - 10**10:020}-1.lock"  # somebody has been waiting for ten seconds
    with holder(ticket):
        mine = Waiter()
        assert set(mine.n_before) == {1}  # though there is a place
        assert mine.place is None
    mine.has_come_in().release()
    assert not ticket.exists()


def test_a_ticket_that_is_not_held_yet_counts(places: Path):
    """Between making its ticket and locking it, a process is in line already."""
    places.mkdir()
    (places / f"ticket-{time.time_ns():020}-1.lock").touch()
    mine = Waiter()
    assert set(mine.n_before) == {1}
    mine.leave()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new run, on a machine with one place."""
    monkeypatch.setenv("HEADLIGHT_RUNS_AT_ONCE", "1")
    monkeypatch.setattr(run_status, "_HEARTBEAT_SECONDS", 0.0)  # each sign of life says what it waits for
    return tmp_path / "run"


def standing(run: Path) -> RunStatus:
    status = WorkDirectory(run).standing()
    assert status is not None
    return status


def test_it_waits_without_torch_and_stops_when_asked(run: Path):
    other = take_place()
    assert other is not None
    assert n_free() == 0
    words = ["-m", "transformer_core", "train", "--corpus", "copy", "--run", str(run), "--queue"]
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True) as process:
        while not (run / "status.json").exists():
            assert process.poll() is None
            time.sleep(0.02)
        assert standing(run).state == "queued"
        assert "this machine runs 1 at a time" in str(standing(run).reason)
        if (maps := Path(f"/proc/{process.pid}/maps")).exists():
            assert "torch" not in maps.read_text()
        commands.ask(run, "stop")
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "Stopped while queued.\n")
    assert (standing(run).state, str(standing(run).reason)) == ("stopped", "stopped while queued")
    other.release()
    assert n_free() == 1


def test_its_folder_stays_its_own_until_it_begins_and_says_why_it_could_not(run: Path):
    other = take_place()
    assert other is not None

    def end_the_other() -> str:
        assert standing(run).state == "queued"
        commands.ask(run, "pause")  # taken when it begins
        other.release()
        return ""

    def begin() -> None:
        with turn_of(run, end_the_other) as turn:
            assert turn is not None
            assert n_free() == 0
            assert (standing(run).state, str(standing(run).reason)) == ("queued", "")  # it is not a run that has died
            assert commands.waiting(run) == ["pause"]
            WorkDirectory.refuse_if_taken(run)
            assert WorkDirectory(run).take()
            WorkDirectory(run).keep()
            raise CorpusError("there is no corpus")

    with pytest.raises(CorpusError):
        begin()
    assert (standing(run).state, str(standing(run).reason)) == ("failed", "there is no corpus")
    assert n_free() == 1


@pytest.mark.parametrize("spoil", [lambda run: run.touch(), lambda run: (run / "own").mkdir(parents=True)])
def test_a_folder_of_something_else_stays_as_it_is(run: Path, spoil: Callable[[Path], object]):
    other = take_place()
    assert other is not None
    spoil(run)
    with pytest.raises(RunError, match=r"a run needs a folder|does not contain a run"), turn_of(run, str):
        pass
    assert not list(run.glob("*.json"))
    other.release()
