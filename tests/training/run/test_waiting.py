"""A run that waits: what its folder says, what it takes of the machine, and what can be asked of it."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from transformer_core.errors import CorpusError, RunError
from transformer_core.training.run import commands
from transformer_core.training.run import status as run_status
from transformer_core.training.run.queue import n_free, take_place, turn_of
from transformer_core.training.run.status import RunStatus, WorkDirectory


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new run, on a machine with one place."""
    monkeypatch.setenv("HEADLIGHT_CACHE", str(tmp_path / "cache"))
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
