"""The Start page as a person uses it, in a real Chromium: zoom, step, sliders, keyboard, phone."""

import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

import transformer_core as tc
from tests.e2e.browser import ROOT
from tests.e2e.conftest import PHONE
from tests.e2e.looking import box_of, faults, open_address

TEXT = "The cat sees the dog."
FIRST_PANEL = '.lane[data-stack="decoder"] .panel.vectors canvas'
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


def test_a_cell_says_the_captures_number_and_it_generates_token_by_token(page: Page):
    open_start(page)
    canvas = page.locator(FIRST_PANEL).first
    expect(canvas).to_be_visible()
    box = box_of(canvas)
    n_rows, n_columns = canvas.evaluate("({ picture: { rows, columns } }) => [rows, columns]")
    for row, column in ((0, 5), (1, 77)):
        x, y = (column + 0.5) * box["width"] / n_columns, (row + 0.5) * box["height"] / n_rows
        canvas.hover(position={"x": x, "y": y})
        words = page.locator(".says").text_content() or ""
        match = re.search(r"token (\d+) .*dimension (\d+): (\S+)$", words)
        assert match, words
        assert int(match[1]) == row
        expected = embeddings()[row, int(match[2])]
        assert float(match[3].replace("\u2212", "-")) == pytest.approx(expected, abs=0.006), words
    page.locator(".player .begin").click()
    expect(page.locator(".place")).to_contain_text("0 generated")
    forward = box_of(page.locator(".player .forward"))
    for n in range(1, 5):  # at one place: the button stays there while its label changes
        page.mouse.click(forward["x"] + forward["width"] / 2, forward["y"] + forward["height"] / 2)
        expect(page.locator(".place")).to_contain_text(f"{n} generated")
    expect(page).to_have_url(re.compile(r"[?&]step=4"))
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
    request = page.evaluate("performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)")
    linked = page.evaluate(
        "[...document.querySelectorAll('link[fetchpriority=low]')].map(({ href }) => new URL(href).pathname)"
    )
    assert {path for path in request if path.startswith("/modules/")} == {
        path for path in linked if path.startswith("/modules/")
    }
    assert set(linked) <= set(request) and len(request) == len(set(request))  # nothing twice
    expect(page.locator("link[rel=prefetch]")).to_have_attribute("href", "/vendor/plotly.min.js")


def test_on_a_phone_nothing_is_wider_than_the_screen_and_the_player_stays_in_sight(new_page: Callable[..., Page]):
    page = new_page(viewport=PHONE, reduced_motion="reduce")
    open_start(page)
    expect(page.locator(FIRST_PANEL).first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".stage").evaluate("(stage) => stage.scrollWidth <= stage.clientWidth")
    sizes = page.locator(".token:not(.later) .label").evaluate_all(
        "(labels) => labels.map((label) => parseFloat(getComputedStyle(label).fontSize))"
    )
    assert min(sizes) >= 9
    open_address(page, "start?model=induction&zoom=decoder.1.self_attn.0")
    player = page.locator(".steps > .player")
    for top in (400, 520, 640):
        page.get_by_test_id("stMain").evaluate("(main, top) => { main.scrollTop = top; }", top)
        assert player.evaluate("(player) => player.getBoundingClientRect().top") == 0
        assert not faults(page), top
    player.evaluate("(player) => { player.style.position = 'relative'; player.style.top = '320px'; }")
    assert faults(page)  # an element that covers text without being sticky is still found
