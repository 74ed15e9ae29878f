"""Wrong mask in training in a real browser: started, watched while its curves grow, left, and found again."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import Server, serve
from transformer_core.training.run.status import WorkDirectory

pytestmark = pytest.mark.browser
SECOND = 1000  # ms


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the app of this test keeps its experiments; none goes on after it."""
    for name, folder in (("RUNS", "runs"), ("CACHE", "cache")):
        monkeypatch.setenv(f"HEADLIGHT_{name}", str(tmp_path / folder))
    yield tmp_path / "runs" / ".experiments"
    for experiment in (tmp_path / "runs" / ".experiments").glob("[!.]*"):
        status = WorkDirectory(experiment).standing()
        if status is not None and status.is_at_work:
            os.kill(status.pid, signal.SIGKILL)


@pytest.fixture
def server(place: Path) -> Iterator[Server]:
    with serve() as server:
        yield server


def test_an_experiment_is_started_watched_left_and_found_again(page: Page, place: Path):
    page.goto("/masks?part=training&model=dates")
    start = page.get_by_role("button", name="Train now")
    expect(start).to_be_visible(timeout=90 * SECOND)
    expect(page.get_by_text("Trains 3 small encoder-decoders in turn, 300 steps each")).to_be_visible()
    steps = page.get_by_label("Steps per run")
    steps.fill("60")
    steps.press("Enter")
    expect(page.get_by_text("in turn, 60 steps each")).to_be_visible()
    start.click()

    curves = page.locator(".st-key-masks-experiment-curves .js-plotly-plot")
    expect(curves.locator(".scatterlayer .trace path.js-line").first).to_be_visible(timeout=300 * SECOND)
    curves.evaluate("node => (node.dataset.mine = 'the same node')")
    expect(page).to_have_url(re.compile("experiment="))
    (name,) = parse_qs(urlsplit(page.url).query)["experiment"]
    assert (place / name / "experiment.json").exists()

    head = page.locator(".st-key-hl-experiment-head-masks")
    expect(head.get_by_text("finished", exact=True)).to_be_visible(timeout=180 * SECOND)
    assert curves.evaluate("node => node.dataset.mine") == "the same node"  # it grew, and was never replaced
    expect(head).to_contain_text("step 60 of 60")

    page.reload()
    expect(head.get_by_text("finished", exact=True)).to_be_visible()
    rows = page.locator(".hl-experiment-results tbody tr")
    expect(rows).to_have_count(3)
    right, _, unshifted = (
        [float(cell.rstrip("%")) for cell in re.findall(r"[\d.]+%?", row)] for row in rows.all_inner_texts()
    )
    assert unshifted[0] < 0.1 < right[0]  # the training loss cheats,
    assert unshifted[1] > 5 > right[1]  # and what was held out tells
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
