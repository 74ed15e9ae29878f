"""The writing of a text in a real Chromium, on a page of its own: chips, where the model looks, and the player."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser import Server
from tests.e2e.gate import Gate

pytestmark = pytest.mark.browser

MARKUP = "<img src=x onerror=window.stolen=1>"
BAR = 24  # px, the height of a weight of 1
TWO_FRAMES = "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))"


@pytest.fixture
def server_url(gallery: Server) -> str:
    """The components, each on a page of its own."""
    return gallery.url


@pytest.fixture
def open_writing(new_page: Callable[..., Page]) -> Callable[..., Page]:
    """Opens the page of these tests, with what its address asks for."""

    def open_page(address: str = "/writing") -> Page:
        page = new_page()
        page.goto(address)
        expect(chip(page, 0)).to_be_visible()
        return page

    return open_page


def chip(page: Page, place: int, side: str = "output") -> Locator:
    """A token."""
    return page.locator(f".{side} .chip").nth(place)


def button(page: Page, name: str) -> Locator:
    """One of the player's."""
    return page.get_by_role("button", name=name, exact=True)


def is_at(page: Page, n: int) -> None:
    """Outlined is the token after which so many were written, with <bos> before them; nothing else is."""
    expect(chip(page, n)).to_have_attribute("aria-current", "true")
    expect(page.locator(".chip[aria-current]")).to_have_count(1)
    expect(page.locator(".output .chip.faint")).to_have_count(page.locator(".output .chip").count() - n - 1)


def asked(page: Page, wishes: str) -> None:
    """The page was asked for these things and nothing else, in this order."""
    expect(page.get_by_text(re.compile(rf"asked: {wishes};$"))).to_be_visible()


def settled(page: Page) -> None:
    """Nothing is waited for."""
    expect(page.locator(".busy")).to_have_attribute("hidden", "")


CURVES = """root => {
  const origin = root.querySelector(".curves").getBoundingClientRect();
  return [...root.querySelectorAll(".curves path")].map((path) => {
    const [x, y] = path.getAttribute("d").match(/[-\\d.]+/g).slice(-2).map(Number);
    return [x + origin.left, y + origin.top];
  });
}"""


def test_bars_and_curves_are_those_of_the_weights_and_a_token_that_is_pointed_at_says_more(
    open_writing: Callable[..., Page],
):
    page = open_writing()
    text = page.get_by_text(re.compile("^weights ")).text_content() or ""
    weights = [float(number) for number in text.split()[1:]]
    ends = []
    for place in sorted(range(len(weights)), key=lambda place: -weights[place]):
        weight, token = weights[place], chip(page, place, "source")
        height = token.evaluate("it => getComputedStyle(it).backgroundSize.split(' ').at(-1)")
        found = re.search(r"[\d.]+(?=px\)?$)", height)
        assert found is not None
        assert float(found[0]) == pytest.approx(BAR * weight if weight >= 0.005 else 0, abs=0.1)
        expect(token.locator(".number")).to_have_text([f"{weight:.2f}"] if weight >= 0.05 else [])
        word = token.locator(".word").bounding_box()
        assert word is not None
        if weight >= 0.05:
            ends.append([word["x"] + word["width"] / 2, word["y"] + word["height"] + 1])
    drawn = page.locator(".writing").evaluate(CURVES)
    assert len(drawn) == len(ends) > 0
    for one, other in zip(drawn, ends, strict=True):
        assert one == pytest.approx(other, abs=1)
    expect(chip(page, 1).locator(".word")).to_have_css("background-color", "rgb(26, 29, 84)")  # the scale's deep end
    expect(chip(page, 0).locator(".word")).not_to_have_css("background-color", "rgb(26, 29, 84)")
    chip(page, 3).hover()
    tip = page.locator(".tip")
    expect(tip).to_be_visible()
    expect(tip).to_contain_text("output 3 'n''forced: chosen by a person")
    expect(tip.locator(".alternatives bdi")).to_have_text(["n'", MARKUP, "\u2068שלום\u2069"])
    expect(tip.locator(".probability")).to_have_text(["0.33", "0.12", "0.010"])
    assert page.evaluate("window.stolen") is None and page.locator(".writing img").count() == 0
    page.mouse.move(700, 700)
    expect(tip).to_be_hidden()
    expect(page.locator(".caret")).not_to_have_css("animation-name", "none")
    page.emulate_media(reduced_motion="reduce")
    expect(page.locator(".caret")).to_have_css("animation-name", "none")


def test_the_focus_moves_without_the_step_and_a_click_or_enter_makes_a_token_the_last_one(
    open_writing: Callable[..., Page],
):
    page = open_writing()
    chip(page, 4).focus()
    page.keyboard.press("Shift+ArrowLeft")
    expect(chip(page, 3)).to_be_focused()
    expect(page.locator(".tip")).to_contain_text("output 3")
    is_at(page, 4)
    page.keyboard.press("ArrowUp")
    expect(chip(page, 0, "source")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(chip(page, 1, "source")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(chip(page, 4)).to_be_focused()
    asked(page, "")
    written = page.locator(".source .number").all_text_contents()
    page.keyboard.press("ArrowLeft")
    expect(chip(page, 3)).to_be_focused()
    asked(page, "at 3")
    settled(page)
    assert page.locator(".source .number").all_text_contents() != written
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Enter")
    is_at(page, 2)
    asked(page, "at 3, at 2")
    chip(page, 0).click()
    expect(page.locator(".count")).to_have_text("0 of 4 tokens so far")
    asked(page, "at 3, at 2, at 0")
    settled(page)
    is_at(page, 0)


def test_steps_are_seen_before_the_page_answers_and_are_asked_for_one_at_a_time(
    open_writing: Callable[..., Page], tmp_path: Path
):
    gate = Gate(tmp_path)
    page = open_writing(f"/writing?limit=100000&gate={gate.path}")
    gate.close()
    button(page, "One step back").click()
    is_at(page, 3)
    expect(page.locator(".writing")).to_have_class(re.compile("waiting"))
    expect(page.locator(".count")).to_have_text("3 of 4 tokens so far")
    button(page, "To the start").click()
    is_at(page, 0)
    gate.open()
    asked(page, "at 3, at 0")
    settled(page)
    is_at(page, 0)
    expect(page.locator(".writing")).not_to_have_class(re.compile("waiting"))
    expect(button(page, "One step back")).to_have_attribute("aria-disabled", "true")
    gate.close()
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    is_at(page, 4)
    gate.open()
    asked(page, "at 3, at 0, at 1, forward 7")
    settled(page)
    is_at(page, 8)
    gate.close()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowRight"):
        page.keyboard.press(key)
    gate.open()
    asked(page, "at 3, at 0, at 1, forward 7, at 7")
    settled(page)
    is_at(page, 7)
    gate.close()
    page.keyboard.press("End")
    button(page, "Pause").click()
    gate.open()
    settled(page)
    is_at(page, 8)
    expect(button(page, "Play")).to_be_visible()


def test_playing_stops_elsewhere_and_goes_on_to_the_end_and_nothing_jumps(open_writing: Callable[..., Page]):
    page = open_writing("/writing?limit=90")
    before = [page.locator(selector).bounding_box() for selector in (".writing", ".player", ".output .pane")]
    first = chip(page, 1).bounding_box()
    chip(page, 4).focus()
    page.keyboard.press(" ")
    expect(button(page, "Pause")).to_be_visible()
    expect(page.locator(".count")).to_have_text(re.compile(r"^([6-9]|\d{2,}) of"))
    expect(chip(page, 4)).not_to_be_focused()  # the focus goes along
    page.keyboard.press(" ")
    expect(button(page, "Play")).to_be_visible()
    settled(page)
    page.keyboard.press(" ")
    expect(button(page, "Pause")).to_be_visible()
    page.get_by_role("button", name="Elsewhere").click()
    expect(button(page, "Play")).to_be_visible()
    settled(page)
    assert chip(page, 1).bounding_box() == first
    button(page, "To the end").click()
    expect(page.locator(".says")).to_have_text("The model ended the text here (end-of-sequence token).")
    expect(page.get_by_text(re.compile("forward 1, forward 2, forward 4, forward 8, forward 8"))).to_be_visible()
    expect(button(page, "Play again")).to_be_visible()
    expect(page.locator(".count")).to_have_text("90 of 90 tokens")
    is_at(page, 90)
    expect(page.locator(".caret")).to_be_hidden()
    expect(button(page, "One step forward")).to_have_attribute("aria-disabled", "true")
    settled(page)
    after = [page.locator(selector).bounding_box() for selector in (".writing", ".player", ".output .pane")]
    assert after == before
    button(page, "One step back").click()
    expect(page.locator(".says")).to_have_text("")
    is_at(page, 89)


@pytest.mark.parametrize("address", ["/writing?n=300&limit=10000&prompt", "/writing?n=120&limit=10000&times=8"])
def test_a_long_text_follows_the_step_and_nothing_overlaps_at_any_size(open_writing: Callable[..., Page], address: str):
    page = open_writing(address)
    if "prompt" in address:
        expect(page.locator(".source .title")).to_be_hidden()
        expect(page.locator(".output .title")).to_have_text("Prompt and output")
    current = page.locator(".chip[aria-current]")
    page.locator(".writing").focus()
    for width, height in ((720, 450), (1024, 768), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(TWO_FRAMES)
        for key in ("ArrowLeft", "Home", "End"):
            page.keyboard.press(key)
            pane, box = page.locator(".output .pane").bounding_box(), current.bounding_box()
            assert pane is not None and box is not None
            assert pane["y"] - 1 <= box["y"] and box["y"] + box["height"] <= pane["y"] + pane["height"]
            assert page.locator(".writing").evaluate("it => it.scrollWidth <= it.clientWidth")
        page.keyboard.press(" ")
        settled(page)
        boxes = page.locator(".number, .flag:visible").evaluate_all(
            "all => all.map((it) => it.getBoundingClientRect())"
        )
        assert boxes
        for i, one in enumerate(boxes):
            for other in boxes[:i]:
                assert (
                    one["left"] >= other["right"] - 0.5
                    or other["left"] >= one["right"] - 0.5
                    or one["top"] >= other["bottom"] - 0.5
                    or other["top"] >= one["bottom"] - 0.5
                ), (width, one, other)
