"""The Compare page as a person uses it, in a real Chromium."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.e2e.looking import cell_at, wait

TEXT = "The animal didn't cross the street because it was too {}."
PLACES = """() => {
  const plots = [...document.querySelectorAll(".plot")].filter((plot) => plot.querySelector(".gtitle"));
  if (plots.length !== 3) return null;
  return plots.map((plot) => {
    const { t, h, w } = plot._fullLayout._size;
    return [plot.getBoundingClientRect().y + t, h, w].map((length) => Math.round(length));
  });
}"""  # of the cells of each map: where they begin, their height and width, in px; null while one is redrawn


def titles(page: Page) -> Locator:
    """The titles of the figures."""
    return page.locator(".plot .gtitle")


def test_three_maps_are_pointed_at_together_and_their_rows_are_in_line(page: Page):
    page.goto("/compare")
    expect(titles(page)).to_have_text([re.compile("^A: "), re.compile("^B: "), "B − A"])
    expect(page.get_by_label("Text of B")).to_have_value(TEXT.format("wide"))
    wait(page)
    at = cell_at(page.locator(".plot").first, 1, 1, 16, 13)
    page.mouse.move(*at)
    words = page.locator(".plot .hoverlayer text")  # pointing at one cell tells of the same in all three
    expect(words).to_have_count(3)
    for i in range(3):
        expect(words.nth(i)).to_contain_text("key 1 'animal'")
    page.mouse.click(*at)
    expect(page).to_have_url(re.compile(r"cell=1\.1"))
    expect(page.locator(".plot .shapelayer path")).to_have_count(9)
    texts = [TEXT.format(how).replace(" ", "+") for how in ("tired", "extraordinarily wide")]
    page.goto(f"/compare?text={texts[0]}&btext={texts[1]}&attention=encoder&layer=0&head=1&bhead=encoder.1.1")
    expect(titles(page)).to_have_count(3)
    for width in (1440, 1120):  # on less they lie below each other
        page.set_viewport_size({"width": width, "height": 900})
        wait(page)
        a, b, difference = page.wait_for_function(PLACES).json_value()
        assert a == b == difference
