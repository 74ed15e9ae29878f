"""The Train page under AppTest: what is offered before a training, and what is shown of one that stands."""

import html
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from streamlit.runtime.scriptrunner import StopException
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from headlight.cli import describing
from headlight.cli.launch import Launcher
from pages.shared import models, prose, run_commands, run_readings
from tests.pages.conftest import OpenApp, labels_of, url_of, words_of
from tests.pages.train.small_films import save_run
from tests.pages.train.small_runs import stop_pairs, train_copy
from transformer_core.checkpoints.checkpoint import read_card
from transformer_core.checkpoints.load import load


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run named "copy", of three steps, and "pairs", which was stopped after two of six."""
    folder = tmp_path_factory.mktemp("trained")
    train_copy(folder)
    stop_pairs(folder)
    return folder


@pytest.fixture
def place(trained: Path, tmp_path: Path, checkpoints: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app's runs, which may be changed; its models are copies too; nothing is started ahead."""
    for name in ("copy", "pairs"):
        shutil.copytree(trained / name, tmp_path / "runs" / name)
    shutil.copytree(checkpoints, tmp_path / "checkpoints")
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("HEADLIGHT_CACHE", str(trained / "cache"))
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path / "checkpoints"))
    monkeypatch.setattr(Launcher, "warm_up", lambda self: None)
    return tmp_path / "runs"


@pytest.fixture
def open_train(open_app: OpenApp, analyse: Callable[[AppTest], AppTest]) -> OpenApp:
    """Opens the page, as a new visitor."""

    def open_at(**parameters: str) -> AppTest:
        return analyse(open_app("train", **parameters))

    return open_at


def keep(app: AppTest) -> Button:
    (button,) = [button for button in app.button if button.label == "Save as model"]
    return button


def stands(place: Path, state: str, step: int = 1) -> None:
    """Let "pairs" say how it stands: of another machine, whose runs are taken for alive for a minute."""
    values = {"state": state, "step": step, "pid": 1, "host": "elsewhere", "heartbeat": time.time(), "reason": ""}
    (place / "pairs" / "status.json").write_text(json.dumps(values))


def test_what_is_chosen_fits_or_is_refused_in_a_sentence_and_is_what_is_started(
    place: Path, open_train: OpenApp, monkeypatch: pytest.MonkeyPatch
):
    actual: list[list[str]] = []
    monkeypatch.setattr(run_commands, "start", lambda name, arguments: actual.append([name, *arguments]))
    app = open_train()
    assert all(text in words_of(app) for text in ("20,000", "20 characters", "121 thousand parameters", "300 steps"))
    samples = app.dataframe[0].value
    assert (samples["source"] == samples["target"]).all()  # it is the corpus `copy`
    app.number_input(key="new-tiny-one-layer-copy-n_heads-box").set_value(7).run()
    assert any("d_model (64) must be divisible by n_heads (7)" in warning.value for warning in app.warning)
    assert not app.exception and "Start training" not in labels_of(app)
    app.number_input(key="new-tiny-one-layer-copy-n_heads-box").set_value(2).run()
    app.number_input(key="new-tiny-one-layer-copy-dropout_pattern-box").set_value(0.25)
    app.number_input(key="new-tiny-one-layer-copy-steps-box").set_value(50)
    app.number_input(key="new-tiny-one-layer-copy-seed-box").set_value(3)
    app.selectbox(key="new-tiny-one-layer-copy-positions-box").set_value("alibi").run()
    sharing = app.selectbox(key="new-tiny-one-layer-copy-tie_embeddings-box")
    assert sharing.value == "none" and "121 thousand parameters" in words_of(app)
    sharing.set_value("three_way").run()
    assert "share one matrix" in words_of(app) and "118 thousand parameters" in words_of(app)
    app.button(key="start-training").click().run()
    ((name, *given),) = actual
    assert [name, *given[:6]] == ["copy-2", "--corpus", "copy", "--preset", "tiny-one-layer", "--device", "cpu"]
    changes = ["dropout_pattern=0.25", "n_heads=2", "positions=alibi", "seed=3", "steps=50"]
    assert sorted(given[7::2]) == [*changes, "tie_embeddings=three_way"]


def test_a_finished_run_is_found_by_its_link(place: Path, open_train: OpenApp):
    text = "<img src=x onerror=alert(1)> [free](https://evil.example)"
    app = open_train(run="copy", text=text)
    words = words_of(app)
    assert "step 3 of 3" in words and "<div class='hl-label'>Output</div>" in words and "Heads over time" in words
    assert f"<bdi>{html.escape(text)}</bdi>" in words and "Possible target leakage" not in words
    assert "Save as model" in labels_of(app) and "Pause" not in labels_of(app)
    assert url_of(app)["run"] == "copy" and not app.warning


def test_weights_that_another_window_had_replaced_are_looked_for_again(
    place: Path, open_train: OpenApp, monkeypatch: pytest.MonkeyPatch
):
    newest, request = run_readings.newest_step, [1_000, 2_000]
    monkeypatch.setattr(run_readings, "newest_step", lambda run: request.pop() if request else newest(run))
    app = open_train(run="copy")
    assert "<div class='hl-label'>Output</div>" in words_of(app)
    assert not request and not app.warning


def test_a_measured_leak_is_told_with_its_numbers(place: Path, open_train: OpenApp):
    log = place / "copy" / "metrics.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert any("probe_seen_accuracy" in line for line in lines)
    leak = {"probe_seen_accuracy": 0.97, "probe_hidden_accuracy": 0.12, "held_out_exact_match": 0.0}
    log.write_text("".join(f"{json.dumps(line | leak if 'held_out_loss' in line else line)}\n" for line in lines))
    words = words_of(open_train(run="copy"))
    assert all(text in words for text in ("Possible target leakage", "97%", "12%"))


def test_a_failed_run_says_why_and_can_go_on(place: Path, open_train: OpenApp):
    status = json.loads((place / "copy" / "status.json").read_text())
    (place / "copy" / "status.json").write_text(json.dumps(status | {"state": "running", "step": 2}))
    app = open_train(run="copy")
    assert words_of(app).count("ended unexpectedly") == 1
    assert not app.warning
    assert "Resume" in labels_of(app)
    (place / "copy" / "last").rename(place / "copy" / "lost")
    app = open_train(run="copy")
    assert any("Nothing was saved" in caption.value for caption in app.caption)
    assert "Resume" not in labels_of(app)
    assert "Save as model" not in labels_of(app)


def test_damaged_files_are_a_sentence_each(place: Path, open_train: OpenApp):
    for file, content, message in (
        ("metrics.jsonl", "{\n{}\n", "measurements cannot be read"),
        ("film/heads.jsonl", '{"step": 0}\n', "head measurements cannot be read"),
        ("run.json", "[]", "damaged"),
    ):
        (place / "copy" / file).write_text(content)
        app = open_train(run="copy")
        assert message in words_of(app) + "".join(sentence.value for sentence in (*app.warning, *app.caption))


def test_a_paused_run_of_one_s_own_pairs_is_kept_under_the_name_that_is_typed(
    place: Path, trained: Path, open_train: OpenApp, monkeypatch: pytest.MonkeyPatch
):
    """With the weights that were saved when it was paused; the page explains what could not be kept or measured."""
    stands(place, "paused", step=2)
    app = open_train(run="pairs")
    assert "Resume" in labels_of(app)
    with monkeypatch.context() as patch:
        patch.setenv("HEADLIGHT_CHECKPOINTS", str(place / "pairs" / "run.json"))  # no folder
        app = keep(app).click().run().run()
        assert any("The model was not saved" in warning.value for warning in app.warning)
    for folder, title in (("uberset-zer", "Überset[zer]"), ("uberset-zer-2", "Überset[zer] (uberset-zer-2)")):
        app.text_input(key="keep-name-pairs").set_value("Überset[zer]")
        app = keep(app).click().run()
        assert not app.exception and not app.warning
        assert [f"Saved as “{title}”, after step 2." == text.value.replace("\\", "") for text in app.success] == [True]
        assert models.available()[folder].title == title
        (kept, _), (last, _) = load(place.parent / "checkpoints" / folder), load(place / "pairs" / "last")
        assert all(torch.equal(values, last.get_parameter(name)) for name, values in kept.named_parameters())
    (trained / "pairs.tsv").rename(trained / "away.tsv")
    app = keep(app).click().run()
    (trained / "away.tsv").rename(trained / "pairs.tsv")
    (warning,) = app.warning
    assert "The model is saved, but head scores could not be measured" in warning.value and app.success


@pytest.mark.parametrize("interrupted", [(prose, "success"), (describing, "describe_heads")], ids=["told", "described"])
def test_a_model_is_kept_once_though_the_page_is_left_meanwhile(
    interrupted: tuple[ModuleType, str], place: Path, open_train: OpenApp, monkeypatch: pytest.MonkeyPatch
):
    """Streamlit ends the script of a page that is left, or is redrawn, wherever it writes to the page."""

    def leave(*_: object) -> None:
        raise StopException

    stands(place, "paused", step=2)
    app = open_train(run="pairs")  # of few texts, on which its heads are soon measured
    with monkeypatch.context() as patch:
        patch.setattr(*interrupted, leave)
        keep(app).click().run()
    app.run()
    assert not app.exception
    assert sorted(models.available()) == ["en-fr", "other", "pairs"]
    assert models.available()["pairs"].heads
    assert app.success


def test_a_training_that_goes_on_is_of_one_step_and_opened_again_until_its_end_is_seen(
    place: Path, open_train: OpenApp
):
    assert "Start training" in labels_of(open_train())
    stands(place, "running")
    with (place / "pairs" / "metrics.jsonl").open("a") as file:
        values = {"loss": 0.00123, "learning_rate": 0.1, "gradient_norm": 1.0, "tokens_per_second": 9.0}
        file.write(json.dumps({"step": 5, **values, "seconds": 2.0}) + "\n")
    app = open_train()
    shown = "<div class='hl-model'>pairs</div>", "step 5 of 6, loss 0.00123", "Output at step 2"  # the newest weights
    assert all(text in words_of(app) for text in shown)
    assert "pairs · running" in app.selectbox[0].options
    stands(place, "paused")
    app = open_train(run="pairs")
    assert "pairs · paused" in app.selectbox[0].options
    app.selectbox[0].set_value("").run()
    assert "Start training" in labels_of(app)
    assert url_of(app)["run"] == ""
    for wanted in ({"run": "copy"}, {"run": ""}):
        assert "<div class='hl-model'>pairs</div>" not in words_of(open_train(**wanted))

    stands(place, "finished")
    app = open_train()  # as after the browser was closed
    assert [note.value for note in app.info] == ["While you were away: pairs · finished."]
    assert "<div class='hl-model'>pairs</div>" in words_of(app)
    assert "Start training" in labels_of(open_train())


def test_in_the_same_tab_what_ended_is_opened_too_or_else_offered(place: Path, open_train: OpenApp):
    app = open_train()
    for name, opened in (("first", "first"), ("second", "first")):
        app = app.switch_page("explore/heads/page.py").run()
        save_run(place / name)
        app = app.switch_page("train/train/page.py").run()
        assert not app.exception
        assert url_of(app)["run"] == opened
    assert "second · finished" in labels_of(app) and "first · finished" not in labels_of(app)
    app = app.button(key="open-second").click().run()
    assert not app.exception
    assert url_of(app)["run"] == "second"
    assert "second · finished" not in labels_of(app) and "first · finished" not in labels_of(app)


def test_texts_of_a_deleted_training_do_not_come_back_with_its_name(place: Path, open_train: OpenApp):
    secrets, others = (read_card(place / name / "film")["examples"] for name in ("copy", "pairs"))
    app = open_train(run="copy")
    assert secrets[0] in words_of(app)
    app.button(key="delete-run-really").click().run()
    assert not (place / "copy").exists()
    (place / "pairs").rename(place / "copy")  # as if another one had been trained under that name
    words = html.unescape(words_of(open_train(run="copy")))
    assert others[0] in words
    assert not any(f">{secret}<" in words for secret in secrets)


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def test_a_model_whose_heads_cannot_be_described_is_kept_and_that_is_said(
    place: Path, trained: Path, open_train: OpenApp
):
    (trained / "pairs.tsv").rename(trained / "away.tsv")
    app = keep(open_train(run="pairs")).click().run()
    (trained / "away.tsv").rename(trained / "pairs.tsv")
    assert not app.exception
    (warning,) = app.warning
    assert "The model is saved, but head scores could not be measured" in warning.value
    assert app.success and models.available()["pairs"].heads == () and "Look at its heads" in labels(app)
