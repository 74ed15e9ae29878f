"""The page Architecture as a person uses it, in a real Chromium: pointing, clicking, walking with the keyboard."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser


def open_page(page: Page, address: str = "/architecture") -> None:
    """Go there, and wait until the model is drawn."""
    page.goto(address)
    expect(box(page, "softmax")).to_be_visible()


def box(page: Page, name: str) -> Locator:
    """A block; "*" stands for the number of the layer that is open."""
    return page.locator(f'.sheet .node[data-box="{name}"]')


def heading(page: Page) -> Locator:
    """The name of the chosen block."""
    return page.locator(".hl-arch-block h2")


def test_a_block_is_pointed_at_and_chosen(page: Page):
    open_page(page)
    expect(heading(page)).to_have_text("Multi-head cross-attention, decoder, layer 1")
    assert page.locator(".sheet .arrow.key, .sheet .arrow.value").count() == 6  # three attentions
    box(page, "decoder.*.mlp").hover()
    expect(page.locator(".tip b")).to_have_text("Feed forward, layer 1")
    lit = page.locator(".sheet .arrow.lit")
    expect(lit).to_have_count(3)  # in, out, and the one that goes around
    box(page, "decoder.*.mlp").click()
    expect(heading(page)).to_have_text("Feed forward, decoder, layer 1")
    expect(box(page, "decoder.*.mlp")).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile(r"[?&]block=decoder\.1\.mlp"))


def test_another_layer_opens_at_once_and_keeps_the_place(page: Page):
    open_page(page, "/architecture?model=stories&block=decoder.3.mlp")
    expect(heading(page)).to_have_text("Feed forward, layer 3")
    page.locator('.sheet .plate[data-layer="1"]').click()
    expect(page.locator(".sheet .frame .layer")).to_have_text("layer 1")
    expect(heading(page)).to_have_text("Feed forward, layer 1")
    expect(page.locator(".sheet .plate")).to_have_count(3)
    expect(page).to_have_url(re.compile(r"[?&]block=decoder\.1\.mlp"))
    page.go_back()
    expect(heading(page)).to_have_text("Feed forward, layer 3")
    expect(page.locator(".sheet .frame .layer")).to_have_text("layer 3")


def test_the_drawing_is_walked_with_the_keyboard_and_the_text_is_seen_on_its_way(page: Page):
    open_page(page, "/architecture?block=encoder.1.mlp&show=text")
    expect(page.locator(".plot .gtitle")).to_have_text("Feed forward, encoder, layer 1")
    expect(page.locator(".plot .ytick text").first).to_have_text("The")
    box(page, "encoder.*.mlp").focus()
    page.keyboard.press("ArrowUp")
    expect(box(page, "encoder.*.ln2")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".plot .gtitle")).to_have_text("Add & norm, encoder, layer 1")
    page.keyboard.press("ArrowRight")
    expect(page.locator('.sheet .node[data-box^="decoder."]:focus')).to_have_count(1)


def test_a_layer_that_is_opened_from_the_keyboard_has_the_focus(page: Page):
    open_page(page, "/architecture?model=stories&block=decoder.3.mlp")
    page.locator('.sheet .plate[data-layer="1"]').focus()
    page.keyboard.press("Enter")
    expect(page.locator(".sheet .frame .layer")).to_have_text("layer 1")
    expect(box(page, "decoder.*.mlp")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator(".sheet .node:focus")).to_have_count(1)
    expect(box(page, "decoder.*.mlp")).not_to_be_focused()


def test_nothing_is_wider_than_a_small_window(page: Page):
    page.set_viewport_size({"width": 1024, "height": 768})
    open_page(page, "/architecture?language=de")
    for part in ("Parameter", "Aufwand", "Residualstrom"):
        page.get_by_role("radio", name=part, exact=True).or_(page.get_by_role("button", name=part, exact=True)).click()
        expect(page.locator(".plot .gtitle").first).to_be_visible()
        main = page.locator('[data-testid="stMain"]')
        assert main.evaluate("node => node.scrollWidth <= node.clientWidth")
