"""The overview of all heads in a real Chromium, on a page of its own: a measure, an order, heads that are combined."""

import re

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.e2e.browser import Server
from tests.e2e.conftest import VIEWPORT

pytestmark = pytest.mark.browser

BY_ENTROPY = ["1.0", "0.0", "0.2", "0.1", "1.2", "1.1"]  # the encoder's heads, what has no entropy last
SIZES: tuple[ViewportSize, ...] = (
    {"width": 720, "height": 450},
    {"width": VIEWPORT["width"], "height": VIEWPORT["height"]},
)
TWO_FRAMES = "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))"


@pytest.fixture
def server_url(gallery: Server) -> str:
    """The components, each on a page of its own."""
    return gallery.url


def open_overview(page: Page, address: str) -> None:
    page.goto(address)
    expect(heads(page).first).to_be_visible()


def heads(page: Page) -> Locator:
    """All heads, in the order in which they stand."""
    return page.locator("button.head")


def head(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=f"{name}.")


def names(page: Page) -> list[str]:
    """Layer and head of the encoder's heads, in the order in which they stand."""
    labels = [item.get_attribute("aria-label") or "" for item in heads(page).all()]
    found = [re.match(r"Encoder self-attention L(\d+)\.H(\d+)\.", label) for label in labels]
    return [".".join(it.groups()) for it in found if it]


def nothing_overlaps_or_is_cut(page: Page) -> None:
    """In a window of each size all pictures, bars and names stand apart, and within the overview from left to right."""
    for size in SIZES:
        page.set_viewport_size(size)
        page.evaluate(TWO_FRAMES)
        found = page.locator("button.head, .bar:visible, .cell .column, .row")
        boxes = found.evaluate_all("all => all.map((it) => it.getBoundingClientRect())")
        around = page.locator(".overview").bounding_box()
        assert around is not None and len(boxes) > heads(page).count() > 0
        for i, one in enumerate(boxes):
            assert around["x"] <= one["left"] and one["right"] <= around["x"] + around["width"], (size, one)
            for other in boxes[:i]:
                apart = (
                    one["left"] >= other["right"] - 0.5
                    or other["left"] >= one["right"] - 0.5
                    or one["top"] >= other["bottom"] - 0.5
                    or other["top"] >= one["bottom"] - 0.5
                )
                assert apart, (size, one, other)


def test_heads_are_combined_with_the_pointer_and_with_a_key_and_without_a_measure_there_is_no_legend(page: Page):
    open_overview(page, "/overview?combine")
    assert names(page) == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]
    expect(page.locator(".legend")).to_be_hidden()
    expect(page.locator(".bar")).to_have_count(0)
    one, other = (head(page, f"Encoder self-attention L0.H{i}") for i in (1, 2))
    one.hover()
    expect(page.locator(".tip")).to_contain_text("shift-click: add to the combination")
    one.click(modifiers=["Shift"])
    expect(one).to_have_accessible_name(re.compile("combined$"))
    expect(one).to_have_css("border-top-color", "rgb(199, 95, 18)")
    expect(one).to_have_attribute("aria-pressed", "false")
    other.focus()
    page.keyboard.press("p")
    expect(other).to_have_accessible_name(re.compile("combined$"))
    expect(other).to_be_focused()
    expect(page.locator("button.pinned")).to_have_count(1)  # this page keeps the last one only
    page.mouse.move(0, 0)
    other.blur()
    expect(page.locator(".tip")).to_be_hidden()


def test_a_measure_stands_below_each_picture_and_nothing_overlaps_or_is_cut(page: Page):
    open_overview(page, "/overview?measure&combine")
    expect(page.locator(".legend")).to_contain_text("bar: entropy, 0 to 4 nats")
    measured, without = (head(page, f"Encoder self-attention L{name}") for name in ("0.H1", "1.H1"))
    measured.hover()
    expect(page.locator(".tip")).to_contain_text("entropy 2.00 nats")
    bar = page.locator(".cell", has=measured).locator(".bar")
    expect(page.locator(".cell", has=measured).locator(".number")).to_have_text("2.00")
    expect(page.locator(".cell", has=without).locator(".bar")).to_be_hidden()
    picture, below = measured.bounding_box(), bar.bounding_box()
    assert picture is not None and below is not None
    assert picture["y"] + picture["height"] < below["y"]
    page.mouse.move(0, 0)
    nothing_overlaps_or_is_cut(page)


def test_heads_stand_in_order_and_arrow_keys_follow_what_is_seen(page: Page):
    open_overview(page, "/overview?measure&order")
    assert names(page) == BY_ENTROPY
    expect(page.locator(".group").first.locator(".column")).to_have_text(
        [f"L{name}".replace(".", ".H") for name in BY_ENTROPY]
    )
    heads(page).first.focus()
    page.keyboard.press("ArrowRight")
    expect(heads(page).nth(1)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(heads(page).nth(4)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("'attention': 'encoder', 'layer': 1, 'head': 2}")).to_be_visible()
    expect(heads(page).nth(4)).to_have_attribute("aria-pressed", "true")
    nothing_overlaps_or_is_cut(page)


DIVIDED = """(button) => {  // how many pixels of a picture have the divider's color: in each column, and in each row
  const canvas = button.getRootNode().querySelector("canvas.pixels");
  const [box, origin] = [button.getBoundingClientRect(), canvas.getBoundingClientRect()];
  const at = [box.left - origin.left, box.top - origin.top, box.width, box.height].map(Math.round);
  const { data, width, height } = canvas.getContext("2d").getImageData(...at);
  const [columns, rows] = [new Array(width).fill(0), new Array(height).fill(0)];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [red, green, blue] = data.subarray(4 * (y * width + x));
      if (Math.abs(red - 0x7a) + Math.abs(green - 0x7f) + Math.abs(blue - 0x87) > 24) continue;
      columns[x]++;
      rows[y]++;
    }
  }
  return [columns, rows].map((counts) => counts.indexOf(Math.max(...counts)) / counts.length);
}"""


def test_one_attention_has_the_room_alone_with_the_given_text_divided_from_what_was_written(page: Page):
    open_overview(page, "/overview?measure&only=encoder&given=0.5")
    expect(heads(page)).to_have_count(6)
    expect(page.get_by_role("heading")).to_have_text(["Encoder self-attention"])
    assert heads(page).first.evaluate(DIVIDED) == pytest.approx([0.5, 0.5], abs=0.03)
    nothing_overlaps_or_is_cut(page)
