"""Ten visitors at once, each with a text of their own, on one server: what they wait for, and the memory of the server.

Each opens a link to a text that nobody has read, all ten at the same moment; then each chooses another head, and opens
the links to words in place of tokens and to a measure of every head. Somebody was there before them, and saw the first
model's example. The memory is that of the server's process, as Linux counts it.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

from pages.shared import state
from tests.benchmarks.explore_in_browser import PATIENCE, rest
from tests.benchmarks.in_browser import WORDS, row, wait_for_heatmap
from tests.benchmarks.interleaved import Row
from tests.benchmarks.wide_model import checkpoints, text_of, wide_model
from tests.e2e.browser import Server, launch, serve

TITLE = "Ten visitors on ten texts, one server (goal: 3,072 MiB in all)"
N_VISITORS, N_TOKENS = 10, 512


def run() -> list[Row]:
    """Measure with the model that every visitor sees first, then with one as large as GPT-2."""
    short = [
        f"The {WORDS[i % 6]} sees the {WORDS[(i * 5 + 1) % 6]} and the {WORDS[i // 6]}." for i in range(N_VISITORS)
    ]
    with sync_playwright() as playwright:
        browser = launch(playwright)
        rows = visit(browser, short, "en-fr, a sentence each")
        with wide_model() as (folder, tokenizer), checkpoints(folder):
            long = [text_of(tokenizer, N_TOKENS, seed=100 + i) for i in range(N_VISITORS)]
            rows += visit(browser, long, f"GPT-2-small size, {N_TOKENS} tokens each")
        browser.close()
    return rows


def visit(browser: Browser, texts: Sequence[str], name: str) -> list[Row]:
    """Let a visitor a text come to a new server."""
    with serve() as server, pages(browser, len(texts)) as visitors:
        with pages(browser, 1) as (first,):
            first.goto(f"{server.url}/heads")
            wait_for_heatmap(first)
            rest(first)
        before = memory(server)["VmRSS"]
        start = perf_counter()
        for page, text in zip(visitors, texts, strict=True):
            page.goto(f"{server.url}/heads?{urlencode({state.PACKED_TEXT: state.packed(text)})}", wait_until="commit")
        arrived = []
        for page in visitors:
            page.locator("button.head").first.wait_for()
            wait_for_heatmap(page)
            arrived.append((perf_counter() - start) * 1e3)
        for page in visitors:
            rest(page)
            look_around(page)
        after = memory(server)
    waited = row(f"{name}: link opened to heatmap", arrived)
    in_words = (
        f"the server before {before:,.0f} MiB, afterwards {after['VmRSS']:,.0f}, at its peak {after['VmHWM']:,.0f}"
    )
    return [replace(waited, note=f"{waited.note} at once; {in_words}")]


@contextmanager
def pages(browser: Browser, n: int) -> Iterator[list[Page]]:
    """Open a page for each visitor, without cookies or a cache of anyone else's."""
    visitors = [browser.new_page(viewport={"width": 1440, "height": 900}) for _ in range(n)]
    for page in visitors:
        page.set_default_timeout(PATIENCE)
    try:
        yield visitors
    finally:
        for page in visitors:
            page.context.close()


def look_around(page: Page) -> None:
    """Choose another head, words in place of tokens, and a measure of every head."""
    page.locator("button.head").first.click()
    rest(page)
    for choices in ({"unit": "word"}, {"measure": "entropy"}):
        page.goto(f"{page.url}&{urlencode(choices)}")
        wait_for_heatmap(page)
        rest(page)


def memory(server: Server) -> dict[str, float]:
    """Return what the process has now (VmRSS) and has had at most (VmHWM), in MiB; NaN where there is no /proc."""
    status = Path(f"/proc/{server.pid}/status")
    words = status.read_text() if status.exists() else ""
    found = {name: re.search(rf"{name}:\s*(\d+) kB", words) for name in ("VmRSS", "VmHWM")}
    return {name: float(match[1]) / 1024 if match else float("nan") for name, match in found.items()}
