"""The Masks page as a person uses it, in a real Chromium."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.e2e.looking import box_of, wait

LINK = "/masks?model=en-fr&text=The+cat+sees+the+dog.&attention=decoder&layer=1&head=0"
GRID = "(canvas) => canvas.getRootNode().querySelector('.mask_matrix').view.pictures.mask.grid"
ALLOWED = """(canvas) => {
  const { view } = canvas.getRootNode().querySelector(".mask_matrix");
  return Array.from(view.base, (value, cell) => Boolean(value) !== view.turned.has(cell));
}"""
PATTERN = "(canvas) => Array.from(canvas.getRootNode().querySelector('.mask_matrix').view.shown)"
SEES_AN_EFFECT = """
window.seen = { chips: false, effect: false };
const look = () => {
  for (const { shadowRoot } of document.querySelectorAll("*")) {
    for (const { textContent } of shadowRoot?.querySelectorAll(".mask_matrix .chip .numbers") ?? []) {
      seen.chips = true;
      seen.effect ||= textContent.includes("→");
    }
  }
  requestAnimationFrame(look);
};
look();
"""


def matrix(page: Page) -> Locator:
    """The mask that is edited."""
    return page.locator(".mask_matrix .mask canvas")


def open_masks(page: Page, address: str = LINK) -> None:
    """Go there, and wait until the mask is drawn."""
    page.goto(address)
    expect(page.locator(".mask_matrix .chip").first).to_be_visible()
    wait(page)


def cell(page: Page, query: int, key: int) -> tuple[float, float]:
    """Where a cell is on the page."""
    box, grid = box_of(matrix(page)), matrix(page).evaluate(GRID)
    return (
        box["x"] + grid["left"] + (key + 0.5) * grid["pitch"],
        box["y"] + grid["top"] + (query + 0.5) * grid["pitch"],
    )


def test_cells_are_drawn_seen_at_once_and_the_model_runs_again(page: Page):
    open_masks(page)
    matrix(page).scroll_into_view_if_needed()
    n = round(len(matrix(page).evaluate(ALLOWED)) ** 0.5)
    page.mouse.move(*cell(page, 3, 0))
    page.mouse.down()
    page.mouse.move(*cell(page, 3, 3), steps=4)
    pattern = matrix(page).evaluate(PATTERN)
    assert pattern[3 * n : 4 * n] == [0] * n  # at once, before the hand lets go: nothing is left to look at
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"edits=3\.0-3"))
    expect(page.locator(".mask_matrix")).not_to_have_class(re.compile("waiting"))
    page.mouse.move(*cell(page, 3, 1))
    expect(page.locator(".mask_matrix .says")).to_contain_text("masked; score −∞ instead of")
    matrix(page).focus()
    for key in ("Home", "PageUp", "ArrowDown", "ArrowRight", "ArrowRight", "Space"):
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile(r"edits=.*1\.2"))
    page.get_by_role("button", name="Undo").click()
    expect(page).not_to_have_url(re.compile(r"1\.2"))
    page.get_by_role("button", name="Undo").click()
    expect(page).not_to_have_url(re.compile("edits="))
    page.get_by_role("button", name="Redo").click()
    expect(page).to_have_url(re.compile(r"edits=3\.0-3"))
    page.reload()
    expect(page.locator(".mask_matrix .chip").first).to_be_visible()
    allowed = matrix(page).evaluate(ALLOWED)
    turned = [divmod(at, n) for at, is_allowed in enumerate(allowed) if is_allowed != (at % n <= at // n)]
    assert turned == [(3, key) for key in range(4)]


def test_an_edit_is_predicted_by_the_keyboard_before_its_effect_and_both_survive_a_reload(page: Page):
    open_masks(page, LINK.replace("decoder", "cross"))
    page.get_by_text("Predict first").click()
    expect(page.get_by_text("Edit the mask, and predict")).to_be_visible()
    matrix(page).focus()
    for key in ("ArrowDown", "ArrowRight", "Space"):
        page.keyboard.press(key)
    numbers = page.locator(".mask_matrix .chip .numbers")
    output = page.get_by_role("combobox", name="Which output changes most?")
    expect(output).to_be_visible()
    wait(page)
    page.add_init_script(SEES_AN_EFFECT)
    page.reload()
    expect(output).to_be_visible()
    wait(page)
    expect(numbers).not_to_have_count(0)
    assert page.evaluate("seen") == {"chips": True, "effect": False}  # nor for a moment while the page was loading
    output.focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    probability = page.get_by_label("Its probability afterwards")
    probability.fill("0.25")
    probability.press("Enter")
    page.get_by_role("button", name="Check prediction").press("Enter")
    verdict = page.locator(".hl-predict-verdict")
    expect(verdict).to_contain_text("changes most")
    expect(numbers.filter(has_text="→")).not_to_have_count(0)
    words = verdict.inner_text()
    page.reload()
    expect(verdict).to_have_text(words)
