"""Wrong mask in training under AppTest: each variant's output beside the target, and the state of an experiment."""

import json
import shutil
from pathlib import Path

import pytest

from headlight.experiments.experiment import VARIANTS, ExperimentDirectory, ExperimentRequest
from tests.pages.conftest import OpenApp, words_of
from tests.pages.learn.experiment_pages import figures, here, make, opened
from transformer_core.errors import Message
from transformer_core.training.run import commands

pytestmark = pytest.mark.usefixtures("checkpoints")
NAME, LATER = "masks-20260101-120000", "masks-20260101-120001"
REQUEST = ExperimentRequest(kind="masks", task="copy", variants=VARIANTS["masks"], seed=0, steps=20)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("experiments") / NAME, REQUEST)


@pytest.fixture
def finished(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The experiment, where the app looks for it."""
    here(tmp_path, monkeypatch)
    return Path(shutil.copytree(trained, tmp_path / "runs" / ".experiments" / NAME))


def test_what_each_writes_stands_beside_what_was_asked(open_app: OpenApp, finished: Path):
    app = opened(open_app, "masks", part="training", experiment=NAME)
    words = words_of(app)
    assert "Copy letters, seed 0: step 20 of 20 each" in words
    last = json.loads((finished / "metrics.jsonl").read_text().splitlines()[-1])
    for place, (source, target) in enumerate(last["samples"]):
        assert source == target
        row = words[words.index(f"<tr><td><bdi>{source}</bdi></td>") :].split("</tr>")[0]
        for variant in VARIANTS["masks"]:
            output = last["outputs"][variant][place]
            assert (f"<bdi>{output}</bdi>" if output else "nothing") in row
    for variant in VARIANTS["masks"]:
        assert f"<td>{last['held_out'][variant]['loss']:.3f}</td>" in words
    (sent,) = figures(app)
    assert [trace["name"] for trace in json.loads(sent["figure"])["data"][:3]] == [
        "correct mask",
        "no causal mask",
        "targets not shifted",
    ]


def test_an_experiment_in_line_says_who_is_before_it_and_is_stopped_by_its_button(open_app: OpenApp, finished: Path):
    directory = ExperimentDirectory.create(finished.with_name(LATER), REQUEST)
    directory.write_status("queued", step=0, reason=Message("2"))
    app = opened(open_app, "masks", part="training", experiment=LATER)
    assert "and 2 more are queued before this one" in words_of(app)
    assert app.button(key="masks-experiment-start").disabled
    app.button(key="masks-experiment-stop").click().run()
    assert not app.exception
    assert commands.waiting(directory.path) == ["stop"]
    directory.write_status("stopped", step=0)
    directory.release()
    app.run()
    assert "Stopped before it started." in words_of(app)
    assert not app.button(key="masks-experiment-start").disabled


def test_who_only_looks_may_start_an_experiment_and_stop_none(open_app: OpenApp, finished: Path):
    directory = ExperimentDirectory.create(finished.with_name(LATER), REQUEST)
    directory.write_status("running", step=3)
    app = opened(open_app, "masks", part="training")
    assert "Latest on this machine: Copy letters, seed 0, step 3 of 20" in words_of(app)
    assert not app.button(key="masks-experiment-start").disabled
    assert "masks-experiment-stop" not in [button.key for button in app.button]
    directory.release()  # its process is killed
    app.run()
    assert "its process ended unexpectedly" in words_of(app)
