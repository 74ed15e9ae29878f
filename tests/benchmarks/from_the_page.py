"""What a person waits for who trains from the page, in a real Chromium that watches all the while.

Counted from the click on "Start training". Right means: exactly as they should be, of held-out pairs that the model
answers freely; for `induction` (random words, told twice), that the loss has fallen from 5 nats below 3, and that a
head has appeared.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from pages.shared.corpora import MADE_HERE
from tests.benchmarks.interleaved import Row
from tests.benchmarks.wide_model import environment
from tests.e2e.browser import launch, serve
from transformer_core.analysis.training.head_history import HeadHistory, appearances
from transformer_core.training.run.directory import RunDirectory

TITLE = "From the page (goals: first loss 3,000 ms, copy 20,000, en-fr and induction 180,000)"

RIGHT = 0.99
PATIENCE = 900  # seconds
HEAD, CURVES = ".st-key-hl-train-head", ".st-key-run-curves .js-plotly-plot .scatterlayer path.js-line"


def run() -> list[Row]:
    """Train one after the other, and watch."""
    rows: list[Row] = []
    for corpus in ("copy", "en-fr", "induction"):
        with (
            folders() as runs,
            sync_playwright() as playwright,
            serve() as server,
        ):  # a page with trainings opens the last one
            page = launch(playwright).new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"{server.url}/train")
            choose(page, corpus)
            page.wait_for_timeout(8000)  # a person reads; the process that is kept ready gets ready
            page.get_by_role("button", name="Start training").click()
            clicked = time.perf_counter()
            page.locator(HEAD).get_by_text("loss").wait_for(timeout=PATIENCE * 1000)
            rows.append(row(f"{corpus}: first loss, in words", time.perf_counter() - clicked))
            page.locator(CURVES).first.wait_for(state="attached", timeout=PATIENCE * 1000)
            rows.append(row(f"{corpus}: first loss, as a curve", time.perf_counter() - clicked))
            rows += watched(page, runs / corpus, clicked)
    return rows


@contextmanager
def folders() -> Iterator[Path]:
    """Give the app a place of its own, with nothing in it yet; give the folder of its trainings."""
    with tempfile.TemporaryDirectory(prefix="headlight-bench-") as folder:
        runs, cache = (Path(folder, name) for name in ("runs", "cache"))
        with environment(runs=runs, cache=cache):
            yield runs


def choose(page: Page, corpus: str) -> None:
    """Choose a corpus that is made here, and wait until it is known."""
    box = page.get_by_role("combobox", name="Task")
    box.click()
    box.fill(MADE_HERE[corpus][0].split(":")[0])
    page.get_by_role("option", name=MADE_HERE[corpus][0]).click()
    page.wait_for_timeout(1000)
    page.wait_for_function("() => !document.querySelector('[data-testid=stSpinner]')", timeout=PATIENCE * 1000)
    page.get_by_role("button", name="Start training").wait_for(timeout=PATIENCE * 1000)


def watched(page: Page, path: Path, clicked: float) -> list[Row]:
    """Wait until the training is over, and note when it had come so far."""
    corpus = path.name
    aims: dict[str, Callable[[], str]] = (
        {"loss below 3 nats": lambda: fallen(path), "an induction head": lambda: appeared(path)}
        if corpus == "induction"
        else {f"{RIGHT:.0%} right": lambda: right(path)}
    )
    found: list[Row] = []
    while True:
        for name, is_reached in [*aims.items()]:
            if note := is_reached():
                found.append(row(f"{corpus}: {name}", time.perf_counter() - clicked, note))
                del aims[name]
        standing = RunDirectory.open(path).standing()
        if standing is not None and not standing.is_at_work:
            break
        if time.perf_counter() - clicked > PATIENCE:
            raise TimeoutError(f"{corpus} is not done after {PATIENCE} s")
        page.wait_for_timeout(200)
    found += [Row(name=f"{corpus}: {name}", median_ms=float("nan"), slowest_ms=float("nan")) for name in aims]
    return [*found, row(f"{corpus}: done", time.perf_counter() - clicked, standing.state)]


def records(path: Path) -> list[dict[str, Any]]:
    return RunDirectory.open(path).metrics.read()


def right(path: Path) -> str:
    """Say when the model was right, as soon as it is."""
    for record in records(path):
        if record.get("held_out_exact_match", 0.0) >= RIGHT:
            share, n_pairs = record["held_out_exact_match"], record["held_out_pairs"]
            return f"{share:.1%} of {n_pairs:,} pairs exactly, after step {record['step']:,}"
    return ""


def fallen(path: Path) -> str:
    for record in records(path):
        if record.get("loss", 9.0) < 3.0:
            return f"{record['loss']:.2f} nats at step {record['step']:,}"
    return ""


def appeared(path: Path) -> str:
    """Say which head appeared first as an induction head."""
    history = HeadHistory.from_records(RunDirectory.open(path).film.heads.read())
    return next((str(one.in_words()) for one in appearances(history) if one.measure == "induction"), "")


def row(name: str, seconds: float, note: str = "") -> Row:
    return Row(name=name, median_ms=seconds * 1e3, slowest_ms=seconds * 1e3, note=note)
