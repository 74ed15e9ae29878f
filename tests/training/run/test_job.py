"""Messages for errors that end a training; no error of torch or the system is shown verbatim."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.training.small_runs import begin, corpus, work
from transformer_core.errors import ConfigError, RunError
from transformer_core.training.run.directory import NotSavedError, RunDirectory
from transformer_core.training.run.job import explained, is_short_of_memory

__all__ = ["corpus"]  # a fixture

TORCH_SAYS = (
    "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to ..."
)
SHORT_OF_MEMORY = [
    MemoryError(),
    RuntimeError(TORCH_SAYS),
    RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Iterator[RunDirectory]:
    """A run that has saved step 5, with batches of six in three parts."""
    job = begin(tmp_path_factory.mktemp("failures") / "run", corpus, accumulate=3)
    work(job, until=5)
    yield job.directory


def test_too_little_memory(directory: RunDirectory):
    for error in SHORT_OF_MEMORY:
        assert is_short_of_memory(error)
        text = str(explained(error, directory, step=7))
        assert text.startswith("there is not enough memory for step 8. The checkpoint of step 5 is intact. Start a new")
        assert "batch_size (now 6)" in text and "(accumulate, now 3)" in text


def test_what_the_system_says(directory: RunDirectory):
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
        error = OSError(number, os.strerror(number))
        assert not is_short_of_memory(error)
        failure = explained(error, directory, step=7)
        assert isinstance(failure, RunError)
        full = f"{directory.path} cannot be written: the disk is full. The checkpoint of step 5 is intact; free some"
        assert str(failure).startswith(full)
    text = str(explained(PermissionError(errno.EACCES, "Permission denied"), directory, step=7))
    assert "cannot be written: Permission denied. The checkpoint of step 5 is intact" in text


def test_a_sentence_of_ours_says_what_was_saved(directory: RunDirectory, tmp_path: Path):
    error = RunError("the loss became nan")
    assert str(explained(error, directory, step=7)) == "the loss became nan. The checkpoint of step 5 is intact"
    never_saved = RunDirectory(tmp_path, directory.request)
    assert str(explained(error, never_saved, step=7)) == "the loss became nan. No checkpoint has been saved yet"
    for complete in (
        NotSavedError("step 7 could not be saved"),
        ConfigError("a setting"),
        ZeroDivisionError("a defect"),
    ):
        assert explained(complete, directory, step=7) is complete
