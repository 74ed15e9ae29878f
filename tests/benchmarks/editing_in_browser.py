"""An edit in a real Chromium: from the click on an intervention's switch to the new output and its figures.

Three interventions lie on the stack, and one switch at a time is clicked so that no combination comes twice: each is
computed anew. The figures are that of the effect on each output token, and below it, on one text, the head map of all
changed patterns, on the next one the residual stream's change.
"""

from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

from pages.shared.models import SHIPPED, available
from pages.shared.view.state import STACK
from tests.benchmarks.in_browser import row
from tests.benchmarks.interleaved import Row
from tests.e2e.browser import Server, launch, serve
from transformer_core.analysis.interventions.records import Ablation, Component, Stack
from transformer_core.analysis.interventions.stack_json import to_json
from transformer_core.analysis.trace.attentions import attentions_of

TITLE = "Edits in the browser (goal: from the click to all of its consequences 300 ms)"
VIEWS = ("heads", "residual")  # one on each text
SWITCHES = (0, 1, 0, 2, 0, 1, 0)  # of three, so that no combination comes twice (Gray's code)
FIGURES = {
    "tokens": '[class*="st-key-interventions-tokens"] .plot',
    "view": ", ".join(f'[class*="st-key-interventions-{view}"] .plot' for view in VIEWS),
}
CLICK = """([place, switches, texts, figures]) => new Promise((resolve) => {
  const found = {};
  const start = performance.now();
  const text = () => document.querySelector(texts)?.innerText;
  const before = text();
  const watcher = new MutationObserver((changes) => {
    if (text() !== before) found.text ??= performance.now() - start;
    const element = ({ target }) => (target.nodeType === 1 ? target : target.parentElement);
    for (const [name, figure] of Object.entries(figures))
      if (changes.some((change) => element(change)?.closest(figure))) found[name] = performance.now() - start;
  });
  watcher.observe(document.body, { subtree: true, childList: true, characterData: true });
  const rooms = [...document.querySelectorAll("*")].map((one) => one.shadowRoot).filter(Boolean);
  [document, ...rooms].flatMap((room) => [...room.querySelectorAll(switches)])[place].click();
  setTimeout(() => { watcher.disconnect(); resolve(found); }, 1200);
})"""


def click(page: Page, switch: int) -> dict[str, float]:
    """The ms from a click to the changed text, if it changes, and to the last change of each figure that does."""
    page.bring_to_front()
    page.wait_for_timeout(300)
    found: dict[str, float] = page.evaluate(
        CLICK, [switch, ".stack_list .switch", ".hl-interventions-outputs", {**FIGURES}]
    )
    return found


def run() -> list[Row]:
    """Measure each shipped model."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        with serve() as server:
            rows = [line for model in SHIPPED for line in edits(browser, server, model)]
        browser.close()
    return rows


def edits(browser: Browser, server: Server, model: str) -> list[Row]:
    """Measure the switches on a model's examples."""
    card = available()[model]
    attention: Any = [*attentions_of(card.config)][-1]  # what the output depends on
    heads = [Component(kind="head", attention=attention, layer=0, heads=(head,)) for head in range(3)]
    stack = Stack(entries=tuple(Ablation(component=head, method="zero") for head in heads))
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    ours = []
    for text, view in zip(card.examples, VIEWS, strict=False):
        asked = {"model": model, "text": text, "view": view, STACK.name: to_json(stack)}
        page.goto(f"{server.url}/interventions?{urlencode(asked)}")
        for figure in FIGURES.values():
            page.locator(figure).locator(".gtitle").first.wait_for()
        page.wait_for_timeout(3000)
        for switch in SWITCHES:
            ours.append(click(page, switch))
    page.close()
    times = {
        f"{model}: click to the new output, where it changes": [found["text"] for found in ours if "text" in found],
        f"{model}: click to the figure of all output tokens": [found["tokens"] for found in ours if "tokens" in found],
        f"{model}: click to the head map or residual stream": [found["view"] for found in ours if "view" in found],
        f"{model}: click to the last of these": [max(found.values()) for found in ours if found],
    }
    return [row(name, found) for name, found in times.items() if found]
