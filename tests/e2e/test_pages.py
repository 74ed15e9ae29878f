"""Every page: it opens from its link without moving what is seen, one act on it, and a link to what came of that.

The link is opened by another visitor, in German and in a small window, where nothing may move, be cut off or overlap;
every second page there has the presenter layout, in which no text is small.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from pages.shared.page import pages
from pages.shared.presenter import LEAST_TEXT
from tests.e2e.conftest import PROJECTOR
from tests.e2e.looking import faults, see_canvases, wait

TOLERANCE = 24  # px, about a row of text; where no room is kept for what comes later, things move by 86 to 280
TRACE = """(watched) => {
  window.tops = {};
  const look = () => {
    for (const selector of watched) {
      const top = document.querySelector(selector)?.getClientRects()[0]?.y; // none: it is there, and not to be seen
      if (top !== undefined) (window.tops[selector] ??= []).push(Math.round(top));
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
TOO_WIDE = """() => {  // the page, if it can be scrolled sideways, and texts that are cut off on buttons
  const main = document.querySelector("[data-testid=stMain]");
  return [main, ...main.querySelectorAll("button p")]
    .filter((element) => element.scrollWidth > element.clientWidth + 1)
    .map((element) => (element === main ? "the page" : element.textContent));
}"""
SMALL_TEXTS = Path(__file__).with_name("small_texts.js").read_text(encoding="utf-8")
TITLE, LOOK = ".hl-title", ".hl-look"


@dataclass(frozen=True, kw_only=True)
class Journey:
    """What is done on a page, and what can be seen of that in any language."""

    act: Callable[[Page], object]
    link: str  # what the address says afterwards, as a regular expression
    seen: Callable[[Page], Locator]
    german: str  # the title of the page
    address: str = ""  # the page's own, unless it needs more
    watched: Sequence[str] = ()  # what must not move while the page loads, beside its title; the last one comes last


def press(selector: str, place: int = 0) -> Callable[[Page], None]:
    return lambda page: page.locator(selector).nth(place).click()


def fill(selector: str, text: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        page.locator(selector).first.fill(text)
        page.locator(selector).first.press("Enter")

    return act


def at(selector: str, place: int = 0, **text: Any) -> Callable[[Page], Locator]:
    return lambda page: page.locator(selector, **text).nth(place)


def choose_training(page: Page) -> None:
    page.get_by_role("combobox", name="Training", exact=True).click()
    page.get_by_role("option", name="first").click()


JOURNEYS = {
    "start": Journey(
        act=press('.block-title[data-zoom="decoder.1"]'),
        link=r"zoom=decoder\.1",
        seen=at(".crumb", 1),
        german="Start",
    ),
    "tour": Journey(
        act=lambda page: page.get_by_role("button", name=re.compile(r"\b4\s+Scaled dot-product attention")).click(),
        link="lesson=one-word-six-steps",
        seen=at(".hl-tour-table tr.hl-marked"),
        german="Tour",
        watched=[".st-key-tour-wide-other-12"],
    ),
    "steps": Journey(
        act=press(".stop", 5),
        link="stage=",
        seen=at("li:nth-child(6) > .stop[aria-current]"),
        german="Attention in Schritten",
        watched=[".st-key-steps-figure", LOOK],
    ),
    "build": Journey(
        act=press(".st-key-hl-build-bar [data-testid=stButtonGroup] button", 3),
        link="step=4",
        seen=at(".hl-build-task h2", has_text=re.compile(r"^4\.")),
        german="Selbst bauen",
    ),
    "positions": Journey(
        act=lambda page: page.get_by_role("button", name="A published table, 10 × 6").click(),
        link="encoding=sinusoidal_interleaved&part=table&n=10&width=6",
        seen=at(".plot .textpoint text", 59),
        german="Positionen",
        watched=[LOOK],
    ),
    "masks": Journey(
        act=lambda page: page.get_by_role("button", name="None", exact=True).click(),
        link="preset=none",
        seen=at(".mask_matrix .chip.changed"),
        german="Masken",
        watched=[".st-key-masks-gallery", ".st-key-masks-matrix", LOOK],
    ),
    "architecture": Journey(
        act=press('.sheet .node[data-box="decoder.*.mlp"]'),
        link=r"block=decoder\.1\.mlp",
        seen=at('.sheet .node[data-box="decoder.*.mlp"][aria-pressed=true]'),
        german="Architektur",
        watched=[".st-key-architecture-show-segments"],
    ),
    "programs": Journey(
        act=press(".st-key-programs-listing .line"),
        link="line=1",
        seen=at(".st-key-programs-listing tbody tr.chosen:first-child"),
        german="Programme",
    ),
    "glossary": Journey(
        act=fill(".st-key-hl-glossary-bar input", "entropy"),
        link="search=entropy",
        seen=at(".hl-glossary-topic"),
        german="Glossar",
    ),
    "heads": Journey(
        act=press("button.head", 9),
        link="attention=decoder&layer=0&head=1",
        seen=lambda page: page.locator("button.head").nth(9).and_(page.locator("[aria-pressed=true]")),
        german="Köpfe",
        watched=[".st-key-overview", ".st-key-heatmap"],
    ),
    "decoding": Journey(
        act=press(".candidates .row", 1),
        link="branches=",
        seen=at(".output .chip .word", has_text="fatiguée"),
        german="Decoding",
        watched=[".st-key-decoding-writing", ".st-key-decoding-candidates"],
    ),
    "compare": Journey(
        act=fill(".st-key-compare-btext-line input", "The small animal didn't cross the street."),
        link="btext=The.small.animal",
        seen=at(".plot .gtitle", 2),
        german="Vergleichen",
        watched=[LOOK],
    ),
    "interventions": Journey(
        act=lambda page: page.get_by_role("button", name="Add to the stack").click(),
        link="stack=",
        seen=at(".stack_list .entry"),
        german="Interventionen",
    ),
    "train": Journey(
        act=choose_training,
        link="run=first",
        seen=at(".st-key-run-curves .main-svg"),
        german="Trainieren",
        address="train?run=",
        watched=[".st-key-train-source-segments", ".st-key-train-corpus-box", ".st-key-hl-train-start"],
    ),
    "film": Journey(
        act=lambda page: page.get_by_role("slider", name="Snapshot of the training").press("ArrowLeft"),
        link="snapshot=45",
        seen=at(".film input.slider[aria-valuetext*='45']"),
        german="Film",
        address="film?run=first",
        watched=[".st-key-film-overview", ".st-key-film-heatmap", LOOK],
    ),
    "models": Journey(
        act=lambda page: page.get_by_role("button", name="Choose").first.click(),
        link="model=dates",
        seen=at("a[href*='dates']"),
        german="Modelle",
        watched=[".st-key-hl-model-list-4", ".st-key-hl-models .stTabs"],
    ),
    "server": Journey(
        act=lambda page: page.reload(),
        link="/server",
        seen=at(".st-key-hl-server [data-testid=stDataFrame]"),
        german="Server",
    ),
}


def nothing_moved(page: Page, watched: Sequence[str]) -> None:
    """Each of these was in one place from when it was first seen on."""
    tops = page.evaluate("window.tops")
    assert tops.keys() >= {TITLE, *watched}
    moved = {selector: seen for selector, seen in tops.items() if max(seen) - min(seen) > TOLERANCE}
    assert not moved, {selector: sorted({*seen}) for selector, seen in moved.items()}


def test_each_page_has_a_journey():
    assert JOURNEYS.keys() == pages().keys()


@pytest.mark.parametrize("address", JOURNEYS)
def test_a_page_is_opened_used_and_found_again(address: str, new_page: Callable[..., Page]):
    journey = JOURNEYS[address]
    page = new_page(is_first_visit=True)
    page.add_init_script(f"({TRACE})({[TITLE, *journey.watched]!r})")
    page.goto(f"/{journey.address or address}")
    expect(page.locator([TITLE, *journey.watched][-1]).first).to_be_visible()
    wait(page)
    nothing_moved(page, journey.watched)
    journey.act(page)
    expect(page).to_have_url(re.compile(journey.link))
    expect(journey.seen(page)).to_be_visible()
    wait(page)
    link = page.url

    german = see_canvases(new_page(viewport=PROJECTOR))
    german.add_init_script(f"({TRACE})({[TITLE]!r})")
    is_presented = [*JOURNEYS].index(address) % 2 == 0 and address != "server"  # which has hardly a text
    presenter_layout = "&presenter=on" if is_presented else ""
    german.goto(f"{link}{'&' if '?' in link else '?'}language=de{presenter_layout}")
    expect(german.locator("h1.hl-title").first).to_have_text(journey.german)
    expect(journey.seen(german)).to_be_visible()
    wait(german)
    nothing_moved(german, ())
    assert not [*german.evaluate(TOO_WIDE), *faults(german)]
    assert not is_presented or not german.evaluate(SMALL_TEXTS, LEAST_TEXT)


def test_nothing_moves_when_another_text_is_read_or_remarked_on(new_page: Callable[..., Page]):
    page = new_page(viewport=PROJECTOR)
    page.goto("/heads")
    expect(page.locator(".figure .gtitle")).to_be_visible()
    wait(page)
    watched = [".st-key-overview", ".st-key-heatmap"]
    page.evaluate(TRACE, [TITLE, *watched])
    box = page.get_by_label("Text", exact=True)
    for text, n_remarks in {"The quux sees the cat.": 1, "The cat sees the dog.": 0, "A quux.": 1, "": 0}.items():
        box.fill(text)
        box.press("Enter")
        expect(page.locator(".hl-note")).to_have_count(n_remarks)
        if text:
            expect(page.locator(".st-key-heatmap .gtitle")).to_be_visible()
    nothing_moved(page, watched)
