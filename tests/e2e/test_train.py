"""The Train page in a real browser: a training is watched, paused, reloaded, and kept as a model."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.looking import wait
from transformer_core.training.run.status import WorkDirectory


def is_at_step(page: Page, step: int) -> None:
    """The page says that the run is at a step, at once or in a moment."""
    expect(page.locator(".st-key-hl-train-head")).to_contain_text(f"step {step:,} of")


def press(page: Page, name: str) -> None:
    """Press a button once the page is drawn: a click on one that is just being replaced is lost."""
    wait(page)
    page.get_by_role("button", name=name, exact=True).click()


def state(page: Page, words: str) -> None:
    """Wait until the run is in this state; a process that trains takes a while to start."""
    expect(page.locator(".st-key-hl-train-head").get_by_text(words, exact=True)).to_be_visible(timeout=120_000)


def begin_copy(page: Page) -> None:
    """Open the page and start the training that it proposes."""
    page.goto("/train?run=")
    expect(page.get_by_text("121 thousand parameters")).to_be_visible()
    press(page, "Start training")
    state(page, "training")


def test_copy_is_trained_paused_reloaded_kept_and_looked_at(page: Page, place: Path):
    begin_copy(page)
    curves = page.locator(".st-key-run-curves .js-plotly-plot")
    expect(curves.locator(".scatterlayer .trace path.js-line").first).to_be_visible()
    curves.evaluate("node => (node.dataset.mine = 'the same node')")
    page.get_by_label("Your text").fill("cabba")
    page.get_by_label("Your text").press("Enter")
    expect(page.locator(".hl-samples").get_by_text("cabba", exact=True).first).to_be_visible()
    press(page, "Pause")
    state(page, "paused")
    status = WorkDirectory(place / "runs" / "copy").standing()
    assert status is not None
    is_at_step(page, status.step)
    press(page, "Step")
    is_at_step(page, status.step + 1)
    assert curves.evaluate("node => node.dataset.mine") == "the same node"  # it was drawn again, and never replaced
    page.reload()
    state(page, "paused")
    is_at_step(page, status.step + 1)
    expect(page.get_by_label("Your text")).to_have_value("cabba")
    press(page, "Save as model")
    expect(page.get_by_text("Saved as “copy”")).to_be_visible()
    press(page, "Stop")
    state(page, "stopped")
    press(page, "Look at its heads")
    expect(page.get_by_role("button", name=re.compile("Cross-attention L0.H0"))).to_be_visible()
    expect(page).to_have_url(re.compile("model=copy"))
