"""The Tour page as a person uses it, in a real Chromium."""

import re
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.conftest import LAPTOP
from tests.e2e.looking import wait


def open_tour(page: Page, address: str = "/tour") -> None:
    """Go there, and wait until the chapter and its first figure are drawn."""
    page.goto(address)
    expect(title(page)).to_be_visible()
    expect(page.locator("[class*=st-key-hl-tour-figure-]").first).to_be_visible()


def title(page: Page) -> Locator:
    """The open chapter's title."""
    return page.locator(".hl-tour-title")


def test_the_contents_the_keys_and_a_narrow_window(page: Page):
    open_tour(page)
    page.get_by_role("button", name=re.compile(r"\b4\s+Scaled dot-product attention")).click()
    expect(title(page)).to_have_text("Scaled dot-product attention")
    expect(page).to_have_url(re.compile("lesson=one-word-six-steps"))
    expect(page.locator(".hl-tour-table tr.hl-marked")).to_contain_text("animal")
    page.mouse.wheel(0, 2000)
    page.keyboard.press("Shift+ArrowRight")
    expect(title(page)).to_have_text("Shifted right")
    expect(page.get_by_role("heading", name="Tour", exact=True)).to_be_in_viewport()  # back at the top
    page.keyboard.press("Shift+ArrowLeft")
    expect(title(page)).to_have_text("Scaled dot-product attention")
    page.set_viewport_size({"width": 1024, "height": 768})
    folded = page.get_by_role("button", name=re.compile("4 of 28: Scaled dot-product attention"))
    expect(folded).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1024
    folded.click()
    page.get_by_role("button", name=re.compile("Positional encoding")).last.click()
    expect(title(page)).to_have_text("Positional encoding")


def test_six_words_are_trained_when_asked(page: Page):
    open_tour(page, "/tour?lesson=training")
    panels = page.locator(".plot .annotation-text")
    expect(panels.filter(has_text=re.compile("^untrained$"))).to_have_count(1)
    page.get_by_role("button", name="Train now").click()
    expect(panels.filter(has_text=re.compile("^trained$"))).to_have_count(1)
    expect(page.get_by_role("button", name="Train again from a new random initialization")).to_be_visible()
    page.get_by_label("Your answer").fill("1,79")
    page.get_by_label("Your answer").press("Enter")
    expect(page.get_by_text("Correct: 1.792.")).to_be_visible()


def test_what_was_answered_is_there_after_a_reload_and_in_a_new_tab(page: Page):
    open_tour(page, "/tour?lesson=masks")
    page.get_by_label("Your answer").fill("7*8/2")
    page.get_by_label("Your answer").press("Enter")
    expect(page.get_by_text("Correct: 28.")).to_be_visible()
    wait(page)  # until the browser has kept it
    page.reload()
    expect(page.get_by_text("Correct: 28.")).to_be_visible()
    tab = page.context.new_page()
    tab.set_viewport_size(LAPTOP)
    open_tour(tab, page.url.replace("lesson=masks", "lesson=feed-forward-residual-norm"))
    expect(tab.get_by_text("1 of 28 done")).to_be_visible()
    tab.get_by_role("button", name=re.compile(r"\b6\s+Masking")).click()
    expect(tab.get_by_text("Correct: 28.")).to_be_visible()
    tab.get_by_role("button", name=re.compile(r"\b9\s+FFN, residuals")).click()
    expect(title(tab)).to_have_text("FFN, residuals, layer norm")
    tab.get_by_role("button", name=re.compile(r"\b6\s+Masking")).click()
    tab.get_by_role("button", name="Try again").click()
    expect(tab.get_by_label("Your answer")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Your answer")).to_be_visible()
    tab.close()


def test_a_saved_chapter_asks_its_question_without_a_network(page: Page, browser: Browser, tmp_path: Path):
    open_tour(page, "/tour?lesson=masks")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save this chapter").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == "masks.html" and file.stat().st_size < 3_000_000
    context = browser.new_context(offline=True)
    saved = context.new_page()
    saved.goto(file.as_uri())
    expect(saved.locator(".heatmaplayer image:visible")).to_have_count(1)  # drawn by plotly
    after = saved.get_by_text("The first token can attend only to itself")
    expect(after).to_be_hidden()
    saved.get_by_label("Your answer").fill("27")
    saved.get_by_label("Your answer").press("Enter")
    expect(saved.get_by_text("You answered 27. The correct answer is 28.")).to_be_visible()
    expect(after).to_be_visible()
    expect(saved.locator(".heatmaplayer image:visible")).to_have_count(
        3
    )  # the figure that hides the mask gives way; the second has two traces
    saved.get_by_role("button", name="Try again").click()
    expect(after).to_be_hidden()
    context.close()
