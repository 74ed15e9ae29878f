"""In what order the tests run side by side, which of them are slow, and how both are measured.

`tests/durations.json` holds the seconds of each test file and of each test that takes more than one CPU second.
`pytest --record-durations` rewrites it; a run of everything, on a quiet machine, is worth recording.
"""

import json
import os
import resource
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

MARKS = {"e2e": "browser", "faults": "faults"}  # of all tests in a folder
DURATIONS = Path(__file__).with_name("durations.json")
SLOW = 1.0  # CPU seconds from which a test is slow
OTHER_REASONS = ("browser", "training", "faults")  # markers of tests that the quick suite leaves out anyway
UNKNOWN = 1.0  # seconds that a file is taken for that was never measured


def arranged(seconds: Mapping[str, float], browser: Sequence[str], n_workers: int) -> list[str]:
    """Return the files in the order in which workers should take them.

    xdist gives each worker a run of neighbors, and a worker that has finished takes from the end of another's. So the
    files are dealt out to as many piles as there are workers, the longest first, each to the pile that is shortest so
    far. Files that drive a browser lie on the first pile: they share a server, and wait while others compute.

    Args:
        seconds: what each file takes.
        browser: those of the files that drive a browser.
        n_workers: at least 1.
    """
    piles: list[list[str]] = [[] for _ in range(n_workers)]
    totals = [0.0] * n_workers
    for name in sorted(seconds, key=lambda name: (name not in browser, -seconds[name], name)):
        pile = 0 if name in browser else totals.index(min(totals))
        piles[pile].append(name)
        totals[pile] += seconds[name]
    return [name for pile in piles for name in pile]


def read_durations() -> dict[str, dict[str, float]]:
    """Return the recorded durations: seconds of "files" by path, CPU seconds of "slow" tests by id."""
    return json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {"files": {}, "slow": {}}


def cpu_seconds() -> float:
    """Return the CPU time of this process and of the processes that it started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--full` and `--record-durations`."""
    parser.addoption("--full", action="store_true", help="also run the tests marked full: every combination")
    parser.addoption("--record-durations", action="store_true", help=f"rewrite {DURATIONS.name} from this run")


def pytest_configure(config: pytest.Config) -> None:
    """Record in the process that hears of all tests."""
    if config.getoption("record_durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder())


def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than there are cores, at most 4: a browser test waits most of the time."""
    return min((os.cpu_count() or 1) + 1, 4)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of releases, mark slow tests and folders, and arrange files for parallel workers."""
    if not config.getoption("full"):
        left_out = [item for item in items if item.get_closest_marker("full")]
        items[:] = [item for item in items if not item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=left_out)
    recorded = read_durations()
    for item in items:
        if item.nodeid in recorded["slow"]:
            item.add_marker("slow")
        if mark := MARKS.get(item.path.parent.name):
            item.add_marker(mark)
    n_workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if n_workers == 1:
        return
    files = defaultdict(list)
    for item in items:
        files[item.nodeid.partition("::")[0]].append(item)
    seconds = {name: recorded["files"].get(name, UNKNOWN) for name in files}
    browser = [name for name, tests in files.items() if any(test.get_closest_marker("browser") for test in tests)]
    items[:] = [item for name in arranged(seconds, browser, n_workers) for item in files[name]]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Keep with each test the CPU time before it; what its last report carries is read by the recorder."""
    item.user_properties.append(("cpu before", cpu_seconds()))
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Tell in the report of a test's end what CPU time it took, with its fixtures."""
    if call.when == "teardown":
        before = dict(item.user_properties)["cpu before"]
        assert isinstance(before, float)
        item.user_properties.append(("cpu", cpu_seconds() - before))
    return (yield)


class Recorder:
    """Adds up what tests took and writes it at the end."""

    def __init__(self) -> None:
        self._files: dict[str, float] = defaultdict(float)
        self._slow: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add what one part of a test took."""
        self._files[report.nodeid.partition("::")[0]] += report.duration
        cpu = dict(report.user_properties).get("cpu")
        if isinstance(cpu, float) and cpu > SLOW and not any(marker in report.keywords for marker in OTHER_REASONS):
            self._slow[report.nodeid] = round(cpu, 1)

    def pytest_sessionfinish(self) -> None:
        """Write what was recorded."""
        files = {name: round(taken, 1) for name, taken in sorted(self._files.items())}
        DURATIONS.write_text(json.dumps({"files": files, "slow": dict(sorted(self._slow.items()))}, indent=0) + "\n")
