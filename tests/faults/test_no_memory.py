"""Too little memory: the run fails in a sentence, and with more it continues."""

import resource
from pathlib import Path

import pytest

from tests.faults.trained import TOLD, told, train
from tests.training.forked import end, start
from tests.training.small_runs import MODEL, corpus, standing
from transformer_core.training.run.job import Job

__all__ = ["corpus"]  # a fixture


# Each layer of a step takes 20 MB at least, which is given back after it, and asked of the system again.
TRAINING = {
    "model": MODEL | {"d_ff": 40_000},
    "batch_size": 30,
    "steps": 2,
    "save_every": 1,
    "evaluate_every": 2,
    "film_megabytes": 0,
}
TOO_LITTLE = 8 << 20  # bytes


def limit_memory(job: Job, n_bytes: int) -> None:
    """From now on this process may take this many bytes more than it has."""
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + n_bytes, resource.RLIM_INFINITY))


def limit_memory_after_a_save(job: Job, n_bytes: int) -> None:
    """The same, from the first save on."""
    save = job.save

    def save_and_limit() -> None:
        save()
        limit_memory(job, n_bytes)

    job.save = save_and_limit  # type: ignore[method-assign]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux, to know how much memory is taken")
def test_with_too_little_memory_a_run_fails_in_a_sentence_and_with_more_it_goes_on(tmp_path: Path, corpus: Path):
    run = tmp_path / "run"
    assert end(start(train, run, corpus, TRAINING, limit_memory, TOO_LITTLE)) == TOLD
    state, step, reason = standing(run)
    assert (state, step) == ("failed", 0)
    assert reason == (
        "there is not enough memory for step 1. No checkpoint has been saved yet. Start a new "
        "run with a smaller batch_size (now 30), more gradient accumulation (accumulate, now 1), "
        "or a smaller model"
    )
    assert told(run) == [reason]

    assert end(start(train, run, corpus, TRAINING, limit_memory_after_a_save, TOO_LITTLE)) == TOLD
    state, step, reason = standing(run)
    assert (state, step) == ("failed", 1)
    assert reason.startswith("there is not enough memory for step 2. The checkpoint of step 1 is intact.")

    assert end(start(train, run, corpus, TRAINING)) == 0
    assert standing(run) == ("finished", 2, "")
