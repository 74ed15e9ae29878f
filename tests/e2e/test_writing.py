"""The writing of a text in a real Chromium, on a page of its own: chips, where the model looks, and the player."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser import Server
from tests.e2e.gate import Gate

pytestmark = pytest.mark.browser

MARKUP = "<img src=x onerror=window.stolen=1>"
BAR = 24  # px, the height of a weight of 1


@pytest.fixture
def server_url(gallery: Server) -> str:
    """The components, each on a page of its own."""
    return gallery.url


@pytest.fixture
def open_writing(new_page: Callable[..., Page]) -> Callable[..., Page]:
    """Opens the page of these tests, with what its address asks for and Playwright's context options."""

    def open_page(address: str = "/writing", **options: Any) -> Page:
        page = new_page(**options)
        page.goto(address)
        expect(chip(page, 0)).to_be_visible()
        return page

    return open_page


def chip(page: Page, place: int, side: str = "output") -> Locator:
    """A token."""
    return page.locator(f".{side} .chip").nth(place)


def button(page: Page, name: str) -> Locator:
    """One of the player's."""
    return page.get_by_role("button", name=name, exact=True)


def is_at(page: Page, n: int) -> None:
    """Outlined is the token after which so many were written, with <bos> before them; nothing else is."""
    expect(chip(page, n)).to_have_attribute("aria-current", "true")
    expect(page.locator(".chip[aria-current]")).to_have_count(1)
    expect(page.locator(".output .chip.faint")).to_have_count(page.locator(".output .chip").count() - n - 1)


def asked(page: Page, wishes: str) -> None:
    """The page was asked for these things and nothing else, in this order."""
    expect(page.get_by_text(re.compile(rf"asked: {wishes};$"))).to_be_visible()


def settled(page: Page) -> None:
    """Nothing is waited for."""
    expect(page.locator(".busy")).to_have_attribute("hidden", "")


LOOKED = """root => {
  const { view } = root;
  const middle = (node) => {
    const { left, width, bottom } = node.getBoundingClientRect();
    return [left + width / 2, bottom];
  };
  const origin = root.querySelector(".curves").getBoundingClientRect();
  const side = (name) => ({
    weights: [...view.weights[name]],
    bars: view.items[name].map(({ chip }) => Number(chip.style.getPropertyValue("--weight") || 0)),
    numbers: view.items[name].map(({ chip }) => chip.querySelector(".number")?.textContent ?? ""),
  });
  return {
    source: side("source"),
    output: side("output"),
    words: view.items.source.map(({ word }) => middle(word)),
    ends: [...root.querySelectorAll(".curves path")].map((path) => {
      const [x, y] = path.getAttribute("d").match(/[-\\d.]+/g).slice(-2).map(Number);
      return [x + origin.left, y + origin.top];
    }),
    strengths: [...root.querySelectorAll(".curves path")].map(
      ({ style }) => [style.strokeOpacity, style.strokeWidth].map(parseFloat)),
    grounds: view.items.output.map(({ chip, token }) => [token.logProb, chip.style.getPropertyValue("--ground")]),
    shades: view.shades.map(([ground]) => ground),
  };
}"""


def test_bars_numbers_colors_and_curves_are_those_of_their_tokens(open_writing: Callable[..., Page]):
    root = open_writing().locator(".writing")
    expect(root.locator(".curves path").first).to_be_attached()
    looked = root.evaluate(LOOKED)
    for side in ("source", "output"):
        weights = looked[side]["weights"]
        strongest = sorted(range(len(weights)), key=lambda place: -weights[place])[:5]
        for place, (bar, number) in enumerate(zip(looked[side]["bars"], looked[side]["numbers"], strict=True)):
            weight = weights[place] if place < len(weights) else 0
            assert bar == pytest.approx(weight, abs=0.0051)
            assert number == (f"{weight:.2f}" if place in strongest and weight >= 0.05 else "")
    weights = looked["source"]["weights"]
    strong = [
        place for place in sorted(range(len(weights)), key=lambda place: -weights[place])[:5] if weights[place] >= 0.05
    ]
    assert len(looked["ends"]) == len(strong) > 0
    for (x, y), place in zip(looked["ends"], strong, strict=True):
        assert [x, y] == pytest.approx([looked["words"][place][0], looked["words"][place][1] + 1], abs=1)
    for strength, place in zip(looked["strengths"], strong, strict=True):
        assert strength == pytest.approx([0.25 + 0.75 * weights[place], 1 + 1.5 * weights[place]], abs=1e-3)
    shades = looked["shades"]
    for log_prob, ground in looked["grounds"][1:]:  # behind <bos>
        assert ground == shades[round(math.exp(log_prob) * (len(shades) - 1))]
    assert looked["grounds"][0][1] == ""


def test_every_token_says_how_it_came_to_stand_there(open_writing: Callable[..., Page]):
    page = open_writing()
    expect(page.locator(".output .word")).to_have_text(["<bos>", "L'", "animal", "n'", "a"])
    expect(chip(page, 0)).to_have_accessible_name(re.compile("^output 0 '<bos>'.*, given, not generated$"))
    expect(chip(page, 2)).to_have_accessible_name(
        re.compile(
            r"^output 2 'animal'.*, probability 0\.50, rank 1 \(0 is the most probable\), log-probability −0\.69 nats, "
            r"entropy of the distribution 0\.50 nats$"
        )
    )
    expect(chip(page, 3)).to_have_accessible_name(re.compile("^output 3 'n'', .*forced: chosen by a person, .* rank 2"))
    expect(chip(page, 1)).to_have_accessible_name(re.compile("probability 1.00, most probable"))
    expect(chip(page, 1).locator(".word")).to_have_css("background-color", "rgb(26, 29, 84)")  # the scale's deep end
    expect(chip(page, 0).locator(".word")).not_to_have_css("background-color", "rgb(26, 29, 84)")
    chip(page, 3).hover()
    tip = page.locator(".tip")
    expect(tip).to_be_visible()
    expect(tip).to_contain_text("output 3 'n''forced: chosen by a person")
    expect(tip.locator(".alternatives bdi")).to_have_text(["n'", MARKUP, "\u2068שלום\u2069"])
    expect(tip.locator(".probability")).to_have_text(["0.33", "0.12", "0.010"])
    assert page.evaluate("window.stolen") is None and page.locator(".writing img").count() == 0
    page.mouse.move(700, 700)
    expect(tip).to_be_hidden()


def test_bars_numbers_and_curves_say_where_the_model_looks(open_writing: Callable[..., Page]):
    page = open_writing()
    text = page.get_by_text(re.compile("^weights ")).text_content() or ""
    weights = [float(number) for number in text.split()[1:]]
    for place, weight in enumerate(weights):
        height = chip(page, place, "source").evaluate("it => getComputedStyle(it).backgroundSize.split(' ').at(-1)")
        found = re.search(r"[\d.]+(?=px\)?$)", height)
        assert found is not None
        assert float(found[0]) == pytest.approx(BAR * weight if weight >= 0.005 else 0, abs=0.1)
        number = chip(page, place, "source").locator(".number")
        expect(number).to_have_text([f"{weight:.2f}"] if weight >= 0.05 else [])
    written = [f"{weight:.2f}" for weight in weights if weight >= 0.05]
    expect(page.locator(".curves path")).to_have_count(len(written))
    expect(chip(page, 0, "source")).to_have_accessible_name(f"source 0 'The', {weights[0]:.2f} attention")
    chip(page, 1, "source").hover()
    expect(page.locator(".tip")).to_have_text(re.compile(r"^source 1 'animal'attention 0\.0\d+$"))
    expect(page.locator(".source .aim")).to_have_text("cross-attention L1.H3")
    button(page, "One step back").click()
    expect(page.get_by_text(re.compile("^shown 3 of 4"))).to_be_visible()
    assert page.locator(".source .number").all_text_contents() != written


def test_going_back_is_seen_before_the_page_answers(open_writing: Callable[..., Page], tmp_path: Path):
    gate = Gate(tmp_path)
    page = open_writing(f"/writing?gate={gate.path}")
    gate.close()
    button(page, "One step back").click()
    is_at(page, 3)
    expect(page.locator(".writing")).to_have_class(re.compile("waiting"))
    expect(page.locator(".count")).to_have_text("3 of 4 tokens so far")
    button(page, "To the start").click()
    is_at(page, 0)
    gate.open()
    asked(page, "at 3, at 0")
    settled(page)
    is_at(page, 0)
    expect(page.locator(".writing")).not_to_have_class(re.compile("waiting"))
    expect(button(page, "One step back")).to_have_attribute("aria-disabled", "true")


def test_a_click_on_a_token_makes_it_the_last_one(open_writing: Callable[..., Page]):
    page = open_writing("/writing?prompt")
    chip(page, 4).click()
    expect(page.locator(".count")).to_have_text("2 of 4 tokens so far")
    asked(page, "at 2")
    chip(page, 2).click()  # the prompt's last one
    expect(chip(page, 2)).to_have_attribute("aria-current", "true")
    asked(page, "at 2, at 0")
    settled(page)
    chip(page, 1).click()
    expect(chip(page, 2)).to_have_attribute("aria-current", "true")
    expect(page.locator(".source .title")).to_be_hidden()
    expect(page.locator(".output .title")).to_have_text("Prompt and output")
    asked(page, "at 2, at 0")


def test_playing_writes_token_by_token_until_the_text_ends(open_writing: Callable[..., Page]):
    page = open_writing("/writing?n=4&limit=8")
    page.get_by_label("Speed").select_option("fast")
    button(page, "Play").click()
    expect(page.locator(".says")).to_have_text("The model ended the text here (end-of-sequence token).")
    expect(button(page, "Play again")).to_be_visible()
    expect(page.locator(".count")).to_have_text("8 of 8 tokens")
    is_at(page, 8)
    expect(page.locator(".caret")).to_be_hidden()
    asked(page, "forward 1, forward 1, forward 1, forward 1")
    expect(button(page, "One step forward")).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("ArrowRight")
    asked(page, "forward 1, forward 1, forward 1, forward 1")
    button(page, "One step back").click()
    expect(page.locator(".says")).to_have_text("")
    is_at(page, 7)


def test_one_thing_is_asked_for_at_a_time_and_nothing_is_lost(open_writing: Callable[..., Page], tmp_path: Path):
    gate = Gate(tmp_path)
    page = open_writing(f"/writing?gate={gate.path}")
    page.locator(".writing").focus()
    gate.close()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    gate.open()
    asked(page, "forward 1, forward 3")
    is_at(page, 8)
    settled(page)
    gate.close()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowRight"):
        page.keyboard.press(key)
    gate.open()
    asked(page, "forward 1, forward 3, at 7")
    settled(page)
    is_at(page, 7)


def test_space_plays_and_a_click_elsewhere_stops(open_writing: Callable[..., Page]):
    page = open_writing("/writing?limit=500")
    page.get_by_label("Speed").select_option("normal")
    chip(page, 4).focus()
    page.keyboard.press(" ")
    expect(button(page, "Pause")).to_be_visible()
    expect(page.locator(".count")).to_have_text(re.compile(r"^([6-9]|\d{2,}) of"))
    expect(chip(page, 4)).not_to_be_focused()  # the focus goes along
    page.keyboard.press(" ")
    expect(button(page, "Play")).to_be_visible()
    settled(page)
    page.keyboard.press(" ")
    expect(button(page, "Pause")).to_be_visible()
    page.get_by_role("button", name="Elsewhere").click()
    expect(button(page, "Play")).to_be_visible()
    settled(page)
    before = page.locator(".count").text_content()
    page.wait_for_timeout(700)
    expect(page.locator(".count")).to_have_text(before or "")


def test_to_the_end_streams_in_growing_parts_and_can_be_stopped(open_writing: Callable[..., Page], tmp_path: Path):
    page = open_writing("/writing?n=0&limit=30")
    button(page, "To the end").click()
    expect(page.locator(".says")).to_have_text("The model ended the text here (end-of-sequence token).")
    asked(page, "forward 1, forward 2, forward 4, forward 8, forward 8, forward 8")
    is_at(page, 30)
    gate = Gate(tmp_path)
    other = open_writing(f"/writing?limit=100000&gate={gate.path}")
    other.locator(".writing").focus()
    gate.close()
    other.keyboard.press("End")
    button(other, "Pause").click()
    gate.open()
    settled(other)
    expect(other.locator(".count")).to_have_text(re.compile("^5 of"))
    expect(button(other, "Play")).to_be_visible()


def test_the_focus_moves_without_the_moment(open_writing: Callable[..., Page]):
    page = open_writing()
    expect(page.locator(".output .chip[tabindex='0']")).to_have_count(1)
    expect(page.locator(".source .chip[tabindex='0']")).to_have_count(1)
    chip(page, 4).focus()
    page.keyboard.press("Shift+ArrowLeft")
    expect(chip(page, 3)).to_be_focused()
    expect(page.locator(".tip")).to_contain_text("output 3")
    is_at(page, 4)
    page.keyboard.press("ArrowUp")
    expect(chip(page, 0, "source")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(chip(page, 1, "source")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(chip(page, 4)).to_be_focused()
    asked(page, "")
    page.keyboard.press("ArrowLeft")
    expect(chip(page, 3)).to_be_focused()
    asked(page, "at 3")
    page.keyboard.press("Enter")
    is_at(page, 3)


def test_nothing_jumps_when_tokens_are_added(open_writing: Callable[..., Page]):
    page = open_writing("/writing?limit=60")
    before = [page.locator(selector).bounding_box() for selector in (".writing", ".player", ".output .pane")]
    first = chip(page, 1).bounding_box()
    page.locator(".writing").focus()
    page.keyboard.press("ArrowRight")
    is_at(page, 5)
    assert chip(page, 1).bounding_box() == first
    page.keyboard.press("End")
    is_at(page, 60)
    settled(page)
    after = [page.locator(selector).bounding_box() for selector in (".writing", ".player", ".output .pane")]
    assert after == before


@pytest.mark.parametrize("address", ["/writing?n=300&limit=400&prompt", "/writing?n=120&limit=200&times=8"])
@pytest.mark.parametrize("size", [(1440, 900), (1024, 768), (720, 450)])
def test_a_long_text_follows_the_moment_and_nothing_overlaps(
    open_writing: Callable[..., Page], address: str, size: tuple[int, int]
):
    page = open_writing(address, viewport={"width": size[0], "height": size[1]})
    current = page.locator(".chip[aria-current]")
    page.locator(".writing").focus()
    for key in ("ArrowLeft", "Home", "End"):
        page.keyboard.press(key)
        pane, box = page.locator(".output .pane").bounding_box(), current.bounding_box()
        assert pane is not None and box is not None
        assert pane["y"] - 1 <= box["y"] and box["y"] + box["height"] <= pane["y"] + pane["height"]
        assert page.locator(".writing").evaluate("it => it.scrollWidth <= it.clientWidth")
    page.keyboard.press(" ")
    settled(page)
    boxes = page.locator(".number, .flag:visible").evaluate_all("all => all.map((it) => it.getBoundingClientRect())")
    assert boxes
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            assert (
                one["left"] >= other["right"] - 0.5
                or other["left"] >= one["right"] - 0.5
                or one["top"] >= other["bottom"] - 0.5
                or other["top"] >= one["bottom"] - 0.5
            ), (one, other)


STEPPED = """() => {  // step back once; return where one is at once, and how much was changed for that
  const find = (node) => node.querySelector?.(".writing") ?? [...node.querySelectorAll("*")]
    .map((it) => it.shadowRoot && find(it.shadowRoot)).find(Boolean);
  const root = find(document), chips = [...root.querySelectorAll(".output .chip")];
  const changes = new MutationObserver(() => {});
  changes.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  root.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
  return [chips.findIndex((chip) => chip.hasAttribute("aria-current")), changes.takeRecords().length];
}"""


def test_a_step_in_a_long_text_is_drawn_at_once_and_changes_only_what_it_must(open_writing: Callable[..., Page]):
    n_changed = {}
    for n in (50, 1000):
        page = open_writing(f"/writing?n={n}&limit=1200&prompt")
        page.locator(".writing").focus()
        place, n_changed[n] = page.evaluate(STEPPED)
        assert place == n + 1  # three tokens were given: it was at n + 2
        expect(page.get_by_text(re.compile(f"^shown {n - 1} of {n}"))).to_be_visible()
    assert n_changed[1000] < n_changed[50] + 20


def test_whoever_wants_no_motion_gets_none(open_writing: Callable[..., Page]):
    page = open_writing(reduced_motion="reduce")
    expect(page.locator(".caret")).to_have_css("animation-name", "none")
