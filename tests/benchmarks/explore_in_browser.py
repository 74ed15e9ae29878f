"""Exploring in a real Chromium: the shipped models, and one as large as GPT-2 on 128 to 4,096 tokens.

"Once it is read" means that the forward pass is over: another visitor's page, one without an overview, has read the
same text a moment before. What is sent are the frames of the websocket, unpacked, from Enter on: until all heads are
drawn, and until the server rests, with the large heatmap.
"""

from dataclasses import replace
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

from pages.shared.model_bar import TEXT_BOXES
from pages.shared.models import SHIPPED, available
from pages.shared.view import long_texts, state
from tests.benchmarks.in_browser import ask, click, head_names, row, wait_for_heatmap
from tests.benchmarks.interleaved import Row
from tests.benchmarks.wide_model import checkpoints, text_of, wide_model
from tests.e2e.browser import Server, launch, serve
from transformer_core.text.tokenizer import OwnTokenizer

TITLE = (
    "Exploring in the browser (goals: click to heatmap 200 ms, 95 % 500 ms; new text to all heads 500 ms; "
    "at GPT-2-small size all heads 1,000 ms once it is read, of 512 tokens as of 128)"
)

LENGTHS = {128: 5, 512: 5, 4096: 1}  # tokens, and how many texts of them each way
CLICKS = 8
WRITTEN = "() => !document.body.innerText.includes('Generating')"
PATIENCE = 900_000  # ms
RESTS = """() => document.querySelector("[data-testid=stApp]").dataset.testScriptState === "notRunning"
  && !document.querySelector("[data-testid=stSkeleton], [data-stale=true]")"""


class Visitor:
    """Somebody who explores a decoder, and what reaches their browser."""

    def __init__(self, browser: Browser, server: Server) -> None:
        """Open the page Heads, with the model's example."""
        self.page = browser.new_page(viewport={"width": 1440, "height": 900})
        self.page.set_default_timeout(PATIENCE)
        self.received = 0  # bytes
        self.page.on("websocket", lambda socket: socket.on("framereceived", self._add))
        self.page.goto(f"{server.url}/heads")
        wait_for_heatmap(self.page)
        rest(self.page)

    def ask(self, text: str) -> tuple[float, int, int]:
        """Ask for a text; return the ms from Enter to all heads drawn, and the bytes sent until then, and in all."""
        before = self.received
        ms = ask(self.page, text, label=TEXT_BOXES["decoder_only"][0])
        at_drawn = self.received
        self.page.wait_for_function(WRITTEN)
        rest(self.page)
        return ms, at_drawn - before, self.received - before

    def _add(self, frame: bytes | str) -> None:
        self.received += len(frame)


def run() -> list[Row]:
    """Measure the shipped models with one server, then the large one with another."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        with serve() as server:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(PATIENCE)
            rows = [line for model in SHIPPED for line in shipped(page, server, model)]
        with wide_model() as (folder, tokenizer), checkpoints(folder), serve() as server:
            rows += [line for n_tokens in LENGTHS for line in wide(browser, server, tokenizer, n_tokens)]
        browser.close()
    return rows


def shipped(page: Page, server: Server, model: str) -> list[Row]:
    """Measure clicks, and texts that nobody has read."""
    card = available()[model]
    page.goto(f"{server.url}/heads?{urlencode({state.MODEL.key: model})}")
    wait_for_heatmap(page)
    page.wait_for_timeout(3000)
    clicks = [click(page, name) for name in head_names(page)[:CLICKS]]
    label, _ = TEXT_BOXES[card.config.architecture]
    texts = []
    for text in card.examples[1:]:
        texts.append(ask(page, text, label=label))
        rest(page)
    return [row(f"{model}: click on another head to its heatmap", clicks), row(f"{model}: Enter to all heads", texts)]


def wide(browser: Browser, server: Server, tokenizer: OwnTokenizer, n_tokens: int) -> list[Row]:
    """Measure all of it on texts of so many tokens."""
    visitor = Visitor(browser, server)
    page = visitor.page
    texts = [text_of(tokenizer, n_tokens, seed=n_tokens + i) for i in range(2 * LENGTHS[n_tokens])]
    unread = [visitor.ask(text) for text in texts[::2]]
    read = []
    for text in texts[1::2]:
        read_it(browser, server, text)
        read.append(visitor.ask(text))
    before = visitor.received
    clicks = [click(page, name) for name in head_names(page)[:CLICKS]]
    rest(page)
    sent_a_click = (visitor.received - before) / CLICKS
    page.context.close()
    of_text = f"GPT-2-small size, {n_tokens:,} tokens"
    all_heads = row(f"{of_text}: Enter to all heads, once it is read", [ms for ms, *_ in read])
    another_head = row(f"{of_text}: click on another head to its heatmap", clicks)
    _, until_drawn, in_all = max(read, key=lambda one: one[2])
    sent = f"{until_drawn / 1e6:.2f} MB sent, {in_all / 1e6:.2f} with the heatmap"
    return [
        row(f"{of_text}: Enter to all heads, forward passes included", [ms for ms, *_ in unread]),
        replace(all_heads, note=f"{all_heads.note}; {sent}"),
        replace(another_head, note=f"{another_head.note}; {sent_a_click / 1e6:.2f} MB sent each"),
    ]


def rest(page: Page) -> None:
    """Return when nothing runs for the page."""
    page.wait_for_timeout(500)
    page.wait_for_function(RESTS)
    page.wait_for_timeout(500)


def read_it(browser: Browser, server: Server, text: str) -> None:
    """Let another visitor's page read a text, without looking at a head."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{server.url}/models?{urlencode({'packed': long_texts.packed(text)})}")
    page.locator(".hl-answer").wait_for()
    page.wait_for_function(WRITTEN)
    rest(page)
    page.context.close()
