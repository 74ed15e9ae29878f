"""The page Train in a real browser: a model is trained before one's eyes, kept, and looked at on the page Heads."""

import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import ROOT, Server, serve
from tests.e2e.looking import wait
from tests.pages.train.small_films import save_run
from transformer_core.checkpoints.checkpoint import load
from transformer_core.instrument.capture import capture
from transformer_core.training.run.status import WorkDirectory

pytestmark = pytest.mark.browser
SECOND = 1000  # ms


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the app of these tests keeps runs, models and what it can make again."""
    shutil.copytree(ROOT / "checkpoints" / "dates", tmp_path / "checkpoints" / "dates")
    for name, folder in (("RUNS", "runs"), ("CHECKPOINTS", "checkpoints"), ("CACHE", "cache")):
        monkeypatch.setenv(f"HEADLIGHT_{name}", str(tmp_path / folder))
    yield tmp_path
    for run in (tmp_path / "runs").glob("[!.]*"):  # where a test failed, a training would go on
        status = WorkDirectory(run).standing()
        if status is not None and status.is_at_work:
            os.kill(status.pid, signal.SIGKILL)


@pytest.fixture
def server(place: Path) -> Iterator[Server]:
    with serve() as server:
        yield server


def shows_step(page: Page, step: int) -> None:
    """The page says that the run is at a step, at once or in a moment."""
    expect(page.locator(".st-key-hl-train-head")).to_contain_text(f"step {step:,} of")


def press(page: Page, name: str) -> None:
    """Press a button once the page is drawn: a click on one that is just being replaced is lost."""
    wait(page)
    page.get_by_role("button", name=name, exact=True).click()


def state(page: Page, words: str, *, patience: float = 120 * SECOND) -> None:
    expect(page.locator(".st-key-hl-train-head").get_by_text(words, exact=True)).to_be_visible(timeout=patience)


def begin_copy(page: Page) -> None:
    """Open the page and start the training that it proposes."""
    page.goto("/train")
    start = page.get_by_role("button", name="Start training")
    expect(start).to_be_visible(timeout=90 * SECOND)
    expect(page.get_by_text("121 thousand parameters")).to_be_visible()
    start.click()
    state(page, "training")


def test_copy_is_trained_kept_and_looked_at(page: Page, place: Path):
    begin_copy(page)
    curves = page.locator(".st-key-run-curves .js-plotly-plot")
    expect(curves.locator(".scatterlayer .trace path.js-line").first).to_be_visible()
    curves.evaluate("node => (node.dataset.mine = 'the same node')")
    overview = page.get_by_role("button", name=re.compile("Cross-attention L0.H0"))
    expect(overview).to_be_visible()

    page.get_by_label("Your text").fill("cabba")
    page.get_by_label("Your text").press("Enter")
    expect(page.locator(".hl-samples").get_by_text("cabba", exact=True).first).to_be_visible()

    press(page, "Pause")
    state(page, "paused")
    status = WorkDirectory(place / "runs" / "copy").standing()
    assert status is not None
    shows_step(page, status.step)
    press(page, "Step")
    shows_step(page, status.step + 1)
    assert curves.evaluate("node => node.dataset.mine") == "the same node"  # it was drawn anew, and never replaced

    page.reload()
    state(page, "paused")
    shows_step(page, status.step + 1)
    expect(page.get_by_label("Your text")).to_have_value("cabba")
    press(page, "Resume")
    state(page, "training")
    state(page, "finished", patience=300 * SECOND)
    expect(page.get_by_text("The training looks healthy")).to_be_visible()
    expect(page.locator(".hl-samples tr").first).to_contain_text("cabba")

    press(page, "Save as model")
    expect(page.get_by_text("Saved as “copy”")).to_be_visible()
    press(page, "Look at its heads")
    expect(page.locator(".hl-answer").first).to_be_visible()
    page.get_by_label("Text", exact=True).fill("cabba")
    page.get_by_label("Text", exact=True).press("Enter")
    expect(page.locator(".hl-answer").first).to_have_text("cabba")
    expect(page.get_by_role("button", name=re.compile("Cross-attention L0.H0"))).to_be_visible()
    assert aligned(place / "checkpoints" / "copy") > 0.5


def choose(page: Page, label: str, option: str) -> None:
    """Choose an option of a select box."""
    page.get_by_role("combobox", name=re.compile(label)).click()
    page.get_by_role("option", name=option).click()


def test_a_new_training_is_found_again_as_it_was_chosen(page: Page, place: Path):
    save_run(place / "runs" / "first", seed=0, steps=(0, 1, 2))
    page.goto("/train?run=")
    expect(page.get_by_text("121 thousand parameters")).to_be_visible(timeout=90 * SECOND)
    choose(page, "Model", "tiny: 2 layers, 4 heads")
    facts = page.get_by_text(re.compile("thousand parameters"))
    expect(facts).not_to_contain_text("121 thousand")
    chosen = facts.inner_text()
    choose(page, "Training", "first")
    expect(page.locator(".st-key-hl-train-head")).to_be_visible()
    choose(page, "Training", "A new training")
    expect(facts).to_have_text(chosen)
    expect(page.get_by_role("combobox", name="Model")).to_have_value(re.compile("tiny: 2 layers"))


def aligned(folder: Path) -> float:
    """How much of the attention of its best cross-attention head lies on the diagonal: the letter to be copied."""
    model, tokenizer = load(folder)
    src = torch.tensor([tokenizer.encode("cabbage", eos=True)])
    tgt = torch.tensor([tokenizer.encode("cabbage", bos=True)])
    with torch.inference_mode(), capture(model, "decoder.blocks.*.cross_attn.hook_pattern") as acts:
        model(src, tgt)
    letters = range(len("cabbage"))
    return max(
        sum(float(head[i, i]) for i in letters) / len(letters) for pattern in acts.values() for head in pattern[0]
    )


def test_the_app_is_killed_and_the_training_goes_on(page: Page, server: Server, place: Path, browser: Browser):
    begin_copy(page)
    page.close()
    os.kill(server.pid, signal.SIGKILL)
    status = WorkDirectory(place / "runs" / "copy").standing()
    assert status is not None
    assert status.state in ("running", "finished")
    with serve() as another:
        other = browser.new_page(base_url=another.url)
        other.goto("/train?run=copy")
        state(other, "finished", patience=300 * SECOND)
        other.close()
