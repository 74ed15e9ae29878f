"""Complete runs of about a second, on a corpus in a file, which any process can read."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from transformer_core.training.run import begin as beginning
from transformer_core.training.run import commands, worker
from transformer_core.training.run.commands import CommandName
from transformer_core.training.run.directory import RunDirectory
from transformer_core.training.run.job import Job
from transformer_core.training.run.request import Settings
from transformer_core.training.run.worker import Event

MODEL = {"d_model": 16, "d_ff": 16, "n_heads": 2, "n_decoder_layers": 1, "max_seq_len": 8, "dropout": 0.1}
TRAINING = {
    "steps": 12,
    "batch_size": 6,
    "warmup_steps": 8,
    "schedule": "paper",
    "log_every": 1,
    "save_every": 4,
    "evaluate_every": 6,
    "evaluate_pairs": 2,
}
READING = {"tokens": "word", "division": "lines"}
CLOCKED = ("tokens_per_second", "seconds")


def write_corpus(path: Path) -> Path:
    """Write lines of letters, each letter followed by the next but one."""
    lines = (" ".join("abcdefghij"[(first + 2 * i) % 10] for i in range(n)) for first in range(10) for n in range(3, 9))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file, with its own cache folder; runs wait in line there, and in no other."""
    folder = tmp_path_factory.mktemp("corpus")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_CACHE", str(folder / "cache"))
        yield write_corpus(folder / "letters.txt")
    torch.set_flush_denormal(False)  # a training sets this flag of the processor; other tests shall not feel it


def begin(path: Path, corpus: Path, *, model: Mapping[str, Any] = MODEL, **training: Any) -> Job:
    settings = Settings(model=model, training=TRAINING | training, reading=READING)
    return beginning.begin(path, corpus_name=str(corpus), preset="tiny-decoder", settings=settings)


def go_on(path: Path, **training: Any) -> Job:
    return beginning.go_on(path, corpus_name=None, preset=None, settings=Settings(training=training))


Act = tuple[str, int, Callable[[Job], object]]
"""As soon as a run is in a state after a step, somebody does something."""


def asking(name: CommandName, value: float = 1.0) -> Callable[[Job], object]:
    """Return a function that sends commands to the run of a job through its folder, as any other process would."""
    return lambda job: commands.ask(job.directory.path, name, value)


def work(
    job: Job,
    *acts: Act,
    until: int | None = None,
    on_snapshot: Callable[[int], None] = lambda step: None,
) -> list[Event]:
    """Work until the run is done, or until somebody stops it after a step; on the way the acts are done, in order.

    The process asks after each step, and again and again while it is paused or waits, whether to stop; that is when
    somebody looks. A request then is taken after the next step, or at once by a run that waits.
    """
    left = [*acts]

    def somebody() -> str:
        status = job.directory.status()
        assert status is not None
        is_there = status.state == "running" or status.step == job.step  # which a running one seldom writes
        while left and is_there and left[0][:2] == (status.state, job.step):
            left.pop(0)[2](job)
        return "enough" if job.step == until else ""

    events = list(worker.work(job, stop_reason=somebody, on_snapshot=on_snapshot))
    assert not left, f"the run never came to {left[0][:2]}"
    return events


def logged(path: Path) -> list[dict[str, Any]]:
    """The metrics without what depends on the clock."""
    records = RunDirectory.open(path).metrics.read()
    return [{name: value for name, value in record.items() if name not in CLOCKED} for record in records]


def losses(path: Path) -> list[float]:
    return [record["loss"] for record in logged(path) if "loss" in record]


def standing(path: Path) -> tuple[str, int, str]:
    status = RunDirectory.open(path).standing()
    assert status is not None
    return status.state, status.step, str(status.reason)
