"""What ended a training, in words; no error that torch or the system raises comes out as it was."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.training.small_runs import begin, corpus, work
from transformer_core.errors import ConfigError, RunError
from transformer_core.training.processes import OtherProcessError
from transformer_core.training.run.directory import NotSavedError, RunDirectory
from transformer_core.training.run.failures import explained, is_short_of_memory

__all__ = ["corpus"]  # a fixture

TORCH_SAYS = (
    "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to ..."
)
SHORT_OF_MEMORY = [
    MemoryError(),
    RuntimeError(TORCH_SAYS),
    RuntimeError("std::bad_alloc"),
    RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("can't start new thread"),
    OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Iterator[RunDirectory]:
    """A run that has saved step 5, with batches of six in three parts."""
    job = begin(tmp_path_factory.mktemp("failures") / "run", corpus, accumulate=3)
    work(job, until=5)
    yield job.directory


@pytest.mark.parametrize("error", SHORT_OF_MEMORY, ids=repr)
def test_too_little_memory(directory: RunDirectory, error: Exception):
    assert is_short_of_memory(error)
    assert str(explained(error, directory, step=7)) == (
        "there is not enough memory for step 8. The checkpoint of step 5 is intact. Start a new "
        "run with a smaller batch_size (now 6), more gradient accumulation (accumulate, now 3), "
        "or a smaller model"
    )


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_no_room(directory: RunDirectory, number: int):
    error = OSError(number, os.strerror(number))
    assert not is_short_of_memory(error)
    failure = explained(error, directory, step=7)
    assert isinstance(failure, RunError)
    assert str(failure) == (
        f"{directory.path} cannot be written: the disk is full. The checkpoint of step 5 is intact; "
        f"free some disk space, then continue with --resume"
    )


def test_what_else_a_system_says(directory: RunDirectory):
    error = PermissionError(errno.EACCES, "Permission denied")
    assert "cannot be written: Permission denied. The checkpoint of step 5 is intact" in str(
        explained(error, directory, step=7)
    )


def test_a_sentence_of_ours_says_what_was_saved(directory: RunDirectory, tmp_path: Path):
    assert str(explained(RunError("the loss became nan"), directory, step=7)) == (
        "the loss became nan. The checkpoint of step 5 is intact"
    )
    never_saved = RunDirectory(tmp_path, directory.request)
    assert str(explained(RunError("the loss became nan"), never_saved, step=7)) == (
        "the loss became nan. No checkpoint has been saved yet"
    )
    lost = explained(OtherProcessError("one of the 2 processes ended"), directory, step=7)
    assert isinstance(lost, OtherProcessError)  # only one of the processes tells it
    assert str(lost) == "one of the 2 processes ended. The checkpoint of step 5 is intact"


@pytest.mark.parametrize(
    "error",
    [
        NotSavedError(
            "step 7 could not be saved in runs/a (No space left); make room, then go on from the save before"
        ),
        ConfigError("HEADLIGHT_RUNS_AT_ONCE must be a whole number"),
        ZeroDivisionError("a defect of ours"),
    ],
    ids=repr,
)
def test_what_says_all_already_or_is_a_defect_stays_as_it_is(directory: RunDirectory, error: Exception):
    assert explained(error, directory, step=7) is error
