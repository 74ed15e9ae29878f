"""Wrong mask in training in a real browser: started, watched while its curves grow, left, and found again."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.looking import parameters


def test_an_experiment_is_started_watched_left_and_found_again(page: Page, place: Path):
    page.goto("/masks?part=training&model=dates")
    steps = page.get_by_label("Steps per run")
    steps.fill("20")
    steps.press("Enter")
    expect(page.get_by_text("in turn, 20 steps each")).to_be_visible()
    page.get_by_role("button", name="Train now").click()
    curves = page.locator(".st-key-masks-experiment-curves .js-plotly-plot")
    expect(curves.locator(".scatterlayer .trace path.js-line").first).to_be_visible(timeout=300_000)
    curves.evaluate("node => (node.dataset.mine = 'the same node')")
    expect(page).to_have_url(re.compile("experiment="))
    name = parameters(page)["experiment"]
    assert (place / "runs" / ".experiments" / name / "experiment.json").exists()
    head = page.locator(".st-key-hl-experiment-head-masks")
    expect(head.get_by_text("finished", exact=True)).to_be_visible(timeout=180_000)
    assert curves.evaluate("node => node.dataset.mine") == "the same node"  # it grew, and was never replaced
    page.reload()
    expect(head.get_by_text("finished", exact=True)).to_be_visible()
    rows = page.locator(".hl-experiment-results tbody tr")
    expect(rows).to_have_count(3)
