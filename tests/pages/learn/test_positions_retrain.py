"""Swap and retrain under AppTest: what is promised before, what is started, and what a finished trial shows."""

import csv
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import folded, trials
from tests.pages.conftest import shown_code, url_of, words_of
from tests.pages.learn.trial_pages import figures, here, make, opened
from transformer_core.training.trial.trial import USUAL_ARMS, TrialRequest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("checkpoints")]
OpenApp = Callable[..., AppTest]
NAME = "positions-20260101-120000"
REQUEST = TrialRequest(kind="positions", task="reverse", arms=("learned", "none"), seed=4, steps=20)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("trials") / NAME, REQUEST)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    return here(tmp_path, monkeypatch)


@pytest.fixture
def finished(made: Path, asked: list[list[str]], tmp_path: Path) -> Path:
    """The trial, where the app looks for it."""
    return Path(shutil.copytree(made, tmp_path / "runs" / ".trials" / NAME))


def test_a_first_visitor_is_told_what_will_happen_and_starts_what_is_chosen(open_app: OpenApp, asked: list[list[str]]):
    app = opened(open_app, "positions", part="retrain")
    assert "5 small encoder-decoders take turns, 240 steps each" in words_of(app)
    assert not [*figures(app)]
    app.segmented_control(key="positions-trial-task").set_value("sort")
    app.number_input(key="positions-trial-seed").set_value(7).run()
    app.button(key="positions-trial-start").click().run()
    assert not app.exception
    ((name, *arguments),) = asked
    request = TrialRequest(kind="positions", task="sort", arms=USUAL_ARMS["positions"], seed=7, steps=240)
    assert arguments[: len(request.arguments)] == request.arguments
    assert trials.POSITIONS.read(name) == name == url_of(app)["trial"]


def test_as_many_encodings_as_take_turns_in_time(open_app: OpenApp, asked: list[list[str]]):
    app = opened(open_app, "positions", part="retrain")
    app.pills(key="positions-trial-arms").set_value([]).run()
    assert "Choose what to train, one at least." in words_of(app)
    assert app.button(key="positions-trial-start").disabled
    app.pills(key="positions-trial-arms").set_value([*app.pills(key="positions-trial-arms").options]).run()
    assert "Choose 6 at most" in words_of(app)
    assert app.button(key="positions-trial-start").disabled


def test_a_link_shows_the_trial_with_its_numbers(open_app: OpenApp, finished: Path):
    app = opened(open_app, "positions", part="retrain", trial=NAME)
    words = words_of(app)
    assert "Reverse letters, seed 4: step 20 of 20 of each" in words
    assert "25 rows here" in words and "beyond row 8" in words
    assert shown_code(app, folded.COMMAND) == REQUEST.command
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    curves, lengths = (json.loads(sent["figure"]) for sent in figures(app))
    assert [trace["name"] for trace in curves["data"][:2]] == ["learned", "no positions"]
    assert [trace["name"] for trace in lengths["data"]] == ["learned", "no positions"]
    assert lengths["layout"]["annotations"][0]["text"] == "<b>How far each carries</b>, after step 20"
    from pages.learn.positions_retrain import _csv
    from transformer_core.analysis.training.trial_reading import read_trial

    table = [*csv.reader(io.StringIO(_csv(read_trial(lines, REQUEST.arms))))]
    assert table[0] == ["length", "learned", "none"]
    np.testing.assert_allclose([float(row[1]) for row in table[1:]], lines[-1]["by_length"]["learned"], atol=1e-4)
    assert url_of(app)["trial"] == NAME


def test_without_a_link_the_last_one_is_there(open_app: OpenApp, finished: Path):
    app = opened(open_app, "positions", part="retrain")
    assert "The last one on this machine: Reverse letters, seed 4" in words_of(app)
    assert len([*figures(app)]) == 2
    assert "trial" not in url_of(app)


def test_a_trial_that_is_gone_is_told_in_a_sentence(open_app: OpenApp, asked: list[list[str]]):
    app = opened(open_app, "positions", part="retrain", trial=NAME)
    assert f"There is no trial “{NAME}” here any more" in words_of(app)
    assert not app.button(key="positions-trial-start").disabled


def test_in_german(open_app: OpenApp, finished: Path):
    app = opened(open_app, "positions", part="retrain", trial=NAME, language="de")
    app.session_state["language"] = "de"
    app.run()
    assert not app.exception
    words = words_of(app)
    assert "Buchstaben umdrehen, Seed 4: je Schritt 20 von 20" in words
    assert "Worauf du achten kannst:" in words
    assert "encodings fall" not in words
