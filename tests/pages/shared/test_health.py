"""What is noticed of the server: the times of whole runs, the latest errors with where they arose, and its memory."""

import inspect
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from pages.shared import health

pytestmark = pytest.mark.usefixtures("fresh_caches")


def test_whole_runs_are_timed_page_by_page_and_broken_ones_are_not(monkeypatch: pytest.MonkeyPatch):
    clock = iter([10.0, 10.5, 20.0, 21.25, 30.0, 30.75, 40.0])
    monkeypatch.setattr(health, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    for page in ("heads", "steps", "heads"):
        with health.timed(page):
            pass
    with pytest.raises(ValueError, match="broken"), health.timed("steps"):
        raise ValueError("broken")
    assert {page: [*of] for page, of in health.health().seconds.items()} == {"heads": [0.5, 0.75], "steps": [1.25]}


def test_an_error_is_told_with_the_innermost_line_of_ours_the_latest_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(health, "time", SimpleNamespace(perf_counter=lambda: re.compile("(")))  # raised in Python's own
    with pytest.raises(re.error) as raised, health.timed("steps"):
        pass
    health.note(raised.value)
    health.note(KeyError("never raised"))
    last, first = health.health().failures
    assert first.what.startswith("error: missing )")
    assert first.where == f"health.py:{inspect.unwrap(health.timed).__code__.co_firstlineno + 3}"
    assert (last.what, last.where) == ("KeyError: 'never raised'", "")
    assert last.at.tzinfo is not None and first.at <= last.at


def test_of_runs_and_errors_the_latest_are_kept_and_of_long_ones_the_beginning():
    for n in range(health.MOST_FAILURES + 2):
        health.note(ValueError(f"{n} " + "x" * 400))
    for _ in range(health.MOST_RUNS + 3):
        with health.timed("heads"):
            pass
    assert len(health.health().seconds["heads"]) == health.MOST_RUNS
    kept = [failure.what for failure in health.health().failures]
    assert len(kept) == health.MOST_FAILURES and kept[0].startswith(f"ValueError: {health.MOST_FAILURES + 1} ")
    assert {len(what) for what in kept} == {300}


def test_the_memory_is_that_of_this_process_where_the_machine_says_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(health, "_STATM", tmp_path / "statm")
    assert health.resident_mib() is None
    for content, mib in (("", None), ("12 many", None), ("9000 2560 1", 2560 * os.sysconf("SC_PAGE_SIZE") / (1 << 20))):
        (tmp_path / "statm").write_text(content)
        assert health.resident_mib() == mib
