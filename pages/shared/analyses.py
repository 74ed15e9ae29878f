"""What is known of a corpus before it is trained on: found by a separate process, which all who look share.

The page starts the process, says each second that somebody waits, and reads how far it is. Where nobody says so any
more, because it was cancelled or all tabs are closed, the process ends.
"""

import json
import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from headlight.cli.launch import forget_log
from headlight.corpora.analysis_process import Progress, WatchedFolder
from pages.shared import models, runs
from transformer_core.config import Architecture
from transformer_core.corpora.reading import CorpusReading
from transformer_core.errors import NO_MESSAGE, CorpusError, Message
from transformer_core.reasons import reason

if TYPE_CHECKING:
    from headlight.corpora.corpus_stats import CorpusStats

_CANCELLED = 130  # the exit status of a process that ended because nobody waited
_SORRY = 2  # of one that says in a sentence why it could not continue
_OLD_SECONDS = 24 * 3600.0  # after so long, what was left behind is deleted
_STARTING = threading.Lock()  # two sessions start no two processes for one corpus


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """How the analysis of a corpus stands; without statistics and a problem, a process is at work."""

    folder: WatchedFolder
    stats: "CorpusStats | None" = None
    problem: Message = NO_MESSAGE  # why there are no statistics
    progress: Progress = field(default_factory=Progress)


def place_of(corpus: str) -> str:
    """Return the name of a corpus as this process finds it, wherever it was started."""
    from headlight.programs.corpus import PREFIX
    from transformer_core.corpora import BETWEEN, CORPORA

    if corpus.startswith(PREFIX):
        program = models.ROOT / corpus.removeprefix(PREFIX)
        return f"{PREFIX}{program}" if program.exists() else corpus
    return corpus if corpus in CORPORA else BETWEEN.join(str(models.ROOT / part) for part in corpus.split(BETWEEN))


def reading_here(reading: Mapping[str, str | int | bool]) -> Mapping[str, str | int | bool]:
    """Return how a corpus is read, with the folder of a tokenizer as this process finds it, wherever it was started."""
    tokens = str(reading.get("tokens", ""))
    folder = models.ROOT / os.path.expanduser(tokens)
    return {**reading, "tokens": str(folder)} if "/" in tokens and os.path.isdir(folder) else reading


def look(corpus: str, reading: Mapping[str, str | int | bool], architecture: Architecture) -> Analysis:
    """Return how the analysis of a corpus stands, and say that somebody waits; where there is none, it is started.

    Args:
        corpus: as `--corpus` takes it.
        reading: fields of `CorpusReading`.
        architecture: of the model that is to learn from it.

    Raises:
        HeadlightError: there is no such corpus, it cannot be read so, or no process can be started.
    """
    from headlight.corpora.corpus_stats import CorpusStats, kept_stats, made_from

    reading = reading_here(reading)
    chosen, path = CorpusReading(**reading), place_of(corpus)  # type: ignore[arg-type]  # what the widgets offer
    depends_on = json.dumps(made_from(path, chosen, architecture))
    folder = WatchedFolder(_folder() / blake2b(depends_on.encode(), digest_size=8).hexdigest())
    with _STARTING:
        started = next((one for one in runs.launcher().started() if one.run == folder.path), None)
        is_at_work = started.process.poll() is None if started else folder.is_alive()
        stats = kept_stats(path, chosen, architecture)
        if stats is None and folder.result.exists():  # the cache folder cannot be written
            with suppress(OSError, LookupError, TypeError, ValueError):
                stats = CorpusStats.from_json(folder.result.read_text(encoding="utf-8"))
        elif stats is not None and not is_at_work and folder.path.exists():
            folder.delete()
            forget_log(folder.path.parent / ".logs" / f"{folder.path.name}.log")
        if stats is not None:
            return Analysis(folder=folder, stats=stats)
        if started and not is_at_work and started.process.returncode != _CANCELLED:
            return Analysis(folder=folder, problem=_problem(started.process.returncode, started.trouble(), started.log))
        try:
            folder.want()
            if not is_at_work:
                _start(folder, path, reading, architecture)
        except OSError as error:
            raise CorpusError(
                "{folder} cannot be written ({error}); make room there", folder=folder.path, error=reason(error)
            ) from error
    return Analysis(folder=folder, progress=folder.progress())


def forget(analysis: Analysis) -> None:
    """Forget that an analysis failed, so that it is tried again."""
    runs.launcher().forget(analysis.folder.path)


def _folder() -> Path:
    return runs.folder() / ".analyses"


def _start(
    folder: WatchedFolder, path: str, reading: Mapping[str, str | int | bool], architecture: Architecture
) -> None:
    for old in _folder().glob("[!.]*"):
        if time.time() - old.stat().st_mtime > _OLD_SECONDS:
            WatchedFolder(old).delete()
    words = ["inspect", "--corpus", path, "--architecture", architecture, "--folder", str(folder.path)]
    for name, value in reading.items():
        words += ["--set", f"{name}={value if isinstance(value, str) else str(value).lower()}"]
    runs.launcher().forget(folder.path)
    runs.launcher().start(folder.path, words)


def _problem(status: int, trouble: Message, log: Path) -> Message:
    """Return why a process ended without statistics."""
    if status == _SORRY:
        return trouble
    return Message(
        "its analysis ended early (exit status {status}): it was killed or ran out of memory; its output is in {log}",
        status=status,
        log=log,
    )
