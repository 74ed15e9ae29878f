"""The folder of an experiment: made once, read by anybody, and true about a process that is gone."""

from pathlib import Path

import pytest

from headlight.experiments.directory import ExperimentDirectory
from headlight.experiments.experiment import ExperimentRequest
from transformer_core.errors import RunError
from transformer_core.training.run import commands

REQUEST = ExperimentRequest(kind="masks", task="copy", variants=("look_ahead", "no_mask"), seed=1, steps=20)


def test_what_was_created_is_found(tmp_path: Path):
    mine = ExperimentDirectory.create(tmp_path / "experiment", REQUEST)
    found = ExperimentDirectory.open(tmp_path / "experiment")
    assert found.request == REQUEST
    mine.write_status("running", step=7)
    mine.metrics.append({"step": 7, "loss": {"look_ahead": 1.5}})
    with (tmp_path / "experiment" / "metrics.jsonl").open("a") as file:
        file.write('{"step": 8, "lo')  # torn
    assert found.metrics.read() == [{"step": 7, "loss": {"look_ahead": 1.5}}]
    assert not mine.is_asked_to_stop()
    commands.ask(tmp_path / "experiment", "stop")
    assert mine.is_asked_to_stop()
    mine.release()  # as the system does when a process is killed
    status = found.standing()
    assert status is not None
    assert (status.state, status.step) == ("failed", 7)
    assert "start it again" in str(status.reason)


def test_what_cannot_be_read_is_told(tmp_path: Path):
    with pytest.raises(RunError, match="does not contain an experiment"):
        ExperimentDirectory.open(tmp_path)
    for content, words in (("{", "damaged"), ('{"kind": "norms"}', "another version"), ("{}", "another version")):
        (tmp_path / "experiment.json").write_text(content)
        with pytest.raises(RunError, match=words):
            ExperimentDirectory.open(tmp_path)


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path):
    (tmp_path / "thesis.txt").write_text("mine")
    for taken in (tmp_path, tmp_path / "thesis.txt"):
        with pytest.raises(RunError, match="not empty"):
            ExperimentDirectory.create(taken, REQUEST)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
