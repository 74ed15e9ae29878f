"""The overview of all heads in a real Chromium, on a page of its own: a measure, an order, heads that are combined."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser import Server

pytestmark = pytest.mark.browser

BY_ENTROPY = ["1.0", "0.0", "0.2", "0.1", "1.2", "1.1"]  # the encoder's heads, what has no entropy last


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


def test_without_a_measure_there_are_neither_bars_nor_hints(page: Page):
    open_overview(page, "/overview")
    assert names(page) == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]
    expect(page.locator(".legend")).to_be_hidden()
    expect(page.locator(".bar")).to_have_count(0)
    head(page, "Cross-attention L0.H1").hover()
    tip = page.locator(".tip")
    expect(tip).to_have_text("Cross-attention L0.H1“a” → “b” 0.51")
    head(page, "Cross-attention L0.H1").click(modifiers=["Shift"])
    expect(page.get_by_text("'attention': 'cross', 'layer': 0, 'head': 1} None")).to_be_visible()


HEADS = """root => root.view.heads.map(({ attention, layer, head, button }) => [
  attention, layer, head, button.ariaLabel])"""


def test_each_head_says_where_it_looks_most(page: Page):
    open_overview(page, "/overview?measure")
    root = page.locator(".overview")
    groups = {group["attention"]: group for group in root.evaluate("root => root.view.header.groups")}
    values = root.evaluate("root => root.view.header.measure.values")
    told = root.evaluate(HEADS)
    assert len(told) == sum(group["layers"] * group["heads"] for group in groups.values())
    for attention, layer, head, label in told:
        group, value = groups[attention], values[attention][layer][head]
        says = "not applicable" if value is None else f"entropy {value:.2f}".rstrip("0").rstrip(".")
        assert label.startswith(f"{group['title']} L{layer}.H{head}. Strongest: {group['strongest'][layer][head]}. ")
        assert says in label
        page.get_by_role("button", name=label, exact=True).hover()
        tip = page.locator(".tip")
        expect(tip.locator("strong")).to_have_text(f"{group['title']} L{layer}.H{head}")
        expect(tip.locator("span").first).to_have_text(group["strongest"][layer][head])
    said = [strongest for group in groups.values() for layer in group["strongest"] for strongest in layer]
    assert len(set(said)) > 5, "else each of them could be another's"


def test_a_measure_is_drawn_said_and_explained(page: Page):
    open_overview(page, "/overview?measure")
    expect(page.locator(".legend")).to_contain_text("bar: entropy, 0 to 4 nats")
    measured = head(page, "Encoder self-attention L0.H1")
    expect(measured).to_have_accessible_name(re.compile(r"Strongest: .* entropy 2\.00 nats$"))
    measured.hover()
    expect(page.locator(".tip")).to_contain_text("entropy 2.00 nats")
    bar = page.locator(".cell", has=measured).locator(".bar")
    assert bar.evaluate("it => Number(it.style.getPropertyValue('--end'))") == pytest.approx(0.5)
    expect(page.locator(".cell", has=measured).locator(".number")).to_have_text("2.00")
    without = head(page, "Encoder self-attention L1.H1")
    expect(without).to_have_accessible_name(re.compile("entropy: not applicable$"))
    expect(page.locator(".cell", has=without).locator(".bar")).to_be_hidden()
    picture, below = measured.bounding_box(), bar.bounding_box()
    assert picture is not None and below is not None
    assert picture["y"] + picture["height"] < below["y"]


def test_heads_stand_in_order_and_arrow_keys_follow_what_is_seen(page: Page):
    open_overview(page, "/overview?measure&order=up")
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
    open_overview(page, "/overview?measure&order=down")
    assert names(page) == [*BY_ENTROPY[4::-1], BY_ENTROPY[5]]


def test_heads_are_combined_with_the_pointer_and_with_a_key(page: Page):
    open_overview(page, "/overview?combine")
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


def test_only_some_attentions_are_drawn_and_the_keyboard_reaches_them(page: Page):
    open_overview(page, "/overview?only=cross")
    expect(heads(page)).to_have_count(4)
    expect(page.get_by_role("heading")).to_have_text(["Cross-attention"])
    expect(page.locator("button.head[tabindex='0']")).to_have_count(1)


@pytest.mark.parametrize("asked", ["measure&combine", "measure&order=up", "measure&only=encoder"])
def test_nothing_overlaps_or_is_cut_at_twice_the_size(page: Page, asked: str):
    page.set_viewport_size({"width": 720, "height": 450})
    open_overview(page, f"/overview?{asked}")
    boxes = [it.bounding_box() for it in page.locator("button.head, .bar:visible, .cell .column, .row").all()]
    around = page.locator(".overview").bounding_box()
    assert around is not None
    for i, one in enumerate(boxes):
        assert one is not None
        assert around["x"] <= one["x"] and one["x"] + one["width"] <= around["x"] + around["width"]
        for other in boxes[:i]:
            assert other is not None
            apart = (
                one["x"] >= other["x"] + other["width"] - 0.5
                or other["x"] >= one["x"] + one["width"] - 0.5
                or one["y"] >= other["y"] + other["height"] - 0.5
                or other["y"] >= one["y"] + one["height"] - 0.5
            )
            assert apart, (one, other)


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


def test_what_the_model_wrote_is_divided_from_what_it_was_given(page: Page):
    page.goto("/overview?given=0.5")
    head = page.locator("button.head").first
    expect(head).to_be_visible()
    assert head.evaluate(DIVIDED) == pytest.approx([0.5, 0.5], abs=0.03)
