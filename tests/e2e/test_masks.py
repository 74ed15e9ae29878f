"""The page Masks as a person uses it, in a real Chromium."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.looking import wait

pytestmark = pytest.mark.browser

LINK = "/masks?model=en-fr&text=The+cat+sees+the+dog.&attention=decoder&layer=1&head=0"
GRID = "(canvas) => canvas.getRootNode().querySelector('.mask_matrix').view.pictures.mask.grid"
ALLOWED = """(canvas) => {
  const { view } = canvas.getRootNode().querySelector(".mask_matrix");
  return Array.from(view.base, (value, cell) => Boolean(value) !== view.turned.has(cell));
}"""
LABELS = """(canvas) => Object.values(canvas.getRootNode().querySelector(".mask_matrix").view.pictures)
  .flatMap(({ grid }) => [grid.left, grid.top])"""
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
PATTERN = "(canvas) => Array.from(canvas.getRootNode().querySelector('.mask_matrix').view.shown)"


def matrix(page: Page) -> Locator:
    """The mask that is edited."""
    return page.locator(".mask_matrix .mask canvas")


def open_masks(page: Page, address: str = LINK) -> None:
    """Go there, and wait until the mask is drawn."""
    page.goto(address)
    expect(page.locator(".mask_matrix .chip").first).to_be_visible()
    wait(page)


def place(page: Page, query: int, key: int) -> tuple[float, float]:
    """Where a cell is on the page."""
    box, grid = matrix(page).bounding_box(), matrix(page).evaluate(GRID)
    assert box is not None
    return (
        box["x"] + grid["left"] + (key + 0.5) * grid["pitch"],
        box["y"] + grid["top"] + (query + 0.5) * grid["pitch"],
    )


def test_cells_are_drawn_seen_at_once_and_the_model_runs_again(page: Page):
    open_masks(page)
    matrix(page).scroll_into_view_if_needed()
    assert min(matrix(page).evaluate(LABELS)) > 20  # px, before the rows and above the columns of all three
    n = round(len(matrix(page).evaluate(ALLOWED)) ** 0.5)
    page.mouse.move(*place(page, 3, 0))
    page.mouse.down()
    page.mouse.move(*place(page, 3, 3), steps=4)
    pattern = matrix(page).evaluate(PATTERN)
    assert pattern[3 * n : 4 * n] == [0] * n  # at once, before the hand lets go: nothing is left to look at
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"edits=3\.0-3"))
    expect(page.locator(".mask_matrix")).not_to_have_class(re.compile("waiting"))
    expect(page.locator(".mask_matrix .counted")).to_contain_text(re.compile(r"pass: \d+ of \d+ predictions"))
    page.mouse.move(*place(page, 3, 1))
    expect(page.locator(".mask_matrix .says")).to_contain_text("masked; score −∞ instead of")

    page.get_by_role("button", name="Undo").click()
    expect(page).not_to_have_url(re.compile("edits="))
    page.get_by_role("button", name="Redo").click()
    expect(page).to_have_url(re.compile(r"edits=3\.0-3"))
    page.reload()
    expect(page.locator(".mask_matrix .chip").first).to_be_visible()
    allowed = matrix(page).evaluate(ALLOWED)
    assert [cell for cell, is_allowed in enumerate(allowed) if is_allowed != (cell % n <= cell // n)] == [
        3 * n + key for key in range(4)
    ]


def test_the_keyboard_edits_too(page: Page):
    open_masks(page)
    matrix(page).focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Space"):
        page.keyboard.press(key)
    expect(page.locator(".mask_matrix .says")).to_contain_text(re.compile(r"query 1 .* → key 2 .*: may attend"))
    expect(page).to_have_url(re.compile(r"edits=1\.2"))
    page.keyboard.press("Shift+ArrowRight")
    expect(page).to_have_url(re.compile(r"edits=1\.2-3"))
    page.keyboard.press("Control+z")
    expect(page).to_have_url(re.compile(r"edits=1\.2(&|$)"))


def test_each_key_turns_its_own_cells(page: Page):
    open_masks(page)
    root = page.locator(".mask_matrix")
    rows, columns = root.evaluate("({ view }) => [view.rows, view.columns]")
    base = root.evaluate("({ view }) => [...view.base]")
    matrix(page).focus()
    at, turned = [0, 0], set[int]()
    past: list[set[int]] = [set()]
    future: list[set[int]] = []
    moves = {
        **{"ArrowDown": (1, 0), "ArrowUp": (-1, 0), "ArrowRight": (0, 1), "ArrowLeft": (0, -1)},
        **{"Home": (0, -99), "End": (0, 99), "PageUp": (-99, 0), "PageDown": (99, 0)},
    }

    def is_allowed(cell: int) -> bool:
        return bool(base[cell]) != (cell in turned)

    keys = "PageDown ArrowUp r ArrowRight Space End c Home Enter Control+z ArrowUp R PageUp C ArrowLeft Space"
    for key in f"{keys} Control+z Control+z Control+Shift+z Control+y Control+y Control+z Enter Control+y".split():
        cell = at[0] * columns + at[1]
        row, column = range(at[0] * columns, (at[0] + 1) * columns), range(at[1], rows * columns, columns)
        if key in moves:
            at = [min(max(place + by, 0), n - 1) for place, by, n in zip(at, moves[key], (rows, columns), strict=True)]
        elif key == "Control+z":
            future.append(past.pop())
            turned = set(past[-1])
        elif key in {"Control+y", "Control+Shift+z"}:
            past += [future.pop()] if future else []
            turned = set(past[-1])
        else:
            line = {"r": row, "c": column}.get(key.lower(), [cell])
            value = not all(map(is_allowed, line))
            turned = {it for it in turned if it not in line} | {it for it in line if bool(base[it]) != value}
            past.append(set(turned))
            future.clear()
        page.keyboard.press(key)
        assert set(root.evaluate("({ view }) => [...view.turned]")) == turned, key
        assert root.evaluate("({ view }) => [view.cursor.row, view.cursor.column]") == at, key


def test_presets_attentions_and_the_leak_test(page: Page):
    open_masks(page)
    page.get_by_role("button", name="None", exact=True).click()
    expect(page).to_have_url(re.compile("preset=none"))
    expect(page.locator(".mask_matrix .chip.changed").first).to_be_visible()
    assert all(matrix(page).evaluate(ALLOWED))
    page.get_by_role("radio", name="Leak test").click()
    expect(page.locator(".plot .gtitle")).to_contain_text("Maximum logit difference")
    expect(page.get_by_text("earlier outputs change by exactly 0")).to_have_count(1)
    page.get_by_role("radio", name="Masks by attention").click()
    page.get_by_role("button", name=re.compile("^Cross-attention")).click()
    expect(page).to_have_url(re.compile("attention=cross"))
    expect(page.get_by_role("button", name=re.compile("^Cross-attention"))).to_have_attribute("aria-pressed", "true")


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
    told = verdict.inner_text()
    page.reload()
    expect(verdict).to_have_text(told)
