"""Every page for those who do not see it, or not well, or use no mouse: axe, the keyboard, and forced colors."""

import re
from collections.abc import Callable
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from pages.shared.page import pages
from pages.shared.view import visits
from tests.e2e.browser import ROOT, Server
from tests.e2e.looking import open_address, view_of, wait

pytestmark = pytest.mark.browser

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
MORE = {  # further states of a page, with components that it does not begin with
    "positions": ("encoding=rotary_halves",),
    "masks": ("part=which", "part=inference"),
    "architecture": ("show=code",),
    "heads": ("as=lines",),
    "interventions": ("add=cells&view=numbers", "add=patch&view=sweep", "add=patch&view=source"),
    "decoding": ("model=stories", "part=beams&model=en-fr", "part=led", "model=fill-in"),
}
OF_STREAMLIT = {  # what only Streamlit can mend, by axe's rules
    # The navigation is one list of sections, each a div that holds the items.
    "list": '[data-testid="stSidebarNavItems"]',
    "listitem": '[data-testid="stSidebarNavItems"] li',
    # Code that is longer than its box scrolls without a tabindex; Chromium lets the keyboard scroll it all the same.
    "scrollable-region-focusable": '[data-testid="stCode"] pre',
}
FIND = """async ([ofStreamlit, onlyColors]) => {
  const { violations } = await axe.run(document, {
    resultTypes: ["violations"],
    elementRef: true,
    ...(onlyColors ? { runOnly: ["color-contrast"] } : {}),
  });
  const found = violations.filter(({ impact }) => ["serious", "critical"].includes(impact)).flatMap(({ id, nodes }) =>
    nodes.map(({ element, target, any, all, none }) => ({
      id,
      isOfStreamlit: Boolean(ofStreamlit[id] && element.matches(ofStreamlit[id])),
      words: `${id}: ${target.flat().at(-1)}: ${[...any, ...all, ...none].map(({ message }) => message).join("; ")}`,
    })),
  );
  return {
    ours: [...new Set(found.filter((one) => !one.isOfStreamlit).map(({ words }) => words))],
    streamlits: [...new Set(found.filter((one) => one.isOfStreamlit).map(({ id }) => id))],
  };
}"""
WATCH = """
const { addEventListener } = EventTarget.prototype;
window.pressable = new Set();
EventTarget.prototype.addEventListener = function (kind, ...rest) {
  if (this instanceof Element && ["click", "mousedown", "pointerdown"].includes(kind)) window.pressable.add(this);
  return addEventListener.call(this, kind, ...rest);
};"""
OUT_OF_REACH = """() => {
  const stop = "button, input, select, summary, [tabindex]";
  const isStop = (one) => one.matches(stop) && one.tabIndex >= 0;
  const isReached = (one, root) => {
    const places = [one, one.closest(stop)].filter(Boolean);
    const alike = places.flatMap(({ classList: [name] }) => (name ? [...root.querySelectorAll(`.${name}`)] : []));
    return [...places, ...alike, ...one.querySelectorAll(stop)].some(isStop); // the focus roves over what is alike
  };
  return [...window.pressable].filter((one) => one.isConnected).flatMap((one) => {
    const root = one.closest('[data-testid^="stBidiComponent"]') ?? one.getRootNode();
    const isOurs = root instanceof ShadowRoot || root !== document;
    const isCurves = one.closest('.js-plotly-plot[role="img"]'); // plotly's own: its hover words, and hiding a curve
    if (!isOurs || isCurves || isReached(one, root)) return [];
    return [`.${one.getAttribute("class")} is reached by a pointer alone`];
  });
}"""
MARKS = (
    ".mark is reached by a pointer alone"  # of a film: hidden from who does not see them, for the page lists the same
)
ANNOUNCED = "body > .hl-announced"


@pytest.fixture(scope="module")
def server(server_with_run: Server) -> Server:
    """The app with one training."""
    return server_with_run


@pytest.fixture
def page(new_page: Callable[..., Page], server: Server) -> Page:
    """A page of somebody who was on every page before."""
    page = new_page()
    page.context.add_cookies([{"name": visits.COOKIE, "value": ".".join(pages()), "url": server.url}])
    return page


def test_axe_finds_nothing_serious_on_any_page_and_the_keyboard_reaches_what_a_pointer_does(page: Page):
    page.add_init_script(path=AXE)
    page.add_init_script(WATCH)
    ours, streamlits = dict[str, list[str]](), set[str]()
    schemes: list[Literal["light", "dark"]] = ["light", "dark"]
    for address in pages():
        for rest in ("run=first" if address in ("train", "film") else "", *MORE.get(address, ())):
            open_address(page, f"{address}?{rest}")
            if unreached := {*page.evaluate(OUT_OF_REACH)} - {MARKS}:
                ours[f"{address}?{rest}"] = sorted(unreached)
            for scheme in schemes:
                page.emulate_media(color_scheme=scheme)
                page.wait_for_function(IS_PAINTED, arg=scheme)
                found = page.evaluate(FIND, [OF_STREAMLIT, scheme == schemes[1]])
                streamlits.update(found["streamlits"])
                if found["ours"]:
                    ours[f"{address}?{rest}, {scheme}"] = found["ours"]
            schemes = schemes[::-1]  # the next page opens as this one ended: half as many changes
    assert not ours, "\n".join(f"{where}: {fault}" for where, faults in ours.items() for fault in faults)
    assert streamlits == {*OF_STREAMLIT}  # what Streamlit has mended is no longer listed


IS_PAINTED = """scheme => {
  const [red] = getComputedStyle(document.querySelector(".stApp")).backgroundColor.match(/[\\d.]+/g).map(Number);
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--hl-on-accent").trim(); // the server's word
  return [red < 128, ink.toUpperCase() !== "#FFFFFF"].every((isDark) => isDark === (scheme === "dark"));
}"""


def focused(page: Page) -> Locator:
    """What has the focus."""
    return page.locator(":focus").last


def test_a_dial_turns_its_hands_from_the_keyboard(page: Page):
    open_address(page, "positions?encoding=rotary_halves")
    dials, told = page.locator(".dials .dial"), page.locator(".dials .sum")
    page.locator(".dials .range").last.focus()
    page.keyboard.press("Tab")
    expect(focused(page)).to_have_accessible_name("Pair 0")
    page.keyboard.press("End")
    expect(focused(page)).to_have_accessible_name("Pair 15")
    page.keyboard.press("ArrowLeft")
    expect(dials.nth(14)).to_be_focused()
    before = [int(value) for value in re.findall(r"-?\d+", dials.nth(14).get_attribute("aria-valuetext") or "")[:2]]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+ArrowDown")  # before the page has answered the first
    expect(dials.nth(14)).to_have_attribute(
        "aria-valuetext", re.compile(rf"^query at {before[0] + 1}, key at {before[1] - 1}: product ")
    )
    expect(told).to_have_text(re.compile(rf"^distance {before[0] - before[1] + 2}: "))
    expect(page.locator(ANNOUNCED)).to_have_text(told.inner_text())
    expect(page).to_have_url(re.compile(rf"places={before[0] + 1}\.{before[1] - 1}"))


def test_the_numbers_of_a_figure_are_reached_and_keep_the_focus(page: Page):
    open_address(page, "steps?stage=softmax")
    page.locator(".steps .figure canvas").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(ANNOUNCED)).to_have_text(re.compile("^Stage Softmax: query .*, key "))
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    number = focused(page)
    expect(number).to_have_class("number")
    expect(number).to_have_accessible_description(re.compile("query"))
    page.keyboard.press("Enter")
    expect(page.locator(".steps_number")).to_be_visible()
    expect(focused(page)).to_have_class("number chosen")
    assert view_of(page)["cell"]


def test_the_masks_are_one_stop_of_the_tab_key_and_say_what_was_chosen(page: Page):
    open_address(page, "masks")
    masks = page.locator(".mask_gallery button")
    expect(masks.and_(page.locator("[tabindex='0']"))).to_have_count(1)
    masks.first.focus()
    page.keyboard.press("ArrowRight")
    expect(masks.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(masks.nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(ANNOUNCED)).to_have_text(f"Chosen: {masks.nth(1).inner_text()}")
    expect(page.locator(ANNOUNCED)).to_have_attribute("role", "status")
    expect(masks.nth(1)).to_be_focused()


OUTLINES = """boxes => boxes.map((box) => {
  const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(box);
  return [outlineStyle, parseFloat(outlineWidth), outlineColor];
})"""
CHOICES = {  # of components with a choice: what is chosen, and what could be
    "heads": (".overview .head[aria-pressed='true']", ".overview .head[aria-pressed='false']"),
    "heads?as=lines&query=2": (".lines .token[aria-pressed='true']", ".lines .token[aria-pressed='false']"),
    "masks?part=which": (".mask_which .card[aria-pressed='true']", ".mask_which .card[aria-pressed='false']"),
    "steps": (".steps .chip[aria-pressed='true']", ".steps .chip[aria-pressed='false']"),
}


def test_in_forced_colors_what_is_chosen_and_what_has_the_focus_is_outlined(new_page: Callable[..., Page]):
    page = new_page(forced_colors="active")
    for address, (chosen, others) in CHOICES.items():
        open_address(page, address)
        expect(page.locator(chosen)).to_have_count(1)
        [outline] = page.locator(chosen).evaluate_all(OUTLINES)
        assert outline[0] == "solid" and outline[1] >= 2, address
        assert {style for style, *_ in page.locator(others).evaluate_all(OUTLINES)} == {"none"}, address
        page.locator(chosen).focus()
        page.keyboard.press("ArrowRight")
        [focus] = focused(page).evaluate_all(OUTLINES)
        assert focus[0] == "dashed" and focus[1] >= 2, address
    open_address(page, "decoding?part=beams")
    wait(page)
    grounds = page.locator(".branches .node .word").evaluate_all(
        "boxes => boxes.map((box) => getComputedStyle(box).backgroundColor)"
    )
    assert len({*grounds}) > 3  # a color says how probable a token is
