"""Two processes that `torchrun` started: one run, the same losses as of one process, and the same commands."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.training.small_runs import MODEL, READING, TRAINING, begin, corpus, go_on, logged, losses, standing, work
from transformer_core.training import begin as beginning
from transformer_core.training import commands
from transformer_core.training.begin import Settings
from transformer_core.training.film import Film
from transformer_core.training.run_directory import RunDirectory

__all__ = ["corpus"]  # a fixture

pytestmark = pytest.mark.training

ROOT = Path(__file__).resolve().parents[2]
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
MODEL_ALIKE = MODEL | {"dropout": 0.0}  # each process draws its own dropout, so only without it are the losses the same


class Together:
    """Two processes at work on one run.

    Args:
        arguments: of `train`.
    """

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *TORCHRUN, "-m", "--", "transformer_core", "train", *arguments],
            cwd=ROOT,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out, err

    def others(self, first: int) -> list[int]:
        """The processes that it started, but for the first one."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [pid for pid in map(int, children.split()) if pid != first]


@pytest.fixture
def start() -> Iterator[Callable[..., Together]]:
    started: list[Together] = []

    def start(*arguments: str) -> Together:
        started.append(Together(*arguments))
        return started[-1]

    yield start
    for together in started:
        if together.process.poll() is None:
            together.process.terminate()
            together.process.communicate(timeout=60)


def assignments(**settings: object) -> list[str]:
    return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


def wait_for(condition: Callable[[], bool], together: Together) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        if together.process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"it did not come; {together.wait()}")
        time.sleep(0.01)


def is_paused_at(run: Path, together: Together, *, after: int = 0) -> int:
    """Wait until the run is paused behind a step, and return the step."""
    wait_for(lambda: standing(run)[0] == "paused" and standing(run)[1] > after, together)
    return standing(run)[1]


def test_the_same_losses_as_one_process_and_the_first_alone_writes_and_speaks(
    tmp_path: Path, corpus: Path, start: Callable[..., Together]
):
    """An encoder, whose rows have unlike numbers of masked tokens, in batches of five that four parts share."""
    model = MODEL_ALIKE | {"n_encoder_layers": 1, "n_decoder_layers": 0}
    training = TRAINING | {"batch_size": 5}
    settings = Settings(model=model, training=training, reading=READING)
    alone = beginning.begin(tmp_path / "alone", corpus_name=str(corpus), preset="tiny-encoder", settings=settings)
    work(alone)

    words = assignments(**model, **READING, **(training | {"accumulate": 2}))
    asked = ["--corpus", str(corpus), "--preset", "tiny-encoder", "--run", str(tmp_path / "together"), *words]
    status, out, err = start(*asked).wait()
    assert status == 0, err
    assert "Warning" not in err
    assert standing(tmp_path / "together") == ("finished", 12, "")
    one, two = logged(tmp_path / "alone"), logged(tmp_path / "together")
    assert [record.keys() for record in two] == [record.keys() for record in one]
    for record, same in zip(one, two, strict=True):
        for name, value in record.items():
            assert same[name] == pytest.approx(value, rel=1e-4), (name, record["step"])
    assert Film(tmp_path / "together").moments() == [*range(13)]
    assert [record["step"] for record in Film(tmp_path / "together").heads.read()] == [*range(13)]

    lines = out.splitlines()
    for line in ("Preparing", "2 processes learn from each batch together", "step 12 of 12", "Finished: 12 steps in"):
        assert sum(found.startswith(line) for found in lines) == 1, out
    assert sorted(path.name for path in (tmp_path / "together").iterdir()) == [
        ".lock",
        ".reserve",
        "film",
        "last",
        "metrics.jsonl",
        "run.json",
        "status.json",
    ]


def test_commands_work_and_one_process_goes_on_with_what_two_began(
    tmp_path: Path, corpus: Path, start: Callable[..., Together]
):
    run = tmp_path / "run"
    words = assignments(**MODEL_ALIKE, **TRAINING, **READING)
    together = start("--corpus", str(corpus), "--preset", "tiny-decoder", "--run", str(run), "--steps", "40", *words)
    wait_for((run / "run.json").exists, together)
    commands.ask(run, "pause")
    step = is_paused_at(run, together)
    assert step < 36, "the two are too fast for this test"
    commands.ask(run, "learning-rate", 0.5)
    commands.ask(run, "snapshot")
    commands.ask(run, "step")
    assert is_paused_at(run, together, after=step) == step + 1
    assert RunDirectory.open(run).request.training.rate_changes == ((step + 1, 0.5),)
    commands.ask(run, "step", 2.0)
    assert is_paused_at(run, together, after=step + 1) == step + 3
    commands.ask(run, "stop")
    status, out, err = together.wait()
    assert status == 0, err
    assert f"Stopped after step {step + 3}; all is saved." in out
    assert standing(run) == ("stopped", step + 3, "somebody stopped it")

    work(go_on(run))
    assert standing(run) == ("finished", 40, "")
    whole = start_alone(tmp_path / "whole", corpus, steps=40, rate_changes=((step + 1, 0.5),))
    assert losses(run) == pytest.approx(losses(whole), rel=1e-4)


def test_two_go_on_with_what_one_began_and_when_one_is_killed_the_run_can_go_on(
    tmp_path: Path, corpus: Path, start: Callable[..., Together]
):
    run = tmp_path / "run"
    work(begin(run, corpus, model=MODEL_ALIKE, steps=6), until=5)
    together = start("--run", str(run), "--resume", "--steps", "100000")
    wait_for(lambda: len(losses(run)) >= 9, together)
    status = RunDirectory.open(run).status()
    assert status is not None
    for pid in together.others(status.pid):
        os.kill(pid, signal.SIGKILL)
    n_lines = len(together.wait()[2].splitlines())
    assert n_lines > 0  # torchrun's own report
    state, _, reason = standing(run)
    assert state == "failed"
    assert re.search(r"one of the 2 processes .* go on with --resume\. What was saved after step \d+ is whole", reason)

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


def test_what_is_wrong_is_said_once_and_leaves_no_folder(tmp_path: Path, start: Callable[..., Together]):
    together = start("--corpus", "cpoy", "--run", str(tmp_path / "run"))
    status, _, err = together.wait()
    assert status != 0
    assert [line for line in err.splitlines() if "no corpus" in line] == [
        line for line in err.splitlines() if line.startswith("error: there is no corpus 'cpoy'")
    ]
    assert err.count("error: there is no corpus") == 1
    assert not (tmp_path / "run").exists()
