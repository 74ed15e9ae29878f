"""Commands to a run are taken once, in order; invalid ones are refused or dropped."""

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from transformer_core.errors import RunError
from transformer_core.training.run.commands import Command, ask, clear, take, waiting


def test_what_is_asked_is_taken_once_and_in_order(tmp_path: Path):
    arguments = [
        Command("step", 3.0),
        Command("learning-rate", 0.5),
        Command("pause"),
        Command("look"),
        Command("resume"),
    ]
    for command in arguments:  # faster than the clock of the file system ticks
        ask(tmp_path, *command)
    assert waiting(tmp_path) == ["pause", "resume", "step", "look", "learning-rate"]
    assert take(tmp_path) == arguments
    assert list((tmp_path / "commands").iterdir()) == []


def test_asked_twice_the_last_one_counts(tmp_path: Path):
    ask(tmp_path, "learning-rate", 0.5)
    ask(tmp_path, "snapshot")
    ask(tmp_path, "learning-rate", 0.1 + 0.2)  # no digit is lost
    assert take(tmp_path) == [Command("snapshot"), Command("learning-rate", 0.1 + 0.2)]
    ask(tmp_path, "stop")
    clear(tmp_path)
    assert waiting(tmp_path) == []
    assert take(tmp_path) == []


@pytest.mark.parametrize("value", [0.0, math.nan])
def test_a_number_that_makes_no_sense_is_refused(tmp_path: Path, value: float):
    with pytest.raises(RunError, match=rf"^learning-rate must be a number above 0, got {value!r}"):
        ask(tmp_path, "learning-rate", value)
    assert not (tmp_path / "commands").exists()


@pytest.mark.parametrize("content", [b"", b"nan", b"-1", b"\xff\xfe"])
def test_what_nobody_can_read_or_do_is_dropped(tmp_path: Path, content: bytes):
    ask(tmp_path, "pause")
    (tmp_path / "commands" / "learning-rate").write_bytes(content)
    (tmp_path / "commands" / "dance").write_text("1.0")
    assert take(tmp_path) == [Command("pause")]
    assert [path.name for path in (tmp_path / "commands").iterdir()] == ["dance"]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path):
    with pytest.raises(
        RunError, match=r"nowhere/commands cannot be written \(No such file .*the command pause did not reach"
    ):
        ask(tmp_path / "nowhere", "pause")


def test_nothing_is_left_of_a_process_that_was_killed_while_it_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As a kill between two of its steps leaves the folder: the names are taken, not yet removed."""
    ask(tmp_path, "look")
    ask(tmp_path, "snapshot")
    with monkeypatch.context() as killed:
        killed.setattr(Path, "unlink", lambda path, missing_ok=False: None)
        assert take(tmp_path) == [Command("look"), Command("snapshot")]
    assert sorted(path.name for path in (tmp_path / "commands").iterdir()) == [".look.taken", ".snapshot.taken"]
    ask(tmp_path, "look")
    clear(tmp_path)
    assert list((tmp_path / "commands").iterdir()) == []


def test_of_many_who_ask_while_it_is_taken_none_is_half_read(tmp_path: Path):
    n_askers, n_times = 4, 40
    taken: list[Command] = []

    def ask_often(asker: int) -> None:
        for i in range(n_times):
            ask(tmp_path, "learning-rate", 1.0 + asker + i / 1000)

    with ThreadPoolExecutor(n_askers) as pool:
        askers = [pool.submit(ask_often, asker) for asker in range(n_askers)]
        while not all(asker.done() for asker in askers):
            taken += take(tmp_path)
    taken += take(tmp_path)
    possible = {1.0 + asker + i / 1000 for asker in range(n_askers) for i in range(n_times)}
    assert {command.value for command in taken} <= possible
    assert taken[-1].value in {1.0 + asker + (n_times - 1) / 1000 for asker in range(n_askers)}  # the last is not lost
    assert all(asker.exception() is None for asker in askers)
    assert list((tmp_path / "commands").iterdir()) == []
