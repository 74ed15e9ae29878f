"""Every token of a heatmap has its label, on the screen and in what is saved, and none lies on another."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.test_heads import open_heads
from tests.e2e.test_take_away import BEYOND, figure_of, open_menu, saved

pytestmark = pytest.mark.browser

ANIMAL = "The animal did not cross the street because it was too tired"
TEXTS = {13: ANIMAL, 40: " . ".join([ANIMAL] * 3) + " ."}  # by tokens, with the end of the text
WORDS = """svg => [...svg.querySelectorAll("text")].filter((text) => text.textContent && !text.closest(".scatterlayer"))
  .map((text) => {
    const { x, y, width, height } = text.getBBox();
    const place = text.getScreenCTM();
    const corners = [[x, y], [x + width, y], [x + width, y + height], [x, y + height]];
    return {
      text: text.textContent,
      axis: /(x|y)\\d*tick/.exec(text.parentElement.getAttribute("class"))?.[1] ?? "",
      corners: corners.map(([x, y]) => [x, y]).map(([x, y]) => {
        const at = new DOMPoint(x, y).matrixTransform(place);
        return [at.x, at.y];
      }),
    };
  })"""  # all that is written in a drawing but for the numbers in its cells: what, and its box, which may be turned


def words_in(svg: Locator) -> list[dict[str, Any]]:
    return list(svg.evaluate(WORDS))


def on(axis: str, words: list[dict[str, Any]]) -> list[str]:
    return [word["text"] for word in words if word["axis"] == axis]


def overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two boxes have more than an edge in common: no line along one of their sides parts them."""
    boxes = [np.array(word["corners"]) for word in (one, other)]
    for box in boxes:
        for side in (box[1] - box[0], box[3] - box[0]):
            if not (size := np.hypot(*side)):
                return False
            first, second = (corners @ side / size for corners in boxes)
            if min(first.max(), second.max()) - max(first.min(), second.min()) < 0.5:  # px
                return False
    return True


def overlapping(words: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["text"], other["text"]) for one, other in combinations(words, 2) if overlap(one, other)]


def address(n_tokens: int, rest: str = "") -> str:
    return f"/heads?attention=encoder&layer=0&head=0&text={TEXTS[n_tokens].replace(' ', '+')}{rest}"


@pytest.mark.parametrize("n_tokens", [13, 40])
def test_a_saved_heatmap_names_every_token(page: Page, n_tokens: int):
    open_heads(page, address(n_tokens))
    figure = figure_of(page)
    open_menu(figure)
    tokens = [*TEXTS[n_tokens].split(), "<eos>"]
    for width in ("88 mm", "180 mm"):
        _, picture = saved(figure, "SVG", width=width)
        shown = page.context.new_page()
        shown.set_content(picture.decode())
        words = words_in(shown.locator("svg").first)
        assert on("x", words) == on("y", words) == tokens
        assert overlapping(words) == []
        assert shown.evaluate(BEYOND) == []
        shown.close()


def test_the_chosen_row_and_column_are_named_where_not_all_have_room(page: Page):
    text = " . ".join([ANIMAL] * 4) + " ."
    open_heads(page, address(40))
    for query, key in ((33, 47), (34, 48)):
        page.goto(f"/heads?attention=encoder&layer=0&head=0&text={text.replace(' ', '+')}&query={query}&key={key}")
        figure = figure_of(page)
        expect(figure.locator(".gtitle")).to_be_visible()
        for width in (1024, 1440):
            page.set_viewport_size({"width": width, "height": 768})
            page.wait_for_timeout(500)  # the figure takes its new place
            assert overlapping(words_in(figure.locator("svg.main-svg").first)) == []
            assert key in labelled(figure, "xaxis")
            assert query in labelled(figure, "yaxis")


def labelled(figure: Locator, axis: str) -> list[int]:
    """The places that have a label on the screen."""
    return list(figure.locator(".plot").evaluate("(plot, axis) => plot._fullLayout[axis].tickvals", axis))


def test_a_pair_of_maps_names_every_token_on_the_screen_and_on_paper(page: Page):
    page.goto(f"/masks?part=leak&changed=4&text={ANIMAL.replace(' ', '+')}")
    figure = figure_of(page)
    expect(figure.locator(".x2tick").first).to_be_visible()
    words = words_in(figure.locator("svg.main-svg").first)
    tokens = on("y", words)
    assert len(tokens) > 14 and on("x", words) == tokens * 2
    assert overlapping(words) == []
    open_menu(figure)
    _, picture = saved(figure, "SVG", width="88 mm")
    shown = page.context.new_page()
    shown.set_content(picture.decode())
    words = words_in(shown.locator("svg").first)
    assert on("y", words) == tokens and on("x", words) == tokens * 2
    assert overlapping(words) == []
    assert shown.evaluate(BEYOND) == []
    shown.close()


def test_a_saved_map_keeps_its_numbers_its_colors_and_the_names_of_what_is_chosen(page: Page):
    text = " . ".join([ANIMAL] * 4) + " ."
    open_heads(page, address(13, "&show=scores"))
    figure = figure_of(page)
    open_menu(figure)
    _, picture = saved(figure, "SVG", width="88 mm")
    shown = page.context.new_page()
    shown.set_content(picture.decode())
    shown.add_style_tag(content="* { pointer-events: auto !important; }")  # so that cells are found by their place
    numbers = shown.locator(".scatterlayer text")
    assert numbers.count() == figure.locator(".scatterlayer text").count() == 13**2
    sizes = numbers.evaluate_all("texts => texts.map((text) => parseFloat(text.style.fontSize) * 0.75)")  # pt
    assert min(sizes) >= 4
    scores = numbers.evaluate_all(
        """texts => texts.map((text) => {
          const { x, y, width, height } = text.getBoundingClientRect();
          const at = document.elementsFromPoint(x + width / 2, y + height / 2);
          const cell = at.find((part) => part.tagName === "path");  // none: white
          return [text.textContent, cell?.getAttribute("fill") ?? "rgb(255,255,255)"];
        })"""
    )
    faint = [fill for number, fill in scores if abs(float(number.replace("\N{MINUS SIGN}", "-"))) < 0.2]
    assert faint and all(min(map(int, fill[4:-1].split(","))) > 200 for fill in faint)  # around 0 nothing is colored
    page.goto(f"/heads?attention=encoder&layer=0&head=0&text={text.replace(' ', '+')}&query=33&key=47")
    expect(figure.locator(".gtitle")).to_be_visible()
    open_menu(figure)
    _, picture = saved(figure, "SVG", width="88 mm")
    shown.set_content(picture.decode())
    words = words_in(shown.locator("svg").first)
    assert overlapping(words) == []
    places = labelled(figure, "xaxis"), labelled(figure, "yaxis")
    assert 47 in places[0] and 33 in places[1]
    shown.close()


def test_saved_bars_name_every_key(page: Page):
    page.goto(address(13, "&query=8&key=1"))
    figure = page.locator(".figure").filter(has=page.locator(".barlayer")).first
    figure.scroll_into_view_if_needed()
    open_menu(figure)
    _, picture = saved(figure, "SVG", width="88 mm")
    shown = page.context.new_page()
    shown.set_content(picture.decode())
    words = words_in(shown.locator("svg").first)
    assert on("x", words) == [*TEXTS[13].split(), "<eos>"]
    assert overlapping(words) == []
    assert shown.evaluate(BEYOND) == []
    shown.close()


@pytest.mark.parametrize("n_tokens", [13, 40])
def test_every_token_is_named_on_a_usual_screen(page: Page, n_tokens: int):
    open_heads(page, address(n_tokens))
    figure = figure_of(page)
    words = words_in(figure.locator("svg.main-svg").first)
    assert overlapping(words) == []
    assert on("x", words) == on("y", words) == [*TEXTS[n_tokens].split(), "<eos>"]
    above, below = (figure.locator(f".{name}").bounding_box() for name in ("gtitle", "xtitle"))
    assert above is not None and below is not None
    assert above["y"] + above["height"] + 4 <= below["y"]  # px: they are told apart
