"""Lines from queries to keys, as a person uses them on the page Heads, in a real Chromium."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

LINK = "/heads?as=lines&attention=encoder&layer=1&head=2&text=The+cat+sees+the+dog."
TOKENS = ["The", "cat", "sees", "the", "dog", ".", "<eos>"]
LONG = "/heads?as=lines&attention=encoder&layer=1&head=2&text=" + "+".join(["The+cat+sees+the+dog."] * 4)


def open_lines(page: Page, address: str = LINK) -> Locator:
    """Go there, and wait until the lines are drawn."""
    page.goto(address)
    lines = page.get_by_role("group", name=re.compile("^Lines from queries to keys"))
    expect(lines).to_be_visible()
    expect(token(page, "query", 0)).to_be_visible()
    return lines


def token(page: Page, side: str, place: int) -> Locator:
    """One of the queries or keys."""
    return page.get_by_role("button", name=re.compile(rf"^{side} {place} '"))


def tokens(page: Page, side: str) -> Locator:
    """All queries or all keys, from top to bottom."""
    return page.get_by_role("button", name=re.compile(rf"^{side} \d+ '"))


def weights(page: Page, side: str) -> list[float]:
    """What is written beside the tokens of a side; 0 where nothing is."""
    return [float(said or 0) for said in tokens(page, side).locator(".numbers").all_text_contents()]


def curves(page: Page) -> str:
    """What is painted of the one token that is pointed at or kept."""
    return str(page.locator("canvas.only").evaluate("canvas => canvas.toDataURL()"))


def is_kept(page: Page, side: str, place: int, kept: bool) -> None:
    """This token is, or is not, the one that was clicked."""
    expect(token(page, side, place)).to_have_attribute("aria-pressed", str(kept).lower())


def test_a_token_that_is_pointed_at_or_clicked_has_its_own_lines_and_the_page_hears_of_a_click(page: Page):
    lines = open_lines(page)
    expect(tokens(page, "query").locator(".word")).to_have_text(TOKENS)
    expect(tokens(page, "key").locator(".word")).to_have_text(TOKENS)
    nothing = curves(page)
    assert weights(page, "key") == [0] * len(TOKENS)
    by_query = []
    for query, label in enumerate(TOKENS):
        token(page, "query", query).hover()
        expect(lines).to_contain_text(f"query {query} '{label}' →")
        by_query.append(weights(page, "key"))
        assert sum(by_query[-1]) == pytest.approx(1, abs=0.005 * len(TOKENS))
        assert weights(page, "query") == [0] * len(TOKENS)
    expect(page.locator("canvas.all")).to_have_css("opacity", "0")
    assert curves(page) != nothing
    token(page, "key", 3).hover()
    assert weights(page, "query") == [row[3] for row in by_query]
    best = max(range(len(TOKENS)), key=by_query[2].__getitem__)
    name = token(page, "query", 2).get_attribute("aria-label") or ""
    assert name.startswith(f"query 2 'sees'. Strongest: key {best} '{TOKENS[best]}' {by_query[2][best]:.2f}")
    page.mouse.move(0, 0)
    expect(page.locator("canvas.all")).to_have_css("opacity", "1")
    assert curves(page) == nothing
    token(page, "query", 1).click()
    is_kept(page, "query", 1, True)
    expect(page).to_have_url(re.compile("[?&]query=1(&|$)"))
    page.mouse.move(0, 0)
    kept = curves(page)
    assert kept != nothing
    token(page, "key", 4).hover()
    assert curves(page) != kept
    token(page, "key", 4).click()
    is_kept(page, "key", 4, True)
    is_kept(page, "query", 1, False)
    expect(page).to_have_url(re.compile("[?&]key=4(&|$)"))
    page.keyboard.press("Escape")
    is_kept(page, "key", 4, False)
    expect(page).not_to_have_url(re.compile("[?&]key="))
    expect(page.locator("canvas.all")).not_to_have_css("transition-duration", "0s")
    page.emulate_media(reduced_motion="reduce")
    expect(page.locator("canvas.all")).to_have_css("transition-duration", "0s")


def test_everything_works_from_the_keyboard_and_the_future_is_struck_out_rather_than_zero(page: Page):
    lines = open_lines(page, LINK.replace("encoder", "decoder"))
    token(page, "query", 0).focus()
    expect(lines).to_contain_text("query 0 '<bos>' →")
    assert weights(page, "key")[0] == 1
    expect(token(page, "key", 1)).to_have_css("text-decoration-line", "line-through")
    expect(token(page, "key", 0)).to_have_css("text-decoration-line", "none")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(token(page, "query", 2)).to_be_focused()
    expect(lines).to_contain_text(re.compile("query 2 '.*' →"))
    expect(token(page, "key", 1)).to_have_css("text-decoration-line", "none")
    page.keyboard.press("ArrowRight")
    expect(token(page, "key", 2)).to_be_focused()
    expect(lines).to_contain_text(re.compile("key 2 '.*' ←"))
    page.keyboard.press("Enter")
    is_kept(page, "key", 2, True)
    page.keyboard.press("ArrowDown")
    expect(token(page, "key", 3)).to_be_focused()
    token(page, "query", 0).hover()
    expect(lines).to_contain_text("query 0 '<bos>' →")
    page.mouse.move(0, 0)
    expect(lines).to_contain_text(re.compile("key 3 '.*' ←"))  # what has the focus, though another one is kept
    page.keyboard.press("ArrowLeft")
    expect(token(page, "query", 3)).to_be_focused()
    page.keyboard.press("Escape")
    is_kept(page, "key", 2, False)
    expect(token(page, "query", 3)).to_have_attribute("tabindex", "0")
    expect(lines.locator("button[tabindex='0']")).to_have_count(1)


def test_a_long_text_is_scrolled_with_both_sides_together(page: Page):
    page.set_viewport_size({"width": 720, "height": 450})
    lines = open_lines(page, LONG)
    last = tokens(page, "query").count() - 1
    token(page, "query", 0).focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    expect(token(page, "key", last)).to_be_focused()
    around, left, right = (it.bounding_box() for it in (lines, token(page, "query", last), token(page, "key", last)))
    assert around is not None and left is not None and right is not None
    assert left["y"] == right["y"]
    assert around["y"] < right["y"] < around["y"] + around["height"] - right["height"]
    assert left["x"] >= around["x"] and right["x"] + right["width"] <= around["x"] + around["width"]
    assert left["x"] + left["width"] < right["x"]
    assert lines.evaluate("it => it.scrollWidth <= it.clientWidth")
