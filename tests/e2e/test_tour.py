"""The page Tour as a person uses it, in a real Chromium."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

SLOW = 20_000  # ms: two busy cores


def open_tour(page: Page, address: str = "/tour") -> None:
    """Go there, and wait until the chapter and its first figure are drawn."""
    page.goto(address)
    expect(title(page)).to_be_visible(timeout=3 * SLOW)
    expect(page.locator("[class*=st-key-hl-tour-figure-]").first).to_be_visible(timeout=SLOW)


def title(page: Page) -> Locator:
    """The open chapter's title."""
    return page.locator(".hl-tour-title")


def test_predict_then_reveal_and_open_the_matching_page(page: Page):
    open_tour(page, "/tour?lesson=cross-attention")
    expect(page.get_by_text("It looks at")).to_have_count(0)
    question = page.locator("[class*=st-key-hl-tour-question-0]")
    question.locator("button").get_by_text("street", exact=True).click()
    expect(page.get_by_text("You said street. It is animal.")).to_be_visible(timeout=SLOW)
    expect(page.locator(".plot .gtitle").nth(1)).to_contain_text("layer 1, head 3", timeout=SLOW)
    page.get_by_role("button", name=re.compile("elle: a street can be wide")).click()
    expect(page.locator(".hl-tour-choices [data-kind=right]")).to_contain_text("elle", timeout=SLOW)
    page.get_by_role("link", name=re.compile("Stop at the pronoun")).click()
    expect(page).to_have_url(re.compile(r"/decoding\?.*attention=cross&layer=1&head=3.*"), timeout=SLOW)
    expect(page.get_by_role("heading", name="Decoding")).to_be_visible(timeout=SLOW)


def test_the_contents_the_keys_and_a_narrow_window(page: Page):
    open_tour(page)
    page.get_by_role("button", name=re.compile(r"\b4\s+One word, six steps")).click()
    expect(title(page)).to_have_text("One word, six steps", timeout=SLOW)
    expect(page).to_have_url(re.compile("lesson=one-word-six-steps"))
    expect(page.locator(".hl-tour-table tr.hl-marked")).to_contain_text("street", timeout=SLOW)
    page.mouse.wheel(0, 2000)
    page.keyboard.press("Shift+ArrowRight")
    expect(title(page)).to_have_text("What must not be seen", timeout=SLOW)
    at_top = "document.querySelector('[data-testid=stMain]').scrollTop === 0"
    page.wait_for_function(at_top, timeout=SLOW)
    page.keyboard.press("Shift+ArrowLeft")
    expect(title(page)).to_have_text("One word, six steps", timeout=SLOW)
    page.set_viewport_size({"width": 1024, "height": 768})
    folded = page.get_by_role("button", name=re.compile("4 of 19: One word, six steps"))
    expect(folded).to_be_visible(timeout=SLOW)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1024
    folded.click()
    page.get_by_role("button", name=re.compile("Who stands where")).last.click()
    expect(title(page)).to_have_text("Who stands where", timeout=SLOW)


def test_six_words_are_trained_when_asked(page: Page):
    open_tour(page, "/tour?lesson=training")
    panels = page.locator(".plot .annotation-text")
    expect(panels.filter(has_text=re.compile("^untrained$"))).to_have_count(1, timeout=SLOW)
    expect(panels.filter(has_text=re.compile("^trained$"))).to_have_count(0)
    page.get_by_role("button", name="Train it now").click()
    expect(panels.filter(has_text=re.compile("^trained$"))).to_have_count(1, timeout=3 * SLOW)
    expect(page.get_by_role("button", name="Train it again, from other random weights")).to_be_visible()
    page.get_by_label("Your number").fill("1,79")
    page.get_by_label("Your number").press("Enter")
    expect(page.get_by_text("Yes: it is 1.792.")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("i am a student <eos>").first).to_be_visible(timeout=SLOW)
