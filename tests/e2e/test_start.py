"""The page Start as a person uses it, in a real Chromium: zoom, step, sliders, keyboard, phone."""

import re
from collections.abc import Callable
from functools import cache
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

import transformer_core as tc
from tests.e2e.browser import ROOT
from tests.e2e.looking import faults, open_address

pytestmark = pytest.mark.browser

TEXT = "The cat sees the dog."
FIRST_PANEL = '.lane[data-stack="decoder"] .panel.vectors canvas'
HEADS = {
    "en-fr": "decoder.1.cross_attn.2",
    "dates": "decoder.0.cross_attn.1",
    "stories": "decoder.3.self_attn.2",
    "induction": "decoder.1.self_attn.0",
    "fill-in": "encoder.1.self_attn.0",
}
LAPTOP, PROJECTOR, PHONE = SIZES = [(1440, 900), (1024, 768), (390, 844)]
HIDDEN = "(strips) => Math.max(...strips.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))"  # px
BARS_AT_ONCE = """(range) => {
  const root = range.closest(".stage");
  const shares = () => [...root.querySelectorAll(".bar .share")].map(({ textContent }) => textContent);
  const before = shares();
  range.value = String(Number(range.max) * 0.7);
  range.dispatchEvent(new Event("input", { bubbles: true }));
  return [before, shares()];
}"""


@cache
def embeddings() -> np.ndarray:
    """What the decoder's embedding gives for the tokens that the model generates."""
    model, tokenizer = tc.load(str(ROOT / "checkpoints" / "en-fr"))
    src = torch.tensor([tokenizer.encode(TEXT, eos=True)])
    tgt = tc.greedy_decode(model, src).tokens
    with torch.inference_mode(), tc.capture(model, "decoder.hook_embed") as acts:
        model(src, tgt)
    return acts["decoder.hook_embed"][0].numpy()


def open_start(page: Page, address: str = "/start?text=The+cat+sees+the+dog.") -> None:
    """Go there, and wait until the stage is drawn."""
    page.goto(address)
    expect(page.locator(".stage .crumb").first).to_be_visible()


def at(page: Page) -> dict[str, str]:
    """What the address says."""
    return {name: values[-1] for name, values in parse_qs(urlsplit(page.url).query).items()}


def crumbs(page: Page, *titles: str) -> None:
    """Wait until the stage is zoomed in so far."""
    expect(page.locator(".crumb")).to_have_text([*titles])


def test_one_zooms_in_down_to_a_number_and_back_by_clicks_and_by_keys(page: Page):
    open_start(page)
    page.locator('.block-title[data-zoom="decoder.1"]').click()
    crumbs(page, "Overview", "Decoder block 1")
    page.locator('.map[data-zoom="decoder.1.cross_attn"]').first.click()
    crumbs(page, "Overview", "Decoder block 1", "Cross-attention")
    page.locator('.map[data-zoom="decoder.1.cross_attn.2"]').click()
    crumbs(page, "Overview", "Decoder block 1", "Cross-attention", "L1.H2")
    number = page.locator(".lens .number").first
    number.click()
    expect(page.locator(".steps_number")).to_be_visible()
    assert at(page)["zoom"] == "decoder.1.cross_attn.2" and "cell" in at(page)
    page.reload()
    crumbs(page, "Overview", "Decoder block 1", "Cross-attention", "L1.H2")
    expect(page.locator(".steps_number")).to_be_visible()
    page.locator(".crumb").nth(1).click()
    crumbs(page, "Overview", "Decoder block 1")
    page.keyboard.press("Escape")  # wherever the click has left the focus
    crumbs(page, "Overview")
    page.locator('.open[tabindex="0"]').focus()
    page.keyboard.press("Enter")
    crumbs(page, "Overview", "Encoder block 0")


def test_a_cell_says_the_captures_number(page: Page):
    open_start(page)
    canvas = page.locator(FIRST_PANEL).first
    expect(canvas).to_be_visible()
    box = canvas.bounding_box()
    assert box is not None
    n_rows, n_columns = canvas.evaluate("({ picture: { rows, columns } }) => [rows, columns]")
    for row, column in ((0, 5), (1, 77)):
        x, y = (column + 0.5) * box["width"] / n_columns, (row + 0.5) * box["height"] / n_rows
        canvas.hover(position={"x": x, "y": y})
        words = page.locator(".says").text_content() or ""
        found = re.search(r"token (\d+) .*dimension (\d+): (\S+)$", words)
        assert found, words
        assert int(found[1]) == row
        expected = embeddings()[row, int(found[2])]
        assert float(found[3].replace("\u2212", "-")) == pytest.approx(expected, abs=0.006), words


def test_it_generates_token_by_token_and_sliders_act_at_once(page: Page):
    open_start(page)
    page.locator(".player .begin").click()
    expect(page.locator(".place")).to_contain_text("0 generated")
    page.locator(".player .forward").click()
    expect(page.locator(".place")).to_contain_text("1 generated")
    expect(page).to_have_url(re.compile(r"[?&]step=1"))
    before, after = page.locator(".prediction .range").first.evaluate(BARS_AT_ONCE)
    assert before != after
    page.locator(".prediction .range").first.dispatch_event("change")
    expect(page).to_have_url(re.compile(r"[?&]temperature=1\.4"))
    bar = page.locator(".bar").nth(3)
    label = bar.locator(".label").text_content()
    bar.click()
    expect(page.locator(".token.current .label")).to_have_text(label or "")
    expect(page).to_have_url(re.compile(r"[?&]tokens="))


def test_the_address_alone_asks_for_all_that_the_stage_is_drawn_with(page: Page):
    open_start(page, "/")
    asked = page.evaluate("performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)")
    linked = page.evaluate(
        "[...document.querySelectorAll('link[fetchpriority=low]')].map(({ href }) => new URL(href).pathname)"
    )
    assert {path for path in asked if path.startswith("/modules/")} == {
        path for path in linked if path.startswith("/modules/")
    }
    assert set(linked) <= set(asked) and len(asked) == len(set(asked))  # nothing twice
    expect(page.locator("link[rel=prefetch]")).to_have_attribute("href", "/vendor/plotly.min.js")


@pytest.mark.parametrize("size", SIZES, ids=["laptop", "projector", "phone"])
def test_each_zoom_level_of_each_model_is_drawn_and_no_text_lies_on_another_or_is_cut_off(
    new_page: Callable[..., Page], size: tuple[int, int]
):
    page = new_page(viewport={"width": size[0], "height": size[1]})
    seen = {}
    for model, head in HEADS.items():
        stack, layer, attention, _ = head.split(".")
        for zoom in ("", f"{stack}.{layer}", f"{stack}.{layer}.{attention}", head):
            open_address(page, f"start?model={model}&zoom={zoom}")
            expect(page.locator(".crumb")).to_have_count(len(zoom.split(".")) if zoom else 1)
            expect(page.locator(".lens .number" if zoom == head else ".stage .picture").first).to_be_visible()
            is_scrolled = size == PHONE or (size == PROJECTOR and (model, zoom) == ("stories", ""))  # four blocks
            if zoom != head and not is_scrolled:
                assert page.locator(".strip").evaluate_all(HIDDEN) == 0, (model, zoom)
            seen[f"{model}, {zoom}"] = faults(page)
        page.locator(".lens .number").nth(1).click()
        expect(page.locator(".steps_number")).to_contain_text("Recomputed in float64")
        assert "cell" in at(page)
    assert not any(seen.values()), seen


def test_the_steps_stay_in_sight_on_a_phone_and_cover_what_is_scrolled_beneath_them(new_page: Callable[..., Page]):
    page = new_page(viewport={"width": PHONE[0], "height": PHONE[1]})
    open_address(page, f"start?model=induction&zoom={HEADS['induction']}")
    steps = page.locator(".steps > .player")
    for top in range(400, 700, 60):
        page.get_by_test_id("stMain").evaluate("(main, top) => { main.scrollTop = top; }", top)
        assert steps.evaluate("(steps) => steps.getBoundingClientRect().top") == 0
        assert not faults(page), top
    steps.evaluate("(steps) => { steps.style.position = 'relative'; steps.style.top = '320px'; }")
    assert faults(page)  # what lies on other texts without being stuck is still found


def test_on_a_phone_nothing_is_wider_than_the_screen_and_all_can_be_reached(new_page: Callable[..., Page]):
    page = new_page(viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    open_start(page)
    expect(page.locator(FIRST_PANEL).first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    widths = page.locator(".stage").evaluate("(stage) => [stage.scrollWidth, stage.clientWidth]")
    assert widths[0] <= widths[1]
    sizes = page.locator(".token:not(.later) .label").evaluate_all(
        "(labels) => labels.map((label) => parseFloat(getComputedStyle(label).fontSize))"
    )
    assert min(sizes) >= 9
    page.locator(".block-title").first.click()
    crumbs(page, "Overview", "Encoder block 0")
