"""Training in a process that a test kills or starves: it writes the messages for the person to a file."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.training.small_runs import begin, go_on
from transformer_core.errors import HeadlightError
from transformer_core.training.run import worker
from transformer_core.training.run.job import Job

TOLD = 2  # exit status of a process that ended with a sentence for a person


def train(
    run: Path,
    corpus: Path,
    training: Mapping[str, Any],
    before: Callable[..., object] | None = None,
    *arguments: Any,
) -> None:
    """Begin a run, or continue with it; the messages for the person go into a file beside it.

    Args:
        run: the folder.
        corpus: what to train on.
        training: settings of a new run.
        before: called with the job and the arguments when it is about to train.
        arguments: for that.
    """
    try:
        job = go_on(run) if (run / "run.json").exists() else begin(run, corpus, **training)
        if before is not None:
            before(job, *arguments)
        for _ in worker.work(job, on_snapshot=lambda step: note_heads(job, step)):
            pass
    except HeadlightError as error:
        run.with_name(f"{run.name}.{os.getpid()}.told").write_text(str(error), encoding="utf-8")
        sys.exit(TOLD)


def note_heads(job: Job, step: int) -> None:
    """Append to heads.jsonl, as a training does at each moment of its film."""
    job.directory.film.heads.append({"step": step, "loss": job.metrics.get("loss")})


def told(run: Path) -> list[str]:
    """Return the messages of a run, in any order."""
    return [path.read_text(encoding="utf-8") for path in run.parent.glob(f"{run.name}.*.told")]
