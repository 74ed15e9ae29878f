"""The page Train under AppTest: what is offered before a training, and what is shown of one that stands."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from pages.shared import corpora, models, run_readings, runs
from tests.pages.conftest import url_of, words_of
from tests.pages.train.small_runs import train_copy
from transformer_core.training.launch import Launcher

pytestmark = pytest.mark.slow

OpenApp = Callable[..., AppTest]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run named "copy", of three steps."""
    folder = tmp_path_factory.mktemp("trained")
    train_copy(folder)
    return folder


@pytest.fixture
def place(trained: Path, tmp_path: Path, checkpoints: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app's runs, which may be changed; its models are copies too; nothing is started ahead."""
    shutil.copytree(trained / "copy", tmp_path / "runs" / "copy")
    shutil.copytree(checkpoints, tmp_path / "checkpoints")
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("HEADLIGHT_CACHE", str(trained / "cache"))
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path / "checkpoints"))
    monkeypatch.setattr(Launcher, "warm_up", lambda self: None)
    return tmp_path / "runs"


@pytest.fixture
def open_train(open_app: OpenApp) -> OpenApp:
    """Opens the page, as a new visitor."""

    def open_at(**parameters: str) -> AppTest:
        app = open_app().switch_page("train/train.py")
        for name, value in parameters.items():
            app.query_params[name] = value
        app.run()
        assert not app.exception
        return app

    return open_at


def keep(app: AppTest) -> Button:
    (button,) = [button for button in app.button if button.label == "Keep as a model"]
    return button


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def test_before_a_training_the_corpus_is_seen_and_counted(place: Path, open_train: OpenApp):
    app = open_train()
    words = words_of(app)
    assert "20,000" in words
    assert "20 characters" in words
    assert "121 thousand parameters" in words
    assert "300 steps" in words
    assert "Start training" in labels(app)
    samples = app.dataframe[0].value
    assert (samples["source"] == samples["target"]).all()  # it is the corpus `copy`


def test_settings_that_do_not_fit_are_refused_in_a_sentence(place: Path, open_train: OpenApp):
    app = open_train()
    app.number_input(key="new-tiny-one-layer-copy-n_heads").set_value(7).run()
    assert not app.exception
    assert any("d_model (64) must be divisible by n_heads (7)" in warning.value for warning in app.warning)
    assert "Start training" not in labels(app)
    app.number_input(key="new-tiny-one-layer-copy-n_heads").set_value(8).run()
    assert "Start training" in labels(app)


def test_one_file_after_the_other_is_taken_in_or_refused(place: Path, open_train: OpenApp):
    app = open_train()
    app.session_state[corpora.SOURCE] = "Your own text"
    app.run()
    for name, content, said in (
        ("nothing.txt", b"", "nothing.txt is empty"),
        ("no-text.txt", bytes(range(256)), "no-text.txt is no text"),
        ("pairs.tsv", b"a\tb\nno tab\n", "line 2"),
        ("rhyme.txt", b"one two three\nfour five six\n" * 20, ""),
        ("nothing.txt", b"", "nothing.txt is empty"),
    ):
        app.file_uploader[0].upload(name, content, "text/plain").run()
        assert not app.exception
        assert [
            warning.value for warning in app.warning if "not taken in" in warning.value and said in warning.value
        ] or not said
    (taken,) = app.selectbox(key=corpora.OWN).options
    assert taken.startswith("rhyme.")


def test_what_is_chosen_is_what_is_started(place: Path, open_train: OpenApp, monkeypatch: pytest.MonkeyPatch):
    asked: list[list[str]] = []
    monkeypatch.setattr(runs, "start", lambda name, arguments: asked.append([name, *arguments]))
    app = open_train()
    app.number_input(key="new-tiny-one-layer-copy-n_heads").set_value(2)
    app.number_input(key="new-tiny-one-layer-copy-steps").set_value(50)
    app.number_input(key="new-tiny-one-layer-copy-seed").set_value(3)
    app.selectbox(key="new-tiny-one-layer-copy-positions").set_value("alibi").run()
    app.button(key="start-training").click().run()
    (arguments,) = asked
    assert arguments[0] == "copy-2"
    given = arguments[1:]
    assert given[:6] == ["--corpus", "copy", "--preset", "tiny-one-layer", "--device", "cpu"]
    assert sorted(given[7::2]) == ["n_heads=2", "positions=alibi", "seed=3", "steps=50"]


def test_a_finished_run_is_found_by_its_link(place: Path, open_train: OpenApp):
    app = open_train(run="copy")
    words = words_of(app)
    assert "step 3 of 3" in words
    assert "What it writes after step 3" in words
    assert "Heads over time" in words
    assert "Keep as a model" in labels(app)
    assert "Pause" not in labels(app)
    assert url_of(app)["run"] == "copy"
    assert not app.warning


def test_weights_that_somebody_else_had_replaced_are_looked_for_again(
    place: Path, open_train: OpenApp, monkeypatch: pytest.MonkeyPatch
):
    """Two windows that watch one run ask it for its newest weights in turn."""
    newest, asked = run_readings.newest_step, [1_000, 2_000]
    monkeypatch.setattr(run_readings, "newest_step", lambda run: asked.pop() if asked else newest(run))
    app = open_train(run="copy")
    assert "What it writes after step 3" in words_of(app)
    assert not asked
    assert not app.warning


def test_a_run_that_is_not_here_is_said(place: Path, open_train: OpenApp):
    app = open_train(run="nowhere")
    assert any("no training “nowhere” here" in note.value for note in app.info)
    assert "Start training" in labels(app)


def test_a_failed_run_says_why_and_can_go_on(place: Path, open_train: OpenApp):
    status = json.loads((place / "copy" / "status.json").read_text())
    (place / "copy" / "status.json").write_text(json.dumps(status | {"state": "running", "step": 2}))
    app = open_train(run="copy")
    assert any("ended without a word" in warning.value for warning in app.warning)
    assert "Go on" in labels(app)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("metrics.jsonl", "{\n{}\n", "measurements cannot be read"),
        ("status.json", "{", "damaged"),
        ("run.json", "[]", "damaged"),
        ("film/heads.jsonl", '{"step": 0}\n', "heads cannot be read"),
    ],
)
def test_a_damaged_file_is_said_in_a_sentence(place: Path, open_train: OpenApp, file: str, content: str, said: str):
    (place / "copy" / file).write_text(content)
    app = open_train(run="copy")
    told = [*(warning.value for warning in app.warning), *(caption.value for caption in app.caption), words_of(app)]
    assert any(said in sentence for sentence in told)


def test_what_nobody_planned_for_is_read_or_refused(place: Path, open_train: OpenApp):
    for text in ("xyz 😀", "<img src=x onerror=alert(1)>", "a" * 900):
        app = open_train(run="copy", text=text)
        assert not app.error


def test_why_a_model_was_not_kept_is_said_until_the_next_click(
    place: Path, open_train: OpenApp, monkeypatch: pytest.MonkeyPatch
):
    full = place / "full"
    full.write_text("no folder")
    app = open_train(run="copy")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(full))
    app = keep(app).click().run().run()
    assert not app.exception
    assert any("The model was not kept" in warning.value for warning in app.warning)
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(place / "models"))
    app = keep(app).click().run()
    assert not app.warning
    assert "copy" in models.available()


def test_kept_it_is_a_model_and_deleted_it_is_gone(place: Path, open_train: OpenApp):
    app = open_train(run="copy")
    app = keep(app).click().run()
    assert not app.exception
    assert models.available()["copy"].title == "Copy"
    app = app.button(key="delete-run-really").click().run()
    assert not app.exception
    assert not (place / "copy").exists()
    assert "Start training" in labels(app)
    assert "copy" in models.available()
