"""An edit in a real Chromium: from the click on an intervention's switch to the new output and its figures.

Three interventions lie on the stack, and one switch at a time is clicked so that no combination comes twice: each is
computed anew. The figures are that of the effect on each output token, and below it, on one text, the head map of all
changed patterns, on the next one the residual stream's change. Beside it stands a page of bare Streamlit on the
same machine, clicked in turn: one switch, one line of text and plotly's own bars, all from constants.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

from pages.shared.models import SHIPPED, available
from pages.shared.view.state import STACK
from tests.benchmarks.in_browser import row
from tests.benchmarks.interleaved import Row
from tests.benchmarks.interventions import ATTENTION
from tests.e2e.browser import Server, launch, serve
from transformer_core.analysis.interventions import Ablation, Component, Stack, to_json

TITLE = "Edits in the browser (goal: from the click to all of its consequences 300 ms)"
VIEWS = ("heads", "residual")  # one on each text
SWITCHES = (0, 1, 0, 2, 0, 1, 0)  # of three, so that no combination comes twice (Gray's code)
BARE = """
import plotly.graph_objects as go
import streamlit as st

st.set_page_config(layout="wide")


@st.fragment
def page():
    is_on = st.toggle("active")
    st.html(f"<p class='text'>{'on' if is_on else 'off'}</p>")
    sign = 1 if is_on else -1
    bars = [go.Bar(y=[sign * (place % n) for place in range(20)]) for n in (3, 5)]
    st.plotly_chart(go.Figure(bars), key="bars")


page()
"""
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


@dataclass(frozen=True, kw_only=True)
class Place:
    """A page with switches, by what finds its parts."""

    page: Page
    switches: str
    text: str
    figures: Mapping[str, str]  # by what they are called

    def click(self, switch: int) -> dict[str, float]:
        """The ms from a click to the changed text, if it changes, and to the last change of each figure that does."""
        self.page.bring_to_front()
        self.page.wait_for_timeout(300)
        found: dict[str, float] = self.page.evaluate(CLICK, [switch, self.switches, self.text, {**self.figures}])
        return found


def run() -> list[Row]:
    """Measure each shipped model beside the bare page."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        with serve() as server, bare() as other:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(other.url)
            page.locator(".js-plotly-plot").wait_for()
            bars = {"bars": ".js-plotly-plot"}
            beside = Place(page=page, switches="[data-testid=stCheckbox] input", text=".text", figures=bars)
            rows = [line for model in SHIPPED for line in edits(browser, server, model, beside)]
        browser.close()
    return rows


def edits(browser: Browser, server: Server, model: str, beside: Place) -> list[Row]:
    """Measure the switches on a model's examples."""
    card = available()[model]
    attention = ATTENTION[card.config.architecture]
    heads = [Component(kind="head", attention=attention, layer=0, heads=(head,)) for head in range(3)]
    stack = Stack(entries=tuple(Ablation(component=head, method="zero") for head in heads))
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    place = Place(
        page=page,
        switches=".stack_list .switch",
        text=".hl-interventions-outputs",
        figures={
            "tokens": '[class*="st-key-interventions-tokens"] .plot',
            "view": ", ".join(f'[class*="st-key-interventions-{view}"] .plot' for view in VIEWS),
        },
    )
    ours, bares = [], []
    for text, view in zip(card.examples, VIEWS, strict=False):
        asked = {"model": model, "text": text, "view": view, STACK.name: to_json(stack)}
        page.goto(f"{server.url}/interventions?{urlencode(asked)}")
        for figure in place.figures.values():
            page.locator(figure).locator(".gtitle").first.wait_for()
        page.wait_for_timeout(3000)
        for switch in SWITCHES:
            ours.append(place.click(switch))
            bares.append(beside.click(0))
    page.close()
    times = {
        f"{model}: click to the new output, where it changes": [found["text"] for found in ours if "text" in found],
        f"{model}: click to the figure of all output tokens": [found["tokens"] for found in ours if "tokens" in found],
        f"{model}: click to the head map or residual stream": [found["view"] for found in ours if "view" in found],
        f"{model}: click to the last of these": [max(found.values()) for found in ours if found],
        "bare Streamlit, in turn: click to its text": [found["text"] for found in bares],
        "bare Streamlit, in turn: click to its bars": [found["bars"] for found in bares],
    }
    return [row(name, found) for name, found in times.items() if found]


@contextmanager
def bare() -> Iterator[Server]:
    """A server with the bare page."""
    with TemporaryDirectory() as folder:
        app = Path(folder) / "app.py"
        app.write_text(BARE, encoding="utf-8")
        with serve((sys.executable, "-m", "streamlit", "run", str(app))) as server:
            yield server
