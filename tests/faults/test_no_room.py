"""A full disk: the run fails in a sentence, what was saved is whole, and with more room it continues."""

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.faults.trained import TOLD, note_heads, told, train
from tests.training.forked import end, start
from tests.training.small_runs import begin, corpus, go_on, losses, standing
from transformer_core.checkpoints.load import load
from transformer_core.errors import RunError
from transformer_core.training.run import worker
from transformer_core.training.run.directory import RunDirectory
from transformer_core.training.run.job import Job

__all__ = ["corpus"]  # a fixture


N_STEPS = 14
TRAINING: dict[str, Any] = {"steps": N_STEPS, "save_every": 3, "evaluate_every": 7}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> list[float]:
    run = tmp_path_factory.mktemp("unbroken") / "run"
    assert end(start(train, run, corpus, TRAINING)) == 0
    return losses(run)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte, in memory."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "headlight-test", str(disk)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs `mount`, to make a small disk")
    if mounted.returncode:
        pytest.skip(f"may not mount a small disk: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def fill(disk: Path, *, free: int) -> Path:
    """Leave this many bytes free, and return the file that takes up the others."""
    ballast = disk / "ballast"
    status = os.statvfs(disk)
    ballast.write_bytes(b"\1" * (status.f_bavail * status.f_frsize - free))
    return ballast


def work(job: Job) -> None:
    for _ in worker.work(job, on_snapshot=lambda step: note_heads(job, step)):
        pass


def check_whole(run: Path) -> int:
    """Read what was saved; return its step."""
    directory = RunDirectory.open(run)
    directory.metrics.read()
    for step in directory.film.snapshots():
        directory.film.load(step)
    saved = directory.read_last()
    if saved is None:
        return 0
    model, _ = load(run / "last")
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, saved.model.get_parameter(name))
    return saved.progress.step


@pytest.mark.parametrize("free", [0, 90_000, 220_000])
def test_a_full_disk_whatever_is_written_when_it_is_full(
    small_disk: Path, corpus: Path, unbroken: list[float], free: int
):
    run = small_disk / "run"
    job = begin(run, corpus, **TRAINING)
    ballast = fill(small_disk, free=free)
    with pytest.raises(RunError, match=r"the disk is full|could not be saved .*No space left") as caught:
        work(job)
    assert "with --resume" in str(caught.value)
    state, step, reason = standing(run)
    assert (state, reason) == ("failed", str(caught.value))
    saved = check_whole(run)
    assert saved <= step <= N_STEPS
    if "is intact" in reason:
        assert f"The checkpoint of step {saved} is intact" in reason

    assert not list(run.glob(".last*"))  # a save that failed gives its room back
    with suppress(RunError):  # still no room: the same again, or there was just enough
        work(go_on(run))
    ballast.unlink()
    if standing(run)[0] != "finished":
        assert check_whole(run) >= saved
        work(go_on(run))
    assert standing(run)[0] == "finished"
    assert losses(run) == unbroken


def test_no_room_to_begin_or_to_go_on(small_disk: Path, corpus: Path):
    ballast = fill(small_disk, free=20_000)  # less than what a run reserves
    with pytest.raises(RunError, match=r"cannot be written \(No space left on device\); choose another folder"):
        begin(small_disk / "run", corpus, **TRAINING)
    ballast.unlink()
    job = begin(small_disk / "run", corpus, **TRAINING)
    list(zip(range(12), worker.work(job), strict=False))
    job.directory.release()
    (small_disk / "run" / ".reserve").unlink()
    ballast = fill(small_disk, free=0)
    for _ in range(2):  # nobody holds it
        with pytest.raises(RunError, match=r"\(No space left on device\); free some disk space and try again"):
            go_on(small_disk / "run")
    ballast.unlink()
    work(go_on(small_disk / "run"))
    assert standing(small_disk / "run")[0] == "finished"


def limit_files(job: Job, n_bytes: int) -> None:
    """From now on no file grows beyond this size; as a full disk, it fails in the middle of a file."""
    sys.dont_write_bytecode = True  # Python keeps what it compiles even where half of it could be written
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, resource.RLIM_INFINITY))


@pytest.mark.parametrize("n_bytes", [800, 9_000, *(pytest.param(n, marks=pytest.mark.full) for n in (1_500, 20_000))])
def test_a_file_that_may_not_grow(tmp_path: Path, corpus: Path, unbroken: list[float], n_bytes: int):
    """No room in the middle of the film's card, of the metrics, of a snapshot, or of the optimizer's tensors."""
    run = tmp_path / "run"
    assert end(start(train, run, corpus, TRAINING, limit_files, n_bytes)) == TOLD
    state, _, reason = standing(run)
    assert state == "failed"
    assert os.strerror(errno.EFBIG) in reason or "the disk is full" in reason
    assert told(run) == [reason]
    check_whole(run)
    assert end(start(train, run, corpus, TRAINING)) == 0
    assert standing(run)[0] == "finished"
    assert losses(run) == unbroken
