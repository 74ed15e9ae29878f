"""Ablation under AppTest: what is promised before, what is started, and what a finished experiment shows."""

import json
import shutil
from pathlib import Path

import pytest

from headlight.experiments.experiment import USUAL_VARIANTS, ExperimentRequest
from pages.learn import experiment_runs
from pages.shared import code_expander
from tests.pages.conftest import OpenApp, shown_code, url_of, words_of
from tests.pages.learn.experiment_pages import figures, here, make, opened

pytestmark = pytest.mark.usefixtures("checkpoints")
NAME = "positions-20260101-120000"
REQUEST = ExperimentRequest(kind="positions", task="reverse", variants=("learned", "none"), seed=4, steps=20)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("experiments") / NAME, REQUEST)


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    return here(tmp_path, monkeypatch)


@pytest.fixture
def finished(trained: Path, commands: list[list[str]], tmp_path: Path) -> Path:
    """The experiment, where the app looks for it."""
    return Path(shutil.copytree(trained, tmp_path / "runs" / ".experiments" / NAME))


def test_a_first_visitor_is_told_what_will_happen_and_starts_what_is_chosen(
    open_app: OpenApp, commands: list[list[str]]
):
    app = opened(open_app, "positions", part="retrain")
    assert "Trains 5 small encoder-decoders in turn, 240 steps each" in words_of(app)
    assert not [*figures(app)]
    app.segmented_control(key="positions-experiment-task").set_value("sort")
    app.number_input(key="positions-experiment-seed").set_value(7).run()
    app.button(key="positions-experiment-start").click().run()
    assert not app.exception
    ((name, *arguments),) = commands
    request = ExperimentRequest(kind="positions", task="sort", variants=USUAL_VARIANTS["positions"], seed=7, steps=240)
    assert arguments[: len(request.arguments)] == request.arguments
    assert experiment_runs.POSITIONS.read(name) == name == url_of(app)["experiment"]


def test_as_many_encodings_as_take_turns_in_time(open_app: OpenApp, commands: list[list[str]]):
    app = opened(open_app, "positions", part="retrain")
    app.pills(key="positions-experiment-variants").set_value([]).run()
    assert "Choose at least one to train." in words_of(app)
    assert app.button(key="positions-experiment-start").disabled
    app.pills(key="positions-experiment-variants").set_value(
        [*app.pills(key="positions-experiment-variants").options]
    ).run()
    assert "Choose at most 6" in words_of(app)
    assert app.button(key="positions-experiment-start").disabled


def test_a_link_shows_the_experiment_with_its_numbers(open_app: OpenApp, finished: Path):
    app = opened(open_app, "positions", part="retrain", experiment=NAME)
    words = words_of(app)
    assert "Reverse letters, seed 4: step 20 of 20 each" in words
    assert shown_code(app, code_expander.COMMAND) == REQUEST.command
    curves, lengths = (json.loads(sent["figure"]) for sent in figures(app))
    for figure in (curves, lengths):
        assert [trace["name"] for trace in figure["data"][:2]] == ["learned", "no positions"]
    assert url_of(app)["experiment"] == NAME
    app = opened(open_app, "positions", part="retrain")
    assert len([*figures(app)]) == 2 and "experiment" not in url_of(app)


def test_an_experiment_that_is_gone_is_told_in_a_sentence(open_app: OpenApp, commands: list[list[str]]):
    app = opened(open_app, "positions", part="retrain", experiment=NAME)
    assert f"The experiment “{NAME}” no longer exists" in words_of(app)
    assert not app.button(key="positions-experiment-start").disabled
