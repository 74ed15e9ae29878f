"""Work that goes on only as long as a client waits for it: a folder through which both sides know of each other.

```
wanted          touched by the waiting client; where it is missing or old, the work ends
progress.json   how far the work is; written anew each second, so that its age tells whether the process lives
result.json     what was found
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

MOST_SECONDS = 3600.0  # that such work may take
UNWANTED_SECONDS = 5.0  # without the mark of anybody who waits, after which the work ends
UNSEEN_SECONDS = 120.0  # since a waiting client was last seen; a browser looks once a minute for a hidden tab
_TICK = 0.5  # seconds between two looks
_SILENT_SECONDS = 20.0  # after so long without a word, the process is taken for gone
_PATIENCE = 5.0  # seconds in which the work may clean up behind itself


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far the work is."""

    stage: str = "begins"  # one of STAGES
    n_done: int = 0
    n_in_all: int = 0  # 0: nothing is counted in this stage


class WatchedFolder:
    """The folder of such work, as the waiting client sees it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.wanted_file = path / "wanted"
        self.result = path / "result.json"
        self._progress = path / "progress.json"

    def want(self) -> None:
        """Say that a client waits.

        Raises:
            OSError: the folder cannot be written.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        self.wanted_file.touch()

    def give_up(self) -> None:
        """Wait no more; others who wait say so again in time."""
        with suppress(OSError):
            self.wanted_file.unlink()

    def progress(self) -> Progress:
        """Return how far the work is."""
        with suppress(OSError, ValueError, TypeError):
            return Progress(**json.loads(self._progress.read_text(encoding="utf-8")))
        return Progress()

    def is_alive(self) -> bool:
        """Whether a process works here, as far as what it wrote last tells."""
        with suppress(OSError):
            return time.time() - self._progress.stat().st_mtime < _SILENT_SECONDS
        return False

    def write_progress(self, progress: Progress) -> None:
        """Say how far the work is."""
        self._write(self._progress, json.dumps(asdict(progress)))

    def end(self, result: str | None) -> None:
        """Say what was found, if anything, and that no process works here any more."""
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
    """While this context is open, the process tells how far it is, and is interrupted once nobody waits any more.

    Args:
        folder: of the work.

    Raises:
        CorpusError: the work took too long.
        KeyboardInterrupt: no client waits.
    """

    def __init__(self, folder: WatchedFolder) -> None:
        self.progress = Progress()
        self.result: str | None = None  # set by the work when it is done
        self._folder = folder
        self._is_over = threading.Event()
        self._is_too_long = False
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        with suppress(ValueError):  # it can be set in the main thread alone, where processes of their own work
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
        """Tell how far the work is, and check whether a client still waits."""
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
                if not self._is_over.wait(_PATIENCE):  # inside a library that does not listen
                    sys.stderr.flush()
                    os._exit(2 if self._is_too_long else 130)
                return
