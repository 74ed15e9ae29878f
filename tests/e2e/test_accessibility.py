"""For those who use a keyboard or forced colors: what has the focus, what is announced, and what is outlined."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.looking import open_address

ANNOUNCED = "body > .hl-announced"
OUTLINES = """boxes => boxes.map((box) => {
  const { outlineStyle, outlineWidth } = getComputedStyle(box);
  return [outlineStyle, parseFloat(outlineWidth)];
})"""
CHOICES = {  # of components with a choice: what is chosen, and what could be
    "heads": ".overview .head",
    "heads?as=lines&query=2": ".lines .token",
    "masks?part=which": ".mask_which .card",
    "steps": ".steps .chip",
}


def focused(page: Page) -> Locator:
    return page.locator(":focus").last


def test_what_is_chosen_by_keys_is_announced_and_keeps_the_focus(page: Page):
    open_address(page, "masks")
    masks = page.locator(".mask_gallery button")
    expect(masks.and_(page.locator("[tabindex='0']"))).to_have_count(1)
    masks.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(masks.nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(ANNOUNCED)).to_have_text(f"Chosen: {masks.nth(1).inner_text()}")
    expect(page.locator(ANNOUNCED)).to_have_attribute("role", "status")
    expect(masks.nth(1)).to_be_focused()

    open_address(page, "steps?stage=softmax")
    page.locator(".steps .figure canvas").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(ANNOUNCED)).to_have_text(re.compile("^Stage Softmax: query .*, key "))
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    expect(focused(page)).to_have_accessible_description(re.compile("query"))
    page.keyboard.press("Enter")
    expect(page.locator(".steps_number")).to_be_visible()
    expect(focused(page)).to_have_class("number chosen")
    expect(page).to_have_url(re.compile("cell="))


@pytest.mark.full
def test_in_forced_colors_what_is_chosen_and_what_has_the_focus_is_outlined(new_page: Callable[..., Page]):
    page = new_page(forced_colors="active")
    for address, part in CHOICES.items():
        open_address(page, address)
        chosen, others = (page.locator(f"{part}[aria-pressed='{pressed}']") for pressed in ("true", "false"))
        expect(chosen).to_have_count(1)
        [(style, width)] = chosen.evaluate_all(OUTLINES)
        assert style == "solid" and width >= 2, address
        assert {style for style, _ in others.evaluate_all(OUTLINES)} == {"none"}, address
        chosen.focus()
        page.keyboard.press("ArrowRight")
        [(style, width)] = focused(page).evaluate_all(OUTLINES)
        assert style == "dashed" and width >= 2, address
    open_address(page, "decoding?part=beams")
    words = page.locator(".branches .node .word")
    expect(words.first).to_be_visible()
    grounds = words.evaluate_all("boxes => boxes.map((box) => getComputedStyle(box).backgroundColor)")
    assert len({*grounds}) > 3  # a color says how probable a token is
