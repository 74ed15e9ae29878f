"""The run directory: what is written is read, what is torn is left out, what is taken is refused."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from threading import Barrier, Thread
from uuid import uuid4

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.checkpoints.checkpoint import load, read_card
from transformer_core.config import ModelConfig
from transformer_core.corpora.batching import BatchPosition
from transformer_core.errors import RunError
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.run.directory import Progress, RunDirectory, SavedRun
from transformer_core.training.run.request import RunRequest

WRITTEN = json.dumps(
    asdict(
        RunRequest(
            corpus="turns",
            corpus_seed=0,
            corpus_fingerprint="ab" * 32,
            preset="tiny",
            model=ModelConfig(vocab_size=9),
            training=TrainingConfig(steps=3, batch_size=2, warmup_steps=1, rate_changes=((2, 0.5),)),
            command="python -m transformer_core train --corpus turns",
            versions={"python": "3.11"},
        )
    )
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
PROGRESS = Progress(step=7, seconds=1.5, position=BatchPosition(epoch=1, index=2))


@pytest.fixture
def request_(model: Transformer, config: TrainingConfig) -> RunRequest:
    return RunRequest(
        corpus="turns",
        corpus_seed=0,
        corpus_fingerprint="ab" * 32,
        preset="tiny",
        model=model.config,
        training=config,
        command="python -m transformer_core train --corpus turns",
        versions={"python": "3.11"},
    )


@pytest.fixture
def directory(tmp_path: Path, request_: RunRequest) -> RunDirectory:
    directory = RunDirectory(tmp_path / "run", request_)
    directory.create()
    return directory


@pytest.fixture
def another_process(directory: RunDirectory) -> Iterator[int]:
    """A process that holds the run, until the test is over."""
    directory.release()
    hold = "import sys; from filelock import FileLock as L; a = L(sys.argv[1]); a.acquire(); print(flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", hold, str(directory.path / ".lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield process.pid
    process.kill()
    process.communicate()


def say(directory: RunDirectory, **changes: object) -> None:
    """Write a status as another process would."""
    path = directory.path / "status.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_what_was_asked_is_found_again(directory: RunDirectory, request_: RunRequest):
    assert RunDirectory.open(directory.path).request == request_
    status = directory.status()
    assert status is not None
    assert (status.state, status.step, status.pid) == ("queued", 0, os.getpid())


def test_an_empty_folder_may_be_used_and_no_other(tmp_path: Path, directory: RunDirectory, request_: RunRequest):
    empty = tmp_path / "empty"
    empty.mkdir()
    RunDirectory(empty, request_).create()
    with pytest.raises(RunError, match="already contains a run; resume it with --resume"):
        RunDirectory(directory.path, request_).create()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match="is not empty"):
        RunDirectory(tmp_path / "other", request_).create()
    with pytest.raises(RunError, match="is a file"):
        RunDirectory(tmp_path / "other" / "thesis.txt", request_).create()
    with pytest.raises(RunError, match="cannot be written"):
        RunDirectory(tmp_path / "other" / "thesis.txt" / "run", request_).create()


def test_a_folder_without_a_run_cannot_be_opened(tmp_path: Path, directory: RunDirectory):
    with pytest.raises(RunError, match="does not contain a run; leave out --resume"):
        RunDirectory.open(tmp_path / "nowhere")
    values = json.loads((directory.path / "run.json").read_text())
    for damaged, message in [
        ("{", "damaged"),
        ("[]", "does not contain a JSON object"),
        (json.dumps(values | {"colour": "red"}), "another version"),
        (json.dumps(values | {"training": {}}), "another version"),
        (json.dumps(values | {"model": {"d_modle": 3}}), "another version"),
        (json.dumps({}), "another version"),
    ]:
        (directory.path / "run.json").write_text(damaged)
        with pytest.raises(RunError, match=message):
            RunDirectory.open(directory.path)


@pytest.mark.slow
@given(data=st.data())
def test_whatever_run_json_holds_it_is_a_request_or_told(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    """One value anywhere in it is another one, or gone."""
    values = json.loads(WRITTEN)
    place = data.draw(st.sampled_from([values, values["model"], values["training"]]))
    name = data.draw(st.sampled_from(sorted(place)))
    if data.draw(st.booleans()):
        del place[name]
    else:
        place[name] = data.draw(JSON_VALUES)
    run = tmp_path_factory.mktemp("run")
    (run / "run.json").write_text(json.dumps(values))
    try:
        request = RunDirectory.open(run).request
    except RunError as error:
        assert "run.json" in str(error)
        return
    assert RunRequest.from_dict(json.loads(json.dumps(asdict(request)))) == request


def test_of_a_run_that_was_killed_before_it_began_nothing_is_in_the_way(tmp_path: Path, request_: RunRequest):
    run = tmp_path / "run"
    run.mkdir()
    for name in (".lock", ".reserve", f".run.json.{'0f' * 16}.new"):
        (run / name).write_bytes(b"half")
    RunDirectory.refuse_if_taken(run)
    directory = RunDirectory(run, request_)
    directory.create()
    assert RunDirectory.open(run).request == request_
    assert sorted(path.name for path in run.iterdir()) == [".lock", ".reserve", "run.json", "status.json"]


def test_of_two_that_begin_at_the_same_time_one_does(tmp_path: Path, request_: RunRequest):
    n_at_once = 6
    together, outcomes = Barrier(n_at_once), []

    def begin() -> None:
        directory = RunDirectory(tmp_path / "run", request_)
        together.wait()
        try:
            directory.create()
            outcomes.append("begun")
        except RunError as error:
            outcomes.append(str(error))

    threads = [Thread(target=begin) for _ in range(n_at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("begun") == 1
    others = [outcome for outcome in outcomes if outcome != "begun"]
    assert all("has just started a run in" in told or "already contains a run" in told for told in others)
    assert RunDirectory.open(tmp_path / "run").request == request_


def test_a_damaged_status_does_not_keep_a_run_from_going_on(directory: RunDirectory):
    directory.release()
    (directory.path / "status.json").write_text("{")
    with pytest.raises(RunError, match=r"status\.json is damaged"):
        directory.standing()
    directory.claim()
    status = directory.standing()
    assert status is not None
    assert (status.state, status.pid) == ("queued", os.getpid())


@pytest.mark.slow
def test_a_live_run_is_not_taken_over(directory: RunDirectory, another_process: int):
    say(directory, pid=another_process, state="running", step=5, heartbeat=0.0)  # a step may take an hour
    with pytest.raises(RunError, match=rf"being trained by process {another_process} \(step 5\)"):
        directory.claim()
    status = directory.standing()
    assert status is not None
    assert (status.state, status.step) == ("running", 5)


def test_a_run_whose_process_was_killed_has_failed_and_is_taken_over(directory: RunDirectory, another_process: int):
    say(directory, pid=another_process, state="running", step=5, heartbeat=time.time())
    os.kill(another_process, signal.SIGKILL)
    while directory.standing() == directory.status():  # the system takes a moment
        time.sleep(0.01)
    status = directory.standing()
    assert status is not None
    assert (status.state, status.step) == ("failed", 5)
    assert "ended unexpectedly" in str(status.reason)
    directory.claim()
    status = directory.standing()
    assert status is not None
    assert (status.state, status.step, status.pid) == ("queued", 5, os.getpid())


def test_a_process_of_another_machine_is_believed_for_a_minute(directory: RunDirectory):
    directory.release()
    say(directory, state="running", host="elsewhere", heartbeat=time.time())
    status = directory.standing()
    assert status is not None
    assert status.state == "running"
    for host, age in (("elsewhere", 61), ("", 0)):  # who wrote no machine is asked here
        say(directory, state="running", host=host, heartbeat=time.time() - age)
        status = directory.standing()
        assert status is not None
        assert status.state == "failed"


@pytest.mark.parametrize("state", ["stopped", "finished", "failed"])
def test_what_has_ended_stays_as_it_ended(directory: RunDirectory, state: str):
    directory.release()
    say(directory, state=state, reason="so")
    status = directory.standing()
    assert status is not None
    assert (status.state, str(status.reason)) == (state, "so")


def test_the_heartbeat_is_not_written_at_every_step(directory: RunDirectory):
    for step in range(1, 50):
        directory.heartbeat(step=step)
    status = directory.status()
    assert status is not None
    assert status.step == 0


def test_a_torn_last_line_of_the_metrics_is_left_out(directory: RunDirectory):
    assert directory.metrics.read() == []
    records = [{"step": step, "loss": 1 / step} for step in (1, 2, 3)]
    for record in records:
        directory.metrics.append(record)
    path = directory.path / "metrics.jsonl"
    whole = path.read_bytes()
    for n_bytes in range(len(whole)):
        path.write_bytes(whole[:n_bytes])
        assert directory.metrics.read() == records[: whole[:n_bytes].count(b"\n")]


def test_going_back_forgets_later_lines_and_a_torn_one(directory: RunDirectory):
    for step in (1, 2, 2, 3, 4):
        directory.metrics.append({"step": step})
    with (directory.path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 5, "lo')
    directory.rewind(step=2)
    directory.metrics.append({"step": 3, "loss": 0.5})
    assert directory.metrics.read() == [{"step": 1}, {"step": 2}, {"step": 2}, {"step": 3, "loss": 0.5}]


def test_a_damaged_line_in_the_middle_is_told(directory: RunDirectory):
    (directory.path / "metrics.jsonl").write_bytes(b'{"step": 1}\n\xff{{\n{"step": 2}\n')
    with pytest.raises(RunError, match=r"metrics\.jsonl is damaged"):
        directory.metrics.read()


def test_no_number_is_no_metric(directory: RunDirectory):
    with pytest.raises(ValueError, match="not JSON compliant"):
        directory.metrics.append({"step": 1, "loss": float("nan")})


def test_what_is_saved_is_found_again(directory: RunDirectory, model: Transformer, tokenizer: Tokenizer):
    assert directory.read_last() is None
    tensors = {"a.exp_avg": torch.randn(3, 2), "a.step": torch.tensor(7.0)}
    for step in (3, 7):
        directory.save(SavedRun(model, tokenizer, {"name": f"step {step}"}, tensors, replace(PROGRESS, step=step)))
    saved = directory.read_last()
    assert saved is not None
    assert saved.progress == PROGRESS
    assert saved.card == {"name": "step 7"}
    assert saved.tokenizer.encode("a b") == tokenizer.encode("a b")
    assert saved.optimizer_tensors.keys() == tensors.keys()
    assert all(torch.equal(saved.optimizer_tensors[name], tensors[name]) for name in tensors)
    for name, parameter in saved.model.named_parameters():
        assert torch.equal(parameter, model.get_parameter(name))


def test_last_is_a_checkpoint(directory: RunDirectory, model: Transformer, tokenizer: Tokenizer):
    directory.save(SavedRun(model, tokenizer, {"name": "here"}, {}, PROGRESS))
    loaded, _ = load(directory.path / "last")
    assert loaded.config == model.config
    assert read_card(directory.path / "last")["name"] == "here"
    assert {path.suffix for path in (directory.path / "last").iterdir()} == {".json", ".safetensors"}  # no pickle


def test_a_save_that_fails_leaves_the_former_one(directory: RunDirectory, model: Transformer, tokenizer: Tokenizer):
    directory.save(SavedRun(model, tokenizer, {"name": "former"}, {}, PROGRESS))
    with pytest.raises(TypeError):
        directory.save(SavedRun(model, tokenizer, {"name": object()}, {}, replace(PROGRESS, step=8)))
    saved = directory.read_last()
    assert saved is not None
    assert (saved.card["name"], saved.progress.step) == ("former", 7)
    assert sorted(path.name for path in directory.path.iterdir()) == [
        ".lock",
        ".reserve",
        "last",
        "run.json",
        "status.json",
    ]


def test_what_a_killed_save_leaves_is_cleared(directory: RunDirectory, model: Transformer, tokenizer: Tokenizer):
    """A kill leaves a part of the next folder; one between the two renames leaves the former under another name."""
    directory.save(SavedRun(model, tokenizer, {"name": "former"}, {}, PROGRESS))
    following = directory.path / f".last.{uuid4().hex}.new"
    following.mkdir()
    (following / "config.json").write_text("{")
    (directory.path / "last").rename(directory.path / ".last.former")
    directory.release()
    directory.claim()
    saved = directory.read_last()
    assert saved is not None
    assert saved.card == {"name": "former"}
    assert sorted(path.name for path in directory.path.iterdir()) == [
        ".lock",
        ".reserve",
        "last",
        "run.json",
        "status.json",
    ]


@pytest.mark.parametrize("part", ["optimizer.safetensors", "training.json"])
def test_a_damaged_save_is_told(directory: RunDirectory, model: Transformer, tokenizer: Tokenizer, part: str):
    directory.save(SavedRun(model, tokenizer, {}, {"a.step": torch.tensor(7.0)}, PROGRESS))
    path = directory.path / "last" / part
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(RunError, match="damaged"):
        directory.read_last()
