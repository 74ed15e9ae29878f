"""Lines from queries to keys, as a person uses them on the page Heads, in a real Chromium."""

import re
from collections.abc import Callable

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


def test_a_query_shows_its_weights_beside_the_keys_and_they_sum_to_one(page: Page):
    lines = open_lines(page)
    expect(tokens(page, "query").locator(".word")).to_have_text(TOKENS)
    expect(tokens(page, "key").locator(".word")).to_have_text(TOKENS)
    nothing = curves(page)
    assert weights(page, "key") == [0] * len(TOKENS)
    token(page, "query", 2).hover()
    expect(lines).to_contain_text("query 2 'sees' →")
    assert sum(weights(page, "key")) == pytest.approx(1, abs=0.005 * len(TOKENS))
    assert weights(page, "query") == [0] * len(TOKENS)
    expect(page.locator("canvas.all")).to_have_css("opacity", "0")
    assert curves(page) != nothing
    page.mouse.move(0, 0)
    expect(page.locator("canvas.all")).to_have_css("opacity", "1")
    assert curves(page) == nothing


def test_a_key_shows_what_comes_to_it_with_the_same_numbers(page: Page):
    open_lines(page)
    by_query = []
    for query in range(len(TOKENS)):
        token(page, "query", query).hover()
        by_query.append(weights(page, "key"))
    for key in (0, 3, 6):
        token(page, "key", key).hover()
        assert weights(page, "query") == [row[key] for row in by_query]
    best = max(range(len(TOKENS)), key=by_query[2].__getitem__)
    name = token(page, "query", 2).get_attribute("aria-label") or ""
    assert name.startswith(f"query 2 'sees'. Strongest: key {best} '{TOKENS[best]}' {by_query[2][best]:.2f}")


NUMBERS = """({ view: { header, weights, nQueries, nKeys, tokens } }) => ({
  hues: header.hues,
  weights: header.hues.map((_, head) => [...weights.subarray(head * nQueries * nKeys, (head + 1) * nQueries * nKeys)]),
  written: tokens.key.map(({ numbers }) => [...numbers.children].map(
    (it) => [it.textContent, it.style.getPropertyValue("--hue")])),
})"""


@pytest.mark.parametrize("heads", ["0.0%2B1.2", "0.0%2B0.1%2B0.3%2B1.2"], ids=["few", "many"])
def test_each_number_is_a_weight_of_the_head_in_whose_color_it_is(page: Page, heads: str):
    lines = open_lines(page, f"{LINK}&mix={heads}")
    n_heads = heads.count("%2B") + 1
    seen = set[str]()
    for query in range(len(TOKENS)):
        token(page, "query", query).hover()
        expect(lines).to_contain_text(f"query {query} '{TOKENS[query]}' →")
        found = lines.evaluate(NUMBERS)
        assert len(set(found["hues"])) == n_heads
        for key, written in enumerate(found["written"]):
            weights = [of_head[query * len(TOKENS) + key] / 65534 for of_head in found["weights"]]
            which = range(n_heads) if n_heads <= 3 else [weights.index(max(weights))]
            if max(weights) < 0.005:
                assert written == []
                continue
            own = [(weights[i], found["hues"][i]) for i in which]
            assert [float(number or 0) for number, _ in written] == pytest.approx([w for w, _ in own], abs=0.0051)
            assert [hue for number, hue in written if number] == [hue for w, hue in own if w >= 0.005]
            seen.update(hue for number, hue in written if number)
    assert len(seen) > 1


def test_a_click_keeps_a_tokens_lines_until_the_next_one_or_escape(page: Page):
    open_lines(page)
    token(page, "query", 1).click()
    is_kept(page, "query", 1, True)
    page.mouse.move(0, 0)
    kept = curves(page)
    assert sum(weights(page, "key")) == pytest.approx(1, abs=0.005 * len(TOKENS))
    token(page, "key", 4).hover()
    assert curves(page) != kept
    token(page, "key", 4).click()
    is_kept(page, "key", 4, True)
    is_kept(page, "query", 1, False)
    token(page, "key", 4).click()
    is_kept(page, "key", 4, False)
    token(page, "query", 3).click()
    is_kept(page, "query", 3, True)
    page.keyboard.press("Escape")
    is_kept(page, "query", 3, False)


def test_everything_works_from_the_keyboard(page: Page):
    lines = open_lines(page)
    token(page, "query", 0).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(token(page, "query", 2)).to_be_focused()
    expect(lines).to_contain_text("query 2 'sees' →")
    page.keyboard.press("ArrowRight")
    expect(token(page, "key", 2)).to_be_focused()
    expect(lines).to_contain_text("key 2 'sees' ←")
    page.keyboard.press("Enter")
    is_kept(page, "key", 2, True)
    page.keyboard.press("End")
    expect(token(page, "key", 6)).to_be_focused()
    token(page, "query", 0).hover()
    expect(lines).to_contain_text("query 0 'The' →")
    page.mouse.move(0, 0)
    expect(lines).to_contain_text("key 6 '<eos>' ←")  # what has the focus, though another one is kept
    page.keyboard.press("ArrowLeft")
    expect(token(page, "query", 6)).to_be_focused()
    page.keyboard.press("Escape")
    is_kept(page, "key", 2, False)
    expect(token(page, "query", 6)).to_have_attribute("tabindex", "0")
    expect(lines.locator("button[tabindex='0']")).to_have_count(1)


def test_the_future_is_not_allowed_rather_than_zero(page: Page):
    open_lines(page, LINK.replace("encoder", "decoder"))
    token(page, "query", 0).hover()
    assert weights(page, "key")[0] == 1
    expect(token(page, "key", 1)).to_have_css("text-decoration-line", "line-through")
    expect(token(page, "key", 0)).to_have_css("text-decoration-line", "none")
    token(page, "query", 1).hover()
    expect(token(page, "key", 1)).to_have_css("text-decoration-line", "none")


def test_markup_in_a_text_is_text(page: Page):
    open_lines(
        page, "/heads?as=lines&attention=encoder&layer=0&head=0&text=%3Cimg+src%3Dx+onerror%3Dwindow.stolen%3D1%3E+cat"
    )
    expect(tokens(page, "query").locator(".word").first).to_contain_text("<")
    token(page, "query", 0).hover()
    assert page.evaluate("window.stolen") is None
    assert page.locator(".lines img").count() == 0


def test_a_long_text_is_scrolled_with_both_sides_together(new_page: Callable[..., Page]):
    page = new_page(viewport={"width": 720, "height": 450})
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


def test_whoever_wants_no_motion_gets_none(new_page: Callable[..., Page]):
    page = new_page(reduced_motion="reduce")
    open_lines(page)
    expect(page.locator("canvas.all")).to_have_css("transition-duration", "0s")
