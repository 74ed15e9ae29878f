"""Processes that train, started in hundredths of a second: each is a fork of one that has imported everything."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.small_runs import begin, go_on, write_corpus
from transformer_core.errors import HeadlightError
from transformer_core.training import worker
from transformer_core.training.job import Job

CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.faults.warm"])
TOLD = 2  # exit status of a process that ended with a sentence for a person


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file that is trained on, with a cache folder of its own; what is forked has one thread."""
    folder = tmp_path_factory.mktemp("corpus")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_CACHE", str(folder / "cache"))
        patch.setenv("OMP_NUM_THREADS", "1")
        yield write_corpus(folder / "letters.txt")
    torch.set_flush_denormal(False)


def train(
    run: Path,
    corpus: Path,
    training: Mapping[str, Any],
    before: Callable[..., object] | None = None,
    *arguments: Any,
) -> None:
    """Begin a run, or go on with it; what a person is told goes into a file beside it.

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
        for _ in worker.work(job, on_moment=lambda step: note_heads(job, step)):
            pass
    except HeadlightError as error:
        run.with_name(f"{run.name}.{os.getpid()}.told").write_text(str(error), encoding="utf-8")
        sys.exit(TOLD)


def note_heads(job: Job, step: int) -> None:
    """Append to heads.jsonl, as a training does at each moment of its film."""
    job.directory.film.heads.append({"step": step, "loss": job.metrics.get("loss")})


def start(target: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    process = CONTEXT.Process(target=target, args=arguments)
    process.start()
    return process


def end(process: ForkServerProcess) -> int | None:
    """Wait for a process; return its exit status, -9 if it was killed."""
    process.join(timeout=120)
    with suppress(ValueError):
        process.kill()  # only one that hangs is still there
    return process.exitcode


def told(run: Path) -> list[str]:
    """Return what persons were told of a run, in no order."""
    return [path.read_text(encoding="utf-8") for path in run.parent.glob(f"{run.name}.*.told")]
