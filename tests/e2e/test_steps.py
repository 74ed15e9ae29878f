"""The Attention step by step page as a person uses it, in a real Chromium."""

import re
from functools import cache

import numpy as np
import torch
from playwright.sync_api import Locator, Page, expect

import transformer_core as tc
from tests.e2e.browser import ROOT
from tests.e2e.conftest import PROJECTOR
from tests.e2e.looking import box_of, wait

TEXT = "The cat sees the dog."
LINK = "/steps?model=en-fr&attention=encoder&layer=1&head=2&text=The+cat+sees+the+dog."
AT_ONCE = """(stop) => {
  stop.click();
  const root = stop.closest(".steps");
  return [stop.getAttribute("aria-current"), root.querySelector(".says .title").textContent];
}"""


@cache
def activations() -> dict[str, np.ndarray]:
    """The model's own numbers of the selected head."""
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
    page.get_by_role("button", name="weight v").click()
    np.testing.assert_allclose(numbers(page, "A v"), acts["pattern"][2, 1] * acts["v"][1], atol=0.00051)
    expect(page).to_have_url(re.compile("stage=weigh"))
    seen = page.get_by_role("button", name="Softmax").evaluate(AT_ONCE)
    assert seen == ["step", "6. Softmax"]  # before any answer of the server
    assert page.locator("math msup").count() > 0


def test_another_query_and_key_and_the_figure_stays_where_it_is(page: Page):
    open_steps(page, LINK + "&stage=softmax")
    page.locator(".queries .chip", has_text="dog").click()
    np.testing.assert_allclose(numbers(page, "A"), activations()["pattern"][4], atol=0.00051)
    page.locator("button.key", has_text="sees").click()
    expect(page).to_have_url(re.compile("query=4.*key=2"))
    expect(page.locator(".plot .ytitle", has_text="query 4 'dog'")).to_be_visible()
    page.set_viewport_size(PROJECTOR)
    page.emulate_media(reduced_motion="reduce")
    page.goto(page.url)
    expect(page.locator("button.key[aria-pressed=true]")).to_have_text("sees")
    wait(page)
    figure = page.locator(".steps canvas").first
    before = box_of(figure)
    for _ in range(3):
        page.get_by_role("button", name="Previous stage").click()
        assert box_of(figure) == before  # whatever text a stage has
