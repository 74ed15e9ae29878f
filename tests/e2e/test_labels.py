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
      axis: text.closest(".xtick") ? "x" : text.closest(".ytick") ? "y" : "",
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
