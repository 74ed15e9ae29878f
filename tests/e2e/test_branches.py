"""The tree of branches in a real Chromium, on a page of its own: forks, beams, walking, growing, and long texts."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

from tests.e2e.browser import Server
from tests.e2e.conftest import VIEWPORT

pytestmark = pytest.mark.browser

FIRST = "Le chat n' a pas vu le chien parce qu' il était fatigué . <eos>".split()


@pytest.fixture
def server_url(gallery: Server) -> str:
    """The components, each on a page of its own."""
    return gallery.url


@pytest.fixture
def open_tree(new_page: Callable[..., Page]) -> Callable[..., Page]:
    """Opens a page with a tree, as another visitor."""

    def open_at(address: str, **options: Any) -> Page:
        page = new_page(**options)
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


def test_time_runs_from_left_to_right_and_forks_lie_below(open_tree: Callable[..., Page]):
    page = open_tree("/branches?tree=forks&at=3")
    boxes = [box(node(page, label)) for label in FIRST]
    assert all(one["x"] + one["width"] < other["x"] for one, other in pairwise(boxes))
    assert len({one["y"] for one in boxes}) == 1
    assert y_of(node(page, "Le")) < y_of(node(page, "elle")) < y_of(node(page, "son"))  # so that no lines cross
    assert box(node(page, "elle"))["x"] == box(node(page, "il"))["x"]  # the same moment
    expect(page.locator("path")).to_have_count(nodes(page).count() - 1)
    expect(page.locator(".taken path")).to_have_count(len(FIRST))


@pytest.mark.parametrize("address", ["/branches?tree=forks", "/branches?tree=beams", "/branches?tree=tall"])
@pytest.mark.parametrize("size", [VIEWPORT, {"width": 1024, "height": 700}, {"width": 720, "height": 450}])
def test_nothing_overlaps(open_tree: Callable[..., Page], address: str, size: dict[str, int]):
    page = open_tree(address, viewport=size)
    boxes = [box(item) for item in page.locator(".node, .end").all()]
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            assert (
                one["x"] >= other["x"] + other["width"]
                or other["x"] >= one["x"] + one["width"]
                or one["y"] >= other["y"] + other["height"]
                or other["y"] >= one["y"] + one["height"]
            ), (one, other)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_branch_ends_with_its_text_and_its_log_probability(open_tree: Callable[..., Page]):
    page = open_tree("/branches?tree=forks")
    end = page.locator(".end").nth(1)
    expect(end).to_contain_text("son petit frère <img·src=x> . <eos>")
    expect(end).to_contain_text("−9.00 nats · −1.50 per token")
    end.hover()
    expect(tip(page)).to_contain_text("6 tokens: −9.00 nats")
    last = page.locator("button.ended").nth(1)
    expect(last).to_have_accessible_name(re.compile("end of the branch “son petit frère .*−9.00 nats"))
    assert page.locator("img").count() == 0


def test_pointing_and_the_focus_say_what_could_have_stood_there(open_tree: Callable[..., Page]):
    page = open_tree("/branches?tree=forks")
    expect(tip(page)).to_be_hidden()
    node(page, "n'").hover()
    expect(tip(page)).to_contain_text("probability 0.86, 2 tokens are more probable")
    expect(tip(page)).to_contain_text("log-probability −0.15 nats")
    expect(tip(page).locator(".other")).to_have_text(["chat0.60", "chien0.25", "<b>x</b>0.10", "שלום0.030", "·0.020"])
    expect(tip(page).locator(".other.own")).to_have_count(1)
    page.mouse.move(0, 0)
    expect(tip(page)).to_be_hidden()
    node(page, "Le").focus()
    page.keyboard.press("ArrowRight")
    expect(tip(page)).to_contain_text("chat")
    expect(tip(page)).to_contain_text("1 token is more probable")
    page.keyboard.press("Escape")
    expect(tip(page)).to_be_hidden()


def test_a_click_or_enter_asks_for_a_moment_which_is_outlined(open_tree: Callable[..., Page]):
    page = open_tree("/branches?tree=forks&at=3")
    expect(page.locator("[aria-current='true']")).to_have_text("n'")
    node(page, "elle").click()
    expect(node(page, "elle")).to_have_attribute("aria-current", "true")
    expect(page.locator("[aria-current='true']")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(node(page, "était", 1)).to_have_attribute("aria-current", "true")
    expect(node(page, "était", 1)).to_be_focused()
    page.locator(".end").nth(1).click()
    expect(page.locator("button.ended").nth(1)).to_have_attribute("aria-current", "true")


def test_arrow_keys_walk_along_branches_and_between_them(open_tree: Callable[..., Page]):
    page = open_tree("/branches?tree=forks&at=11")
    expect(page.locator("button.node[tabindex='0']")).to_have_count(1)
    node(page, "il").focus()
    walk = (("ArrowDown", "elle"), ("ArrowDown", "<img·src=x>"), ("ArrowLeft", "frère"), ("ArrowUp", "qu'"))
    for key, label in (*walk, ("Home", "given0"), ("ArrowRight", "Le"), ("End", "<eos>"), ("ArrowRight", "<eos>")):
        page.keyboard.press(key)
        expect(node(page, label)).to_be_focused()
    expect(page.locator("button.node[tabindex='0']")).to_have_count(1)


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


def test_beams_that_were_dropped_are_told_apart_and_say_their_score(open_tree: Callable[..., Page]):
    page = open_tree("/branches?tree=beams&at=1")
    dropped = page.locator("button.dropped")
    expect(dropped.first).to_contain_text(re.compile(r"−\d+\.00$"))
    expect(dropped.first.locator(".word")).to_have_css("border-top-style", "dashed")
    expect(page.locator("path.dropped").first).not_to_have_css("stroke-dasharray", "none")
    expect(page.locator("path.kept").first).to_have_css("stroke-dasharray", "none")
    expect(page.locator(".end")).to_have_count(4)
    expect(page.locator(".end").first).to_contain_text("score −4.50")
    expect(page.locator(".legend")).to_contain_text("dashed: dropped, with its score")
    dropped.first.hover()
    expect(tip(page)).to_contain_text("dropped by beam search")


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


def test_many_branches_are_as_high_as_there_is_room_and_then_scrolled(open_tree: Callable[..., Page]):
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


def test_a_prompt_is_folded(open_tree: Callable[..., Page]):
    page = open_tree("/branches?tree=prompt&at=42")
    expect(nodes(page).locator(".word")).to_have_text(
        ["… 37 tokens", "given37", "given38", "given39", "The", "cat", "sees", "the", "dog", "."]
    )


DRAWN = """root => {
  const { view } = root;
  const at = (box) => box.style.transform.match(/-?\\d+/g).map(Number);
  return {
    stops: view.data.scales[view.theme()].sequential,
    nodes: [...view.items.values()].map(({ node, button, line, end }) => ({
      ...node,
      x: at(button)[0],
      y: at(button)[1] + button.offsetHeight / 2,
      width: button.offsetWidth,
      fill: button.style.getPropertyValue("--fill"),
      line: line.getAttribute("d")?.match(/[-\\d.]+/g).map(Number),
      isTaken: line.parentNode?.matches(".taken"),
      end: end && at(end.box),
      label: button.querySelector(".word").textContent,
    })),
  };
}"""


@pytest.mark.parametrize("address", ["/branches?tree=forks", "/branches?tree=beams"])
def test_each_token_has_its_color_and_a_line_from_the_one_before(open_tree: Callable[..., Page], address: str):
    drawn = open_tree(address).locator(".branches").evaluate(DRAWN)
    by_id = {node["id"]: node for node in drawn["nodes"]}
    for node in by_id.values():
        if node["p"] is not None:
            high = next(i for i, (stop, _) in enumerate(drawn["stops"]) if i and stop >= node["p"])
            (start, low_color), (end, high_color) = drawn["stops"][high - 1 : high + 1]
            found = re.fullmatch(r"color-mix\(in srgb, (\S+) ([\d.e-]+)%, (\S+)\)", node["fill"])
            assert found and (found[1], found[3]) == (high_color, low_color)
            assert float(found[2]) == pytest.approx(100 * (node["p"] - start) / (end - start), abs=1e-3)
        parent = by_id.get(node["parent"])
        if parent is None:
            assert node["line"] is None
            continue
        if node["line"][1] != (last := node["y"]) and len(node["line"]) > 3:
            last = node["line"][-2]
        assert node["line"][:2] == pytest.approx([parent["x"] + parent["width"], parent["y"]], abs=1)
        assert [node["line"][-1], last] == pytest.approx([node["x"], node["y"]], abs=1)
        assert node["isTaken"] == node["taken"]
        if node["end"]:
            assert node["end"][0] >= node["x"] + node["width"]


def test_colors_follow_the_theme(open_tree: Callable[..., Page]):
    def color(scheme: str) -> str:
        page = open_tree("/branches?tree=forks", color_scheme=scheme)
        return str(node(page, "Le").locator(".word").evaluate("it => getComputedStyle(it).backgroundColor"))

    assert color("light") != color("dark")


def test_whoever_wants_no_motion_gets_none(open_tree: Callable[..., Page]):
    page = open_tree("/branches?tree=forks", reduced_motion="reduce")
    expect(nodes(page).first).to_have_css("animation-name", "none")
    expect(page.locator(".scroller")).to_have_css("scroll-behavior", "auto")
