"""Two processes of one training: the losses of one process, the same commands, and output of the first only."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from headlight.cli.main import main
from tests.training.forked import end, start, until
from tests.training.small_runs import MODEL, READING, TRAINING, begin, corpus, go_on, logged, losses, standing, work
from transformer_core.training.processes import Processes
from transformer_core.training.run import begin as beginning
from transformer_core.training.run import commands
from transformer_core.training.run.directory import RunDirectory
from transformer_core.training.run.film import Film
from transformer_core.training.run.request import Settings

__all__ = ["corpus"]  # a fixture

pytestmark = pytest.mark.training

ROOT = Path(__file__).resolve().parents[2]
MODEL_ALIKE = MODEL | {"dropout": 0.0}  # each process draws its own dropout, so only without it are the losses the same


class Together:
    """Two processes at work on one run, started as `torchrun` starts them.

    Args:
        log: takes what the two print.
        arguments: of `train`.
        act: what the two do instead, if not `train`, given their rank.
    """

    def __init__(self, log: Path, *arguments: str, act: Callable[[int], None] | None = None) -> None:
        self.log = log
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.processes = [start(take_part, rank, port, log, arguments, act) for rank in range(2)]

    def wait(self) -> tuple[list[int | None], list[str]]:
        """Wait until both have ended; return their statuses, and the lines that they printed."""
        return [end(process) for process in self.processes], self.log.read_text().splitlines()

    @property
    def is_at_work(self) -> bool:
        return all(process.is_alive() for process in self.processes)


def take_part(rank: int, port: int, log: Path, arguments: tuple[str, ...], act: Callable[[int], None] | None) -> None:
    """Be one of two processes."""
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    printed = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    if act is None:
        sys.exit(main(["train", *arguments]))
    act(rank)


def assignments(**settings: object) -> list[str]:
    return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


def wait_for(condition: Callable[[], bool], together: Together) -> None:
    def has_come() -> bool:
        assert together.is_at_work or condition(), f"it did not come; {together.wait()}"
        return condition()

    until(has_come)


def is_paused_at(run: Path, together: Together, *, after: int = 0) -> int:
    """Wait until the run is paused after a step, and return the step."""
    wait_for(lambda: standing(run)[0] == "paused" and standing(run)[1] > after, together)
    return standing(run)[1]


@pytest.mark.parametrize("way", ["forked", pytest.param("torchrun", marks=pytest.mark.full)])
def test_the_same_losses_as_one_process_and_the_first_alone_writes_and_speaks(tmp_path: Path, corpus: Path, way: str):
    """An encoder, whose rows have different numbers of masked tokens, in batches of five that four parts share."""
    model = MODEL_ALIKE | {"n_encoder_layers": 1, "n_decoder_layers": 0}
    training = TRAINING | {"batch_size": 5, "steps": 6}
    settings = Settings(model=model, training=training, reading=READING)
    alone = beginning.begin(tmp_path / "alone", corpus_name=str(corpus), preset="tiny-encoder", settings=settings)
    work(alone)

    words = assignments(**model, **READING, **(training | {"accumulate": 2}))
    arguments = ["--corpus", str(corpus), "--preset", "tiny-encoder", "--run", str(tmp_path / "together"), *words]
    if way == "forked":
        statuses, lines = Together(tmp_path / "log", *arguments).wait()
        assert statuses == [0, 0]
    else:
        torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "--"]
        command = [sys.executable, *torchrun, "transformer_core", "train", *arguments]
        one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            command, cwd=ROOT, env=one_thread, capture_output=True, text=True, timeout=300, check=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        lines = done.stdout.splitlines()
    assert standing(tmp_path / "together") == ("finished", 6, "")
    one, two = logged(tmp_path / "alone"), logged(tmp_path / "together")
    assert [record.keys() for record in two] == [record.keys() for record in one]
    for record, same in zip(one, two, strict=True):
        for name, value in record.items():
            assert same[name] == pytest.approx(value, rel=1e-4), (name, record["step"])
    assert Film(tmp_path / "together").snapshots() == [*range(7)]
    assert [record["step"] for record in Film(tmp_path / "together").heads.read()] == [*range(7)]

    for line in ("Preparing", "2 processes learn from each batch together", "step 6 of 6", "Finished: 6 steps in"):
        assert sum(actual.startswith(line) for actual in lines) == 1, lines
    parts = [".lock", ".reserve", "film", "last", "metrics.jsonl", "run.json", "status.json"]
    assert sorted(path.name for path in (tmp_path / "together").iterdir()) == parts


def test_commands_work_and_one_process_goes_on_with_what_two_began(tmp_path: Path, corpus: Path):
    run = tmp_path / "run"
    words = assignments(**MODEL_ALIKE, **TRAINING, **READING)
    arguments = ["--corpus", str(corpus), "--preset", "tiny-decoder", "--run", str(run), "--steps", "24"]
    together = Together(tmp_path / "log", *arguments, *words)
    wait_for((run / "status.json").exists, together)
    commands.ask(run, "pause")
    step = is_paused_at(run, together)
    assert step < 20, "the two are too fast for this test"
    commands.ask(run, "learning-rate", 0.5)
    commands.ask(run, "snapshot")
    commands.ask(run, "step")
    assert is_paused_at(run, together, after=step) == step + 1
    assert RunDirectory.open(run).request.training.rate_changes == ((step + 1, 0.5),)
    commands.ask(run, "step", 2.0)
    assert is_paused_at(run, together, after=step + 1) == step + 3
    commands.ask(run, "stop")
    statuses, lines = together.wait()
    assert statuses == [0, 0]
    assert lines.count(f"Stopped after step {step + 3}; all is saved. Continue with:") == 1
    assert standing(run) == ("stopped", step + 3, "stopped by the user")

    work(go_on(run))
    assert standing(run) == ("finished", 24, "")
    whole = start_alone(tmp_path / "whole", corpus, steps=24, rate_changes=((step + 1, 0.5),))
    assert losses(run) == pytest.approx(losses(whole), rel=1e-4)


@pytest.mark.faults
@pytest.mark.parametrize("killed", [pytest.param(0, marks=pytest.mark.full), 1])
def test_two_go_on_with_what_one_began_and_when_one_is_killed_the_run_can_go_on(
    tmp_path: Path, corpus: Path, killed: int
):
    run = tmp_path / "run"
    work(begin(run, corpus, model=MODEL_ALIKE, steps=6), until=5)
    together = Together(tmp_path / "log", "--run", str(run), "--resume", "--steps", "100000")
    wait_for(lambda: len(losses(run)) >= 9, together)
    together.processes[killed].kill()
    statuses, lines = together.wait()
    assert statuses[killed] == -signal.SIGKILL
    assert statuses[1 - killed] == 2
    state, _, reason = standing(run)
    assert state == "failed"
    if killed:
        assert re.search(
            "one of the 2 processes .* continue with --resume\\. The checkpoint of step \\d+ is intact", reason
        )
        assert [line for line in lines if "error" in line.lower()] == [f"error: {reason}"]
    else:  # nobody is left who would write, or speak
        assert "its process ended unexpectedly" in reason
        assert not any("error" in line.lower() for line in lines)

    progress = RunDirectory.open(run).progress()
    assert progress is not None
    assert progress.step >= 8
    n_steps = progress.step + 3
    work(go_on(run, steps=n_steps))
    assert standing(run) == ("finished", n_steps, "")
    whole = start_alone(tmp_path / "whole", corpus, steps=n_steps)
    assert losses(run) == pytest.approx(losses(whole), rel=1e-4)


def start_alone(path: Path, corpus: Path, **training: object) -> Path:
    """Train from beginning to end in this process, and return the folder."""
    work(begin(path, corpus, model=MODEL_ALIKE, **training))
    return path


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="a system that does not list the threads of a process")
def test_processes_find_each_other_and_part(tmp_path: Path):
    """No process continues before all have found each other; who leaves keeps no thread that listens to the others.

    One that continued and ended at once left the other with a traceback; one that kept threads was aborted at its end.
    """
    statuses, lines = Together(tmp_path / "log", act=join_late_and_leave).wait()
    assert statuses == [0, 0]
    assert lines[:2] == ["1 has joined", "0 continues"]
    assert len(lines) == 6
    for line in lines[2:]:
        assert ("gloo" in line) == line.startswith("before"), lines


def join_late_and_leave(rank: int) -> None:
    """Add something up with the other process, and print what threads there are before and after leaving."""
    if rank == 1:
        init = dist.init_process_group

        def init_late(*arguments: Any, **options: Any) -> None:
            init(*arguments, **options)
            time.sleep(0.5)
            print("1 has joined", flush=True)

        dist.init_process_group = init_late
    processes = Processes.from_environment()
    processes.join(torch.device("cpu"))
    if rank == 0:
        print("0 continues", flush=True)
    processes.total(torch.ones(1))
    for when in ("before", "after"):
        threads = sorted(path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm"))
        print(f"{when}: {', '.join(threads)}", flush=True)
        processes.leave()


def test_what_is_wrong_is_said_in_a_sentence_and_leaves_no_folder(tmp_path: Path):
    for arguments, message in (
        (["--corpus", "copy", "--set", "n_heads=3"], "must be divisible by n_heads"),
        (["--resume"], "does not contain a run; leave out --resume"),
    ):
        log = tmp_path / f"log-{len(message)}"
        statuses, lines = Together(log, "--run", str(tmp_path / "run"), *arguments).wait()
        assert statuses == [2, 2]
        messages = [line for line in lines if "error" in line.lower()]
        assert messages
        assert all(line.startswith("error: ") and message in line for line in messages)
        assert len(messages) == 1 or "--resume" in arguments  # what all see at the same time, all may say
        assert not (tmp_path / "run").exists()
