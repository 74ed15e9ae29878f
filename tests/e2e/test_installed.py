"""The app as `pip install` leaves it, started in an empty folder: it has its models, trains there, and is killed.

A training is a separate process: it continues without the app, and another one finds it.
"""

import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import transformer_core as tc
from pages.shared.models import SHIPPED
from tests import installed
from tests.e2e.browser import ROOT, Server, serve
from tests.e2e.conftest import stop_training
from tests.e2e.test_train import begin_copy, press, state
from transformer_core.training.run.status import WorkDirectory


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that `headlight` is called in."""
    empty = tmp_path_factory.mktemp("empty")
    yield empty
    for run in (empty / "runs").glob("[!.]*"):  # if a test failed, a training would continue
        stop_training(run)


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What starts the app there; nothing points to the checkout, nor to folders elsewhere."""
    wheel = installed.build(tmp_path_factory.mktemp("wheel"))
    headlight = installed.install(wheel, tmp_path_factory.mktemp("environment")) / "headlight"
    names = ("PYTHONPATH", "HEADLIGHT_CHECKPOINTS", "HEADLIGHT_RUNS", "HEADLIGHT_LESSONS")
    cache = f"HEADLIGHT_CACHE={tmp_path_factory.mktemp('cache')}"
    return ["env", *(f"--unset={name}" for name in names), cache, str(headlight)]


@pytest.fixture(scope="module")
def server(empty: Path, command: list[str]) -> Iterator[Server]:
    with serve(command, place=empty) as server:
        yield server


@pytest.fixture
def server_url(server: Server) -> str:
    return server.url


def test_shipped_models_are_there_and_a_training_outlives_the_killed_app(
    page: Page, server: Server, empty: Path, command: list[str], browser: Browser
):
    page.goto("/models")
    for name in SHIPPED:
        expect(page.get_by_text(tc.read_card(ROOT / "checkpoints" / name)["title"]).first).to_be_visible()
    page.goto("/heads")
    expect(page.locator(".hl-answer").first).to_contain_text("était trop fatigué")
    page.get_by_text("Show the code", exact=True).click()
    expect(page.get_by_test_id("stCode")).to_contain_text("model, tokenizer = tc.load('checkpoints/en-fr')")
    page.goto("/tour")
    expect(page.get_by_text("Why attention").first).to_be_visible()
    assert not (empty / "checkpoints").exists()

    begin_copy(page)
    press(page, "Pause")
    state(page, "paused")
    press(page, "Save as model")
    expect(page.get_by_text("Saved as “copy”")).to_be_visible()
    model, _ = tc.load(empty / "checkpoints" / "copy")
    assert model.config.architecture == "encoder_decoder"
    press(page, "Resume")
    state(page, "training")
    page.close()
    os.kill(server.pid, signal.SIGKILL)
    run = WorkDirectory(empty / "runs" / "copy")
    before = run.standing()
    assert before is not None
    for _ in range(600):  # it continues
        now = run.standing()
        if now is not None and (now.state == "finished" or now.step > before.step):
            break
        time.sleep(0.1)
    assert now is not None and now.state in ("running", "finished")
    with serve(command, place=empty) as another:
        other = browser.new_page(base_url=another.url)
        other.goto("/train?run=copy")
        expect(other.locator(".st-key-hl-train-head").get_by_text(re.compile("^(training|finished)$"))).to_be_visible()
        other.goto("/models?model=copy")
        expect(other.get_by_role("heading", name="copy")).to_be_visible()
        other.close()
