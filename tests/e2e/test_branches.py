"""The tree of branches in a real Chromium, on a page of its own: forks, beams, walking, growing, and long texts."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

import pytest
from playwright.sync_api import FloatRect, Locator, Page, ViewportSize, expect

from tests.e2e.browser import Server
from tests.e2e.conftest import VIEWPORT

pytestmark = pytest.mark.browser

SIZES: tuple[ViewportSize, ...] = (
    {"width": 720, "height": 450},
    {"width": 1024, "height": 700},
    {"width": VIEWPORT["width"], "height": VIEWPORT["height"]},
)
TWO_FRAMES = "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))"
FIRST = "Le chat n' a pas vu le chien parce qu' il était fatigué . <eos>".split()


@pytest.fixture
def server_url(gallery: Server) -> str:
    """The components, each on a page of its own."""
    return gallery.url


@pytest.fixture
def open_tree(new_page: Callable[..., Page]) -> Callable[..., Page]:
    """Opens a page with a tree, as another visitor."""

    def open_at(address: str, reduced_motion: Literal["reduce"] | None = None) -> Page:
        page = new_page()
        page.emulate_media(color_scheme="light", reduced_motion=reduced_motion)
        page.goto(address)
        expect(nodes(page).first).to_be_visible()
        return page

    return open_at


def nodes(page: Page) -> Locator:
    return page.locator("button.node")


def node(page: Page, label: str, place: int = 0) -> Locator:
    """The token of this label, one of several from the first branch on."""
    word = page.locator(".word", has_text=re.compile(f"^{re.escape(label)}$"))
    return page.locator("button.node", has=word).nth(place)


def tip(page: Page) -> Locator:
    return page.locator(".tip")


def box(item: Locator) -> FloatRect:
    found = item.bounding_box()
    assert found is not None
    return found


def y_of(item: Locator) -> float:
    found = box(item)
    return found["y"] + found["height"] / 2


def nothing_overlaps(page: Page, sizes: Sequence[ViewportSize] = SIZES) -> None:
    """In a window of each of these sizes all tokens and all words stand apart, and the page is not scrolled aside."""
    for size in sizes:
        page.set_viewport_size(size)
        page.evaluate(TWO_FRAMES)
        boxes = page.locator(".node, .end").evaluate_all("all => all.map((it) => it.getBoundingClientRect())")
        assert len(boxes) > 5
        for i, one in enumerate(boxes):
            for other in boxes[:i]:
                assert (
                    one["left"] >= other["right"]
                    or other["left"] >= one["right"]
                    or one["top"] >= other["bottom"]
                    or other["top"] >= one["bottom"]
                ), (size, one, other)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), size


LINES = """root => [...root.view.items.values()].flatMap(({ node, button, line }) => {
  const parent = root.view.items.get(node.parent);
  if (!parent) return [];
  const [from, to, drawn] = [parent.button, button, line].map((it) => it.getBoundingClientRect());
  return [[drawn.left - from.right, drawn.right - to.left]];
})"""


def test_forks_lie_below_in_the_colors_of_the_theme_and_nothing_overlaps_at_any_size(open_tree: Callable[..., Page]):
    page = open_tree("/branches?tree=forks&at=3")
    boxes = [box(node(page, label)) for label in FIRST]
    assert all(one["x"] + one["width"] < other["x"] for one, other in pairwise(boxes))
    assert len({one["y"] for one in boxes}) == 1
    assert y_of(node(page, "Le")) < y_of(node(page, "elle")) < y_of(node(page, "son"))  # so that no lines cross
    assert box(node(page, "elle"))["x"] == box(node(page, "il"))["x"]  # the same moment
    expect(page.locator("path")).to_have_count(nodes(page).count() - 1)
    expect(page.locator(".taken path")).to_have_count(len(FIRST))
    gaps = page.locator(".branches").evaluate(LINES)
    assert len(gaps) == nodes(page).count() - 1
    assert all(gap == pytest.approx([0, 0], abs=1) for gap in gaps)  # each line leads from token to token
    nothing_overlaps(page)
    word = node(page, "Le").locator(".word")
    light = word.evaluate("it => getComputedStyle(it).backgroundColor")
    page.emulate_media(color_scheme="dark")
    expect(word).not_to_have_css("background-color", light)
    expect(nodes(page).first).not_to_have_css("animation-name", "none")
    page.emulate_media(reduced_motion="reduce")
    expect(nodes(page).first).to_have_css("animation-name", "none")
    expect(page.locator(".scroller")).to_have_css("scroll-behavior", "auto")


def test_a_token_that_is_pointed_at_says_more_and_a_click_or_enter_asks_for_it(open_tree: Callable[..., Page]):
    page = open_tree("/branches?tree=forks&at=3")
    expect(tip(page)).to_be_hidden()
    node(page, "n'").hover()
    expect(tip(page)).to_be_visible()
    expect(tip(page).locator(".other")).to_have_text(["chat0.60", "chien0.25", "<b>x</b>0.10", "שלום0.030", "·0.020"])
    page.mouse.move(0, 0)
    expect(tip(page)).to_be_hidden()
    node(page, "Le").focus()
    page.keyboard.press("ArrowRight")
    expect(tip(page)).to_contain_text("1 token is more probable")
    page.keyboard.press("Escape")
    expect(tip(page)).to_be_hidden()
    expect(page.locator("[aria-current='true']")).to_have_text("n'")
    node(page, "elle").click()
    expect(node(page, "elle")).to_have_attribute("aria-current", "true")
    expect(page.locator("[aria-current='true']")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(node(page, "était", 1)).to_have_attribute("aria-current", "true")
    expect(node(page, "était", 1)).to_be_focused()
    page.locator(".end").nth(1).click()
    last = page.locator("button.ended").nth(1)
    expect(last).to_have_attribute("aria-current", "true")
    expect(last).to_have_accessible_name(re.compile("end of the branch “son petit frère .*−9.00 nats"))


def test_nothing_jumps_when_a_token_is_added(open_tree: Callable[..., Page]):
    page = open_tree("/branches?tree=growing&at=3")
    expect(page.locator(".end")).to_have_count(2)
    page.evaluate(
        "for (const it of document.querySelectorAll('*')) it.shadowRoot?.querySelectorAll('.node')"
        ".forEach((node) => (node.wasThere = true))"
    )
    labels = "given0 Once there was a little cat who were two".split()
    former = {label: box(node(page, label)) for label in labels}
    button = box(page.get_by_role("button", name="Add a token"))
    page.get_by_role("button", name="Add a token").click()
    expect(node(page, "more0")).to_have_attribute("aria-current", "true")
    page.get_by_role("button", name="Add a token").click()
    expect(node(page, "more1")).to_have_attribute("aria-current", "true")
    assert {label: box(node(page, label)) for label in labels} == former
    assert box(page.get_by_role("button", name="Add a token")) == button
    assert [it.evaluate("it => it.wasThere ?? false") for it in nodes(page).all()] == [True] * len(labels) + [False] * 2


def test_beams_that_were_dropped_are_told_apart_and_nothing_overlaps_at_any_size(open_tree: Callable[..., Page]):
    page = open_tree("/branches?tree=beams&at=1")
    dropped = page.locator("button.dropped")
    expect(dropped.first).to_contain_text(re.compile(r"−\d+\.00$"))
    expect(dropped.first.locator(".word")).to_have_css("border-top-style", "dashed")
    expect(page.locator("path.dropped").first).not_to_have_css("stroke-dasharray", "none")
    expect(page.locator("path.kept").first).to_have_css("stroke-dasharray", "none")
    expect(page.locator(".end")).to_have_count(4)
    expect(page.locator(".end").first).to_contain_text("score −4.50")
    nothing_overlaps(page)


def test_a_long_text_is_scrolled_to_where_one_is_and_the_page_is_not(open_tree: Callable[..., Page]):
    page = open_tree("/branches?tree=long&at=70", reduced_motion="reduce")
    current, around = page.locator("[aria-current='true']"), box(page.locator(".scroller"))
    expect(current).to_have_text("token69")
    assert around["x"] < box(current)["x"] < around["x"] + around["width"] - box(current)["width"]
    node(page, "token68").focus()
    page.keyboard.press("End")
    expect(node(page, "token119")).to_be_focused()
    page.keyboard.press("Enter")
    expect(node(page, "token119")).to_have_attribute("aria-current", "true")
    last = box(node(page, "token119"))
    assert around["x"] < last["x"] < around["x"] + around["width"] - last["width"]
    assert box(page.locator(".scroller")) == around


def test_many_branches_are_scrolled_where_there_is_no_room_for_them_and_never_overlap(open_tree: Callable[..., Page]):
    page = open_tree("/branches?tree=tall&at=1")
    scroller = page.locator(".scroller")
    assert 300 < box(scroller)["height"] <= 400
    assert scroller.evaluate("it => it.scrollHeight > it.clientHeight")
    node(page, "Once").focus()
    page.keyboard.press("ArrowRight")
    for place in range(20):
        page.keyboard.press("ArrowDown")
        expect(node(page, f"branch{place}")).to_be_focused()
    page.keyboard.press("Enter")
    expect(node(page, "branch19")).to_have_attribute("aria-current", "true")
    expect(node(page, "branch19")).to_be_in_viewport()
    nothing_overlaps(page)
