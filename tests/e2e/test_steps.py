"""The page Attention step by step as a person uses it, in a real Chromium."""

import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator, Page, expect

import transformer_core as tc
from tests.e2e.browser import ROOT

pytestmark = pytest.mark.browser

TEXT = "The cat sees the dog."
LINK = "/steps?model=en-fr&attention=encoder&layer=1&head=2&text=The+cat+sees+the+dog."
AT_ONCE = """(stop) => {
  stop.click();
  const root = stop.closest(".steps");
  return [stop.getAttribute("aria-current"), root.querySelector(".says .title").textContent];
}"""


@cache
def activations() -> dict[str, np.ndarray]:
    """The model's own numbers of the head that is looked at."""
    model, tokenizer = tc.load(str(ROOT / "checkpoints" / "en-fr"))
    src = torch.tensor([tokenizer.encode(TEXT, eos=True)])
    with torch.inference_mode(), tc.capture(model, "encoder.blocks.1.*") as acts:
        model.encode(src)
    site = "encoder.blocks.1.self_attn.hook_"
    return {name: acts[f"{site}{name}"][0, 2].numpy() for name in ("q", "k", "v", "pattern", "z")}


def open_steps(page: Page, address: str) -> None:
    """Go there, and wait until the figure and its numbers are drawn."""
    page.goto(address)
    expect(page.locator(".lens .number").first).to_be_visible()


def stage(page: Page) -> Locator:
    """The present stage."""
    return page.locator(".stop[aria-current]")


def vector(page: Page, symbol: str) -> Locator:
    """The numbers of one quantity below the figure."""
    return page.locator(".vector", has=page.locator(".symbol").get_by_text(symbol, exact=True))


def numbers(page: Page, symbol: str) -> list[float]:
    """These numbers, as they are written."""
    texts = vector(page, symbol).locator(".number").all_text_contents()
    return [float(text.replace("\u2212", "-")) for text in texts]


def view_of(page: Page) -> dict[str, str]:
    """The view in the URL."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query, keep_blank_values=True).items()}


def test_stages_are_walked_with_the_models_numbers(page: Page):
    open_steps(page, LINK + "&query=2&key=1")
    expect(stage(page)).to_have_text("input")
    page.get_by_role("button", name="Next stage").click()
    expect(stage(page)).to_have_text("q, k, v")
    acts = activations()
    for symbol, name, row in (("Q", "q", 2), ("K", "k", 1), ("V", "v", 1)):
        np.testing.assert_allclose(numbers(page, symbol), acts[name][row], atol=0.00051)
    stage(page).focus()
    page.keyboard.press("ArrowRight")
    expect(stage(page)).to_have_text("q · k")
    np.testing.assert_allclose(numbers(page, "q ⊙ k"), acts["q"][2] * acts["k"][1], atol=0.00051)  # of the browser
    page.keyboard.press("End")
    page.keyboard.press("Home")
    page.get_by_role("button", name="weight v").click()
    np.testing.assert_allclose(numbers(page, "A v"), acts["pattern"][2, 1] * acts["v"][1], atol=0.00051)
    expect(page).to_have_url(re.compile("stage=weigh"))
    seen = page.get_by_role("button", name="Softmax").evaluate(AT_ONCE)
    assert seen == ["step", "6. Softmax"]  # before any answer of the server
    assert page.locator("math msup").count() > 0


def test_another_query_and_key_and_the_link_to_them(page: Page, new_page: Callable[..., Page]):
    open_steps(page, LINK + "&stage=softmax")
    page.locator(".queries .chip", has_text="dog").click()
    np.testing.assert_allclose(numbers(page, "A"), activations()["pattern"][4], atol=0.00051)
    page.locator("button.key", has_text="sees").click()
    expect(page).to_have_url(re.compile("query=4.*key=2"))
    expect(page.locator(".plot .ytitle", has_text="query 4 'dog'")).to_be_visible()
    page.locator("button.key[aria-pressed=true]").press("ArrowDown")
    expect(page.locator("button.key[aria-pressed=true]")).to_have_text("the")
    expect(page).to_have_url(re.compile("key=3"))

    other = new_page(reduced_motion="reduce", color_scheme="dark", viewport={"width": 1024, "height": 768})
    open_steps(other, page.url)
    expect(stage(other)).to_have_text("softmax")
    expect(other.locator(".chip[aria-pressed=true] .word")).to_have_text("dog")
    expect(other.locator("button.key[aria-pressed=true]")).to_have_text("the")
    assert view_of(other) == view_of(page)
    player, first = other.locator(".steps .player"), other.locator(".steps canvas")
    before = first.bounding_box()
    for _ in range(3):
        other.get_by_role("button", name="Previous stage").click()
        assert first.bounding_box() == before  # whatever is said of a stage, the figure stays where it is
    other.locator(".lens .number").last.scroll_into_view_if_needed()
    other.mouse.move(600, 600)
    other.mouse.wheel(0, 200)
    expect(player).to_be_in_viewport(ratio=1)
    room = other.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert room[0] <= room[1]


def test_a_number_opens_its_formula(page: Page):
    open_steps(page, LINK + "&stage=projection&query=2")
    expect(page.locator(".hl-proved")).to_contain_text("Every number on this page verified")
    number = vector(page, "Q").locator(".number").nth(5)
    number.hover()
    expect(number).to_have_attribute("title", re.compile(r"^Q, query 2 “sees”, dimension 5: \u2212?\d+\.\d{4}$"))
    number.click()
    panel = page.locator(".steps_number")
    expect(panel.locator(".place")).to_have_text("Q, query 2 'sees', dimension 5 of the head")
    value = float((panel.locator(".value").text_content() or "").replace("\u2212", "-").lstrip("= "))
    assert value == pytest.approx(float(activations()["q"][2, 5]), abs=1e-6)
    expect(panel.locator(".term")).to_have_count(12)
    panel.get_by_role("button", name="and 116 more").click()
    expect(panel.locator(".term")).to_have_count(128)
    sums = panel.locator(".term .sum").all_text_contents()
    bias = float((panel.locator(".constant").text_content() or "").split("=")[1].replace("\u2212", "-"))
    assert sum(float(text.replace("\u2212", "-")) for text in sums) + bias == pytest.approx(value, abs=0.01)
    expect(page).to_have_url(re.compile(r"cell=q\.2\.5"))
    page.get_by_role("button", name="Close").click()
    expect(panel).to_have_count(0)
    page.locator(".steps canvas").click(position={"x": 250, "y": 42})  # the query's own strip
    expect(panel.locator(".place")).to_have_text(re.compile(r"^X, query 2 'sees', dimension \d+$"))


def test_a_text_of_the_same_size_has_its_labels_in_their_rows_and_its_numbers_whole(page: Page):
    open_steps(page, LINK + "&stage=projection")
    expect(page.locator("button.key").first).to_have_text("The")
    page.get_by_label("Text", exact=True).fill("The dog sees the cat.")
    page.get_by_label("Text", exact=True).press("Enter")
    expect(page.locator("button.key").nth(1)).to_have_text("dog")
    tops = [box["y"] for key in page.locator("button.key").all() if (box := key.bounding_box())]
    assert len(tops) == 7 and all(lower - upper > 12 for upper, lower in pairwise(tops))
    boxes = page.locator(".vector .cells").evaluate_all(
        "(all) => all.map((one) => [one.scrollHeight, one.clientHeight])"
    )
    assert len(boxes) == 4 and all(needed <= shown for needed, shown in boxes)
