"""The page Compare as a person uses it, in a real Chromium."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

TIRED, WIDE = (f"The animal didn't cross the street because it was too {how}." for how in ("tired", "wide"))


def open_compare(page: Page, address: str = "/compare") -> None:
    """Go there, and wait until the first figure is drawn."""
    page.goto(address)
    expect(titles(page).first).to_be_visible()


def titles(page: Page) -> Locator:
    """The titles of the figures."""
    return page.locator(".plot .gtitle")


def view(page: Page, name: str) -> None:
    """Choose a view."""
    page.get_by_role("radio", name=name).click()


def test_two_sentences_side_by_side(page: Page):
    open_compare(page)
    expect(titles(page)).to_have_text([re.compile("^A: "), re.compile("^B: "), "B − A"])
    expect(page.get_by_label("Text of B")).to_have_value(WIDE)
    expect(page.locator(".st-key-hl-compare-says")).to_contain_text("large")
    box = page.locator(".plot .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 1.5 / 13, box["y"] + box["height"] * 1.5 / 16)
    told = page.locator(".plot .hoverlayer text")  # pointing at one cell tells of the same in all three
    expect(told).to_have_count(3)
    for i in range(3):
        expect(told.nth(i)).to_contain_text("key 1 'animal'")
    page.mouse.click(box["x"] + box["width"] * 1.5 / 13, box["y"] + box["height"] * 1.5 / 16)
    expect(page).to_have_url(re.compile(r"cell=1\.1"))
    expect(page.locator(".plot .shapelayer path")).to_have_count(9)


PLACES = """() => {
  const plots = [...document.querySelectorAll(".plot")].filter((plot) => plot.querySelector(".gtitle"));
  if (plots.length !== 3) return null;
  return plots.map((plot) => {
    const { t, h, w } = plot._fullLayout._size;
    return [plot.getBoundingClientRect().y + t, h, w].map((length) => Math.round(length));
  });
}"""  # of the cells of each map: where they begin, their height and width, in px; null while one is drawn anew


@pytest.mark.parametrize("width", [1440, 1120])  # on less they lie below each other
def test_the_rows_of_the_three_maps_lie_in_line(new_page: Callable[..., Page], width: int):
    page = new_page(viewport={"width": width, "height": 900})
    address = "/compare?text=" + TIRED.replace(" ", "+") + "&btext=" + TIRED.replace("tired", "extraordinarily+wide")
    open_compare(page, address + "&attention=encoder&layer=0&head=1&bhead=encoder.1.1")
    a, b, difference = page.wait_for_function(PLACES).json_value()
    assert a == b == difference


def test_the_most_changed_head_is_one_click_away_and_back_leads_back(page: Page):
    open_compare(page, "/compare?view=changed")
    rows = page.locator(".st-key-hl-compare-list button")
    expect(rows).to_have_count(12)
    first = rows.first.text_content() or ""
    rows.first.click()
    expect(titles(page).first).to_have_text(f"A: {first[0].lower()}{first[1:]}")
    expect(page).not_to_have_url(re.compile("view="))
    page.go_back()
    expect(rows).to_have_count(12)
    page.go_forward()
    expect(titles(page).first).to_have_text(f"A: {first[0].lower()}{first[1:]}")


def test_the_copied_link_opens_the_same_comparison(page: Page, new_page: Callable[..., Page]):
    open_compare(page)
    page.get_by_label("Text of B").fill("The small animal didn't cross the street because it was too tired.")
    page.get_by_label("Text of B").press("Enter")
    expect(page.get_by_text("0 only in A, 1 only in B")).to_be_visible()
    view(page, "Head map")
    expect(titles(page)).to_have_text(["Head map by attention patterns"])
    expect(page).to_have_url(re.compile("view=map"))
    other = new_page()
    open_compare(other, page.url)
    expect(titles(other)).to_have_text(["Head map by attention patterns"])
    expect(other.get_by_label("Text of B")).to_have_value(re.compile("small animal"))


def test_a_text_of_many_is_put_into_the_bar(page: Page):
    open_compare(page, "/compare?view=texts")
    button = page.locator(".st-key-hl-compare-telling-highest button").first
    expect(button).to_be_visible()
    text = button.text_content() or ""
    button.click()
    expect(page.get_by_label("Text", exact=True)).to_have_value(text)
    expect(titles(page)).to_have_count(3)
