"""The app as `pip install` leaves it, started in an empty folder: it has the shipped models, and trains there."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import transformer_core as tc
from pages.shared import models
from tests import installed
from tests.e2e.browser import Server, serve
from tests.e2e.test_train import begin_copy, press, state
from transformer_core.training.run.status import WorkDirectory

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that `headlight` is called in."""
    place = tmp_path_factory.mktemp("empty")
    yield place
    for run in (place / "runs").glob("[!.]*"):  # where a test failed, a training would go on
        status = WorkDirectory(run).standing()
        if status is not None and status.is_at_work:
            os.kill(status.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def server(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app, started by its command; nothing points to the checkout, nor to folders elsewhere."""
    wheel = installed.build(tmp_path_factory.mktemp("wheel"))
    commands = installed.install(wheel, tmp_path_factory.mktemp("environment"))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("PYTHONPATH", "HEADLIGHT_CHECKPOINTS", "HEADLIGHT_RUNS", "HEADLIGHT_LESSONS"):
            patch.delenv(name, raising=False)
        patch.setenv("HEADLIGHT_CACHE", str(tmp_path_factory.mktemp("cache")))
        with serve([str(commands / "headlight")], place=place) as server:
            yield server


def test_the_shipped_models_are_listed_and_looked_into(page: Page, place: Path):
    page.goto("/models")
    for name in models.SHIPPED:
        expect(page.get_by_text(models.available()[name].title).first).to_be_visible()
    page.goto("/heads")
    expect(page.locator(".hl-answer").first).to_contain_text("était trop fatigué")
    page.get_by_text("Show the code", exact=True).click()
    expect(page.get_by_test_id("stCode")).to_contain_text("model, tokenizer = tc.load('checkpoints/en-fr')")
    page.goto("/tour")
    expect(page.get_by_text("Why attention").first).to_be_visible()
    assert not (place / "checkpoints").exists()


def test_a_training_and_its_model_lie_where_the_app_was_started(page: Page, place: Path):
    begin_copy(page)
    press(page, "Pause")
    state(page, "paused")
    press(page, "Save as model")
    expect(page.get_by_text("Saved as “copy”")).to_be_visible()
    press(page, "Stop")
    state(page, "stopped")
    assert (place / "runs" / "copy" / "run.json").is_file()
    model, _ = tc.load(place / "checkpoints" / "copy")
    assert model.config.architecture == "encoder_decoder"
    page.goto("/models?model=copy")
    expect(page.get_by_role("heading", name="copy")).to_be_visible()
    expect(page.get_by_text(models.available()["en-fr"].title).first).to_be_visible()
