"""The run directory: written and read again, with torn lines, and refused if it is taken."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from uuid import uuid4

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.training.run.holder import holder
from tests.training.run.test_status import json_values
from transformer_core.config import ModelConfig
from transformer_core.corpora.batch_order import BatchPosition
from transformer_core.errors import RunError
from transformer_core.model.transformer import Transformer
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.training.config import TrainingConfig
from transformer_core.training.run.directory import RunDirectory, RunProgress, SavedRun
from transformer_core.training.run.request import RunRequest

REQUEST = RunRequest(
    corpus="turns",
    corpus_seed=0,
    corpus_fingerprint="ab" * 32,
    preset="tiny",
    model=ModelConfig(vocab_size=9),
    training=TrainingConfig(steps=3, batch_size=2, warmup_steps=1, rate_changes=((2, 0.5),)),
    command="python -m transformer_core train --corpus turns",
    versions={"python": "3.11"},
)
WRITTEN = json.dumps(asdict(REQUEST))
PARTS = [".lock", ".reserve", "last", "run.json", "status.json"]
PROGRESS = RunProgress(step=7, seconds=1.5, position=BatchPosition(epoch=1, index=2))


@pytest.fixture
def request_(model: Transformer, config: TrainingConfig) -> RunRequest:
    return replace(REQUEST, model=model.config, training=config)


@pytest.fixture
def directory(tmp_path: Path, request_: RunRequest) -> RunDirectory:
    directory = RunDirectory(tmp_path / "run", request_)
    directory.create()
    return directory


def stands(directory: RunDirectory) -> tuple[str, int, int]:
    status = directory.standing()
    assert status is not None
    return status.state, status.step, status.pid


def say(directory: RunDirectory, **changes: object) -> None:
    """Write a status as another process would."""
    path = directory.path / "status.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_an_empty_folder_may_be_used_and_no_other(tmp_path: Path, directory: RunDirectory, request_: RunRequest):
    assert RunDirectory.open(directory.path).request == request_
    assert stands(directory) == ("queued", 0, os.getpid())
    run = tmp_path / "empty"
    run.mkdir()
    for name in (".lock", ".reserve", f".run.json.{'0f' * 16}.new"):  # of one that was killed before it began
        (run / name).write_bytes(b"half")
    RunDirectory.refuse_if_taken(run)
    RunDirectory(run, request_).create()
    assert RunDirectory.open(run).request == request_
    assert sorted(path.name for path in run.iterdir()) == [".lock", ".reserve", "run.json", "status.json"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    for place, message in (
        (directory.path, "already contains a run; resume it with --resume"),
        (tmp_path / "other", "is not empty"),
        (tmp_path / "other" / "thesis.txt", "is a file"),
        (tmp_path / "other" / "thesis.txt" / "run", "cannot be written"),
    ):
        with pytest.raises(RunError, match=message):
            RunDirectory(place, request_).create()


def test_a_folder_without_a_run_cannot_be_opened(tmp_path: Path, directory: RunDirectory):
    with pytest.raises(RunError, match="does not contain a run; leave out --resume"):
        RunDirectory.open(tmp_path / "nowhere")
    values = json.loads((directory.path / "run.json").read_text())
    for damaged, message in [
        ("{", "damaged"),
        (json.dumps(values | {"training": {}}), "another version"),
    ]:
        (directory.path / "run.json").write_text(damaged)
        with pytest.raises(RunError, match=message):
            RunDirectory.open(directory.path)


@given(data=st.data())
def test_whatever_run_json_holds_it_is_a_request_or_told(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    """One value anywhere in it is another one, or gone."""
    values = json.loads(WRITTEN)
    place = data.draw(st.sampled_from([values, values["model"], values["training"]]))
    name = data.draw(st.sampled_from(sorted(place)))
    if data.draw(st.booleans()):
        del place[name]
    else:
        place[name] = data.draw(json_values)
    run = tmp_path_factory.mktemp("run")
    (run / "run.json").write_text(json.dumps(values))
    try:
        request = RunDirectory.open(run).request
    except RunError as error:
        assert "run.json" in str(error)
        return
    assert RunRequest.from_dict(json.loads(json.dumps(asdict(request)))) == request


def test_a_live_run_is_not_taken_over_and_a_killed_one_is(directory: RunDirectory):
    directory.release()
    with holder(directory.path / ".lock") as process:
        say(directory, pid=process.pid, state="running", step=5, heartbeat=0.0)  # a step may take an hour
        with pytest.raises(RunError, match=rf"being trained by process {process.pid} \(step 5\)"):
            directory.claim()
        assert stands(directory)[:2] == ("running", 5)
    assert stands(directory)[:2] == ("failed", 5)
    directory.claim()
    assert stands(directory) == ("queued", 5, os.getpid())


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
    assert {path.suffix for path in (directory.path / "last").iterdir()} == {".json", ".safetensors"}  # no pickle
    for part in ("optimizer.safetensors", "training.json"):
        path = directory.path / "last" / part
        whole = path.read_bytes()
        path.write_bytes(whole[:-5])
        with pytest.raises(RunError, match="damaged"):
            directory.read_last()
        path.write_bytes(whole)


def test_a_save_that_fails_leaves_the_former_one(directory: RunDirectory, model: Transformer, tokenizer: Tokenizer):
    directory.save(SavedRun(model, tokenizer, {"name": "former"}, {}, PROGRESS))
    with pytest.raises(TypeError):
        directory.save(SavedRun(model, tokenizer, {"name": object()}, {}, replace(PROGRESS, step=8)))
    saved = directory.read_last()
    assert saved is not None
    assert (saved.card["name"], saved.progress.step) == ("former", 7)
    assert sorted(path.name for path in directory.path.iterdir()) == PARTS
    # A kill leaves a part of the next folder; one between the two renames leaves the former under another name.
    following = directory.path / f".last.{uuid4().hex}.new"
    following.mkdir()
    (following / "config.json").write_text("{")
    (directory.path / "last").rename(directory.path / ".last.former")
    directory.release()
    directory.claim()
    saved = directory.read_last()
    assert saved is not None
    assert saved.card == {"name": "former"}
    assert sorted(path.name for path in directory.path.iterdir()) == PARTS
