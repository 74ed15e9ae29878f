"""Jobs in separate processes, whose memory nothing else has touched.

`measured` runs one job, which answers by `report`; `kept_processes` takes turns with several that stay alive.
"""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter


def measured(module: str, *arguments: str) -> tuple[float, float]:
    """Run a module that ends with `report`; return the seconds of its job, and its peak of memory in MiB."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, mebibytes = map(float, done.stdout.split()[-2:])
    return seconds, mebibytes


@contextmanager
def kept_processes(
    names: Iterable[str], prepare: Callable[..., None], *shared: object
) -> Iterator[dict[str, ProcessPoolExecutor]]:
    """Give each name its own process, in which `prepare(name, *shared)` has run.

    In one process, where one contestant's numbers lie in memory depends on what the others have left there: a few per
    cent of a forward pass.
    """
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(
                ProcessPoolExecutor(1, get_context("spawn"), initializer=prepare, initargs=(name, *shared))
            )
            for name in names
        }


def report(job: Callable[[], object]) -> None:
    """Run a job, and print its seconds and by how many MiB this process grew meanwhile at most."""
    before, highest, is_over = _resident(), [0.0], threading.Event()

    def watch() -> None:
        while not is_over.wait(0.002):
            highest[0] = max(highest[0], _resident())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    start = perf_counter()
    kept = job()
    seconds = perf_counter() - start
    is_over.set()
    watcher.join()
    del kept
    print(seconds, highest[0] - before)


def _resident() -> float:
    """Return this process's memory in MiB."""
    n_pages = int(Path("/proc/self/statm").read_text().split()[1])
    return n_pages * 4096 / 2**20
