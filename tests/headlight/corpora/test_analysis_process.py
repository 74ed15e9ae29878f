"""The process of an analysis continues while a client waits, and ends when none does or after too long."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headlight.corpora import analysis_process as module
from headlight.corpora.analysis_process import CancellableWork, Progress, WatchedFolder
from transformer_core.errors import CorpusError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WatchedFolder:
    """A folder of work that somebody waits for, with short times."""
    monkeypatch.setattr(module, "_TICK", 0.02)
    monkeypatch.setattr(module, "UNWANTED_SECONDS", 0.2)
    folder = WatchedFolder(tmp_path / "work")
    folder.want()
    return folder


def until(is_so: Callable[[], bool]) -> None:
    """Wait, as work does."""
    end = time.time() + 60
    while not is_so():
        assert time.time() < end
        time.sleep(0.01)


def test_how_far_it_is_and_what_was_found(folder: WatchedFolder):
    assert folder.progress() == Progress() and not folder.is_alive()
    with CancellableWork(folder) as watched:
        assert folder.is_alive()
        watched.progress = Progress(stage="encodes", n_done=3, n_in_all=7)
        until(lambda: folder.progress().n_done == 3)
        assert folder.progress() == watched.progress
        watched.result = "found"
    assert folder.result.read_text() == "found" and not folder.is_alive()
    folder.delete()
    assert not folder.path.exists()


def test_where_nobody_waits_any_more_it_is_interrupted(folder: WatchedFolder):
    with pytest.raises(KeyboardInterrupt), CancellableWork(folder):
        folder.give_up()
        until(lambda: False)
    assert not folder.is_alive() and not folder.result.exists()


def test_who_closed_the_page_long_ago_does_not_wait(folder: WatchedFolder):
    long_ago = time.time() - module.UNSEEN_SECONDS - 1
    os.utime(folder.wanted_file, (long_ago, long_ago))
    with pytest.raises(KeyboardInterrupt), CancellableWork(folder):
        until(lambda: False)


def test_there_is_an_end_to_it(folder: WatchedFolder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_SECONDS", 0.1)
    with (
        pytest.raises(CorpusError, match="the analysis took more than 0 minutes; use a shorter text"),
        CancellableWork(folder),
    ):
        until(lambda: False)


def test_a_process_without_a_word_for_long_is_taken_for_gone(folder: WatchedFolder):
    folder.write_progress(Progress())
    assert folder.is_alive()
    long_ago = time.time() - 60
    os.utime(folder.path / "progress.json", (long_ago, long_ago))
    assert not folder.is_alive()
    (folder.path / "progress.json").write_text("{")
    assert folder.progress() == Progress()
