"""A process that analyzes a corpus as long as a client waits for it; both communicate through a folder.

```
wanted          touched by the waiting client; when it is missing or old, the process ends
progress.json   the progress, rewritten every half second; its age shows whether the process is alive
result.json     the statistics
```
"""

import json
import os
import shutil
import signal
import sys
import threading
import time
from _thread import interrupt_main
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from transformer_core.errors import CorpusError, Message

STAGES = {
    "begins": Message("loading libraries"),
    "reads": Message("reading the text"),
    "vocabulary": Message("building the vocabulary"),
    "encodes": Message("tokenizing the text"),
    "counts": Message("counting tokens"),
}

MOST_SECONDS = 3600.0  # of an analysis
UNWANTED_SECONDS = 5.0  # without a waiting client, after which the process ends
UNSEEN_SECONDS = 120.0  # after which a client no longer waits; a hidden tab asks once a minute
_TICK = 0.5  # seconds between two checks
_SILENT_SECONDS = 20.0  # without progress, after which the process is considered dead
_PATIENCE = 5.0  # seconds for cleaning up


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of an analysis."""

    stage: str = "begins"  # one of STAGES
    n_done: int = 0
    n_in_all: int = 0  # 0: this stage has no count


class WatchedFolder:
    """The folder of an analysis, as the client sees it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.wanted_file = path / "wanted"
        self.result = path / "result.json"
        self._progress = path / "progress.json"

    def want(self) -> None:
        """Record that a client is waiting.

        Raises:
            OSError: the folder cannot be written.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        self.wanted_file.touch()

    def give_up(self) -> None:
        """Stop waiting; other clients will record again that they are waiting."""
        with suppress(OSError):
            self.wanted_file.unlink()

    def progress(self) -> Progress:
        """Return the latest progress."""
        with suppress(OSError, ValueError, TypeError):
            return Progress(**json.loads(self._progress.read_text(encoding="utf-8")))
        return Progress()

    def is_alive(self) -> bool:
        """Return True if a process has written progress recently."""
        with suppress(OSError):
            return time.time() - self._progress.stat().st_mtime < _SILENT_SECONDS
        return False

    def write_progress(self, progress: Progress) -> None:
        """Write the progress."""
        self._write(self._progress, json.dumps(asdict(progress)))

    def end(self, result: str | None) -> None:
        """Write the result, if any, and remove the progress: the process has ended."""
        if result is not None:
            self._write(self.result, result)
        self._progress.unlink(missing_ok=True)

    def delete(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _write(self, path: Path, text: str) -> None:
        new = path.with_name(f".{path.name}.{os.getpid()}")
        new.write_text(text, encoding="utf-8")
        new.replace(path)


class CancellableWork:
    """While this context is open, the process writes its progress, and is interrupted when no client waits.

    Args:
        folder: of the analysis.

    Raises:
        CorpusError: it took too long.
        KeyboardInterrupt: no client waits.
    """

    def __init__(self, folder: WatchedFolder) -> None:
        self.progress = Progress()
        self.result: str | None = None  # set by the analysis
        self._folder = folder
        self._is_over = threading.Event()
        self._is_too_long = False
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        with suppress(ValueError):  # only possible in the main thread, where separate processes run
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have told its children to ignore it
        self._folder.write_progress(self.progress)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()
        self._folder.end(self.result)
        if self._is_too_long and kind is KeyboardInterrupt:
            raise CorpusError(
                "the analysis took more than {n:.0f} minutes; use a shorter text, or a part of it", n=MOST_SECONDS / 60
            ) from error

    def _watch(self) -> None:
        """Write the progress, and check whether a client still waits."""
        begun = unwanted = time.time()
        while not self._is_over.wait(_TICK):
            now = time.time()
            with suppress(OSError):
                self._folder.write_progress(self.progress)
            with suppress(OSError):
                seen = self._folder.wanted_file.stat().st_mtime
                unwanted = now if now - seen < UNSEEN_SECONDS else unwanted
            self._is_too_long = now - begun > MOST_SECONDS
            if self._is_too_long or now - unwanted > UNWANTED_SECONDS:
                interrupt_main()
                if not self._is_over.wait(_PATIENCE):  # inside a library that ignores interrupts
                    sys.stderr.flush()
                    os._exit(2 if self._is_too_long else 130)
                return
