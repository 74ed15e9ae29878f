"""Train with the wrong mask under AppTest: what each arm writes beside what was asked, and how a trial stands."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import words_of
from tests.pages.learn.trial_pages import figures, here, make, opened
from transformer_core.errors import Message
from transformer_core.training.run import commands
from transformer_core.training.trial.directory import TrialDirectory
from transformer_core.training.trial.trial import ARMS, TrialRequest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("checkpoints")]
OpenApp = Callable[..., AppTest]
NAME, LATER = "masks-20260101-120000", "masks-20260101-120001"
REQUEST = TrialRequest(kind="masks", task="copy", arms=ARMS["masks"], seed=0, steps=20)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("trials") / NAME, REQUEST)


@pytest.fixture
def finished(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The trial, where the app looks for it."""
    here(tmp_path, monkeypatch)
    return Path(shutil.copytree(made, tmp_path / "runs" / ".trials" / NAME))


def test_what_each_writes_stands_beside_what_was_asked(open_app: OpenApp, finished: Path):
    app = opened(open_app, "masks", part="training", trial=NAME)
    words = words_of(app)
    assert "Copy letters, seed 0: step 20 of 20 of each" in words
    last = json.loads((finished / "metrics.jsonl").read_text().splitlines()[-1])
    for place, (source, target) in enumerate(last["samples"]):
        assert source == target
        row = words[words.index(f"<tr><td><bdi>{source}</bdi></td>") :].split("</tr>")[0]
        for arm in ARMS["masks"]:
            output = last["outputs"][arm][place]
            assert (f"<bdi>{output}</bdi>" if output else "nothing") in row
    for arm in ARMS["masks"]:
        assert f"<td>{last['held_out'][arm]['loss']:.3f}</td>" in words
    (sent,) = figures(app)
    figure = json.loads(sent["figure"])
    assert [trace["name"] for trace in figure["data"][:3]] == [
        "right mask",
        "no look-ahead mask",
        "targets not shifted",
    ]
    assert len(figure["data"]) == 9  # training loss, held-out loss, share


def test_a_trial_in_line_says_who_is_before_it_and_is_stopped_by_its_button(open_app: OpenApp, finished: Path):
    directory = TrialDirectory.create(finished.with_name(LATER), REQUEST)
    directory.write_status("queued", step=0, reason=Message("2"))
    app = opened(open_app, "masks", part="training", trial=LATER)
    assert "and 2 more wait before this one" in words_of(app)
    assert app.button(key="masks-trial-start").disabled
    app.button(key="masks-trial-stop").click().run()
    assert not app.exception
    assert commands.waiting(directory.path) == ["stop"]
    directory.write_status("stopped", step=0)
    directory.release()
    app.run()
    assert "It was stopped before it began." in words_of(app)
    assert not app.button(key="masks-trial-start").disabled


def test_who_only_looks_may_start_a_trial_and_stop_none(open_app: OpenApp, finished: Path):
    directory = TrialDirectory.create(finished.with_name(LATER), REQUEST)
    directory.write_status("running", step=3)
    app = opened(open_app, "masks", part="training")
    assert "The last one on this machine: Copy letters, seed 0, step 3 of 20" in words_of(app)
    assert not app.button(key="masks-trial-start").disabled
    assert "masks-trial-stop" not in [button.key for button in app.button]
    directory.release()  # its process is killed
    app.run()
    assert "its process ended without a word" in words_of(app)
