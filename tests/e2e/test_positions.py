"""The page Positions as a person uses it, in a real Chromium."""

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.model.test_positions import ROWS
from transformer_core.analysis.positions.dials import same_vector

pytestmark = pytest.mark.browser


def title(page: Page, words: str) -> Locator:
    """The title of a figure."""
    return page.locator(".plot .gtitle").filter(has_text=words)


def test_the_well_known_picture_gives_way_to_the_published_table_with_its_numbers(page: Page):
    page.goto("/positions")
    expect(title(page, "20 positions, 512 dimensions")).to_be_visible()
    page.get_by_role("button", name="A published table, 10 × 6").click()
    expect(title(page, "10 positions, 6 dimensions")).to_be_visible()
    numbers = page.locator(".plot .textpoint text")
    expect(numbers).to_have_count(60)
    shown = sorted(float(text.replace("\u2212", "-")) for text in numbers.all_text_contents())
    assert shown == sorted(cell for row in ROWS for cell in row)
    over = page.locator(".plot .xtick text")
    expect(over).to_have_text([re.compile(number) for number in 2 * ["1.00000"] + 2 * ["21.5443"] + 2 * ["464.159"]])
    box = page.locator(".plot .nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 2.5 / 6, box["y"] + box["height"] * 3.5 / 10)
    words = page.locator(".plot .hoverlayer text")
    expect(words).to_have_text("position 3 → dimension 2, sin(position / 21.5443): 0.1388")
    expect(page).to_have_url(re.compile("encoding=sinusoidal_interleaved&part=table&n=10&width=6"))
    page.get_by_test_id("stButtonGroup").get_by_text("Shift", exact=True).click()
    expect(title(page, "R for k = 5")).to_be_visible()


def test_the_dials_turn_and_only_the_distance_counts(page: Page):
    page.goto("/positions?encoding=rotary_halves")
    told = page.locator(".dials .sum")
    expect(told).to_have_text(re.compile("^distance 12: "))
    expect(page.locator(".dials .dial")).to_have_count(16)
    expect(title(page, "by distance")).to_be_visible()
    product = same_vector("rotary_halves", 32).products(np.array([12, 20]))
    expect(told).to_have_text(f"distance 12: the product of query and key is {product[0]:.4f}")
    hand = page.locator(".dials .hand.query").first
    before = hand.get_attribute("x2")
    play = page.locator(".dials .play")
    play.click()
    expect(play).to_have_text("Pause")
    expect(hand).not_to_have_attribute("x2", before or "")
    expect(told).to_have_text(f"distance 12: the product of query and key is {product[0]:.4f}")
    play.click()
    expect(page).to_have_url(re.compile(r"places=\d+\.\d+"))
    for slider, place in zip(page.locator(".dials .range").all(), (30, 10), strict=True):
        slider.fill(str(place))
    expect(told).to_have_text(f"distance 20: the product of query and key is {product[1]:.4f}")
    expect(page).to_have_url(re.compile(r"places=30\.10"))
    face = page.locator(".dials .dial svg").nth(4)
    box = face.bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(middle[0] + 25, middle[1])
    page.mouse.down()
    page.mouse.move(middle[0] + 18, middle[1] - 18, steps=4)
    page.mouse.up()
    expect(told).not_to_have_text(re.compile("^distance 20: "))
    expect(page).not_to_have_url(re.compile(r"places=30\.10"))


DIALS = """root => [...root.querySelectorAll(".dial")].map((dial) => ({
  hands: [...dial.querySelectorAll("line")].map(
    (line) => ["x1", "y1", "x2", "y2"].map((end) => Number(line.getAttribute(end)))),
  wedge: (dial.querySelector(".between").getAttribute("d").match(/[-\\d.e]+/g)).map(Number),
  part: Number(dial.querySelector(".part").textContent.replace("\u2212", "-")),
  bar: [dial.querySelector(".share").style.getPropertyValue("--size"), dial.querySelector(".share").matches(".less")],
}))"""


def test_each_dial_shows_its_pair_at_both_positions(page: Page):
    page.goto("/positions?encoding=rotary_halves&places=30.9")
    root = page.locator(".dials")
    expect(root.locator(".dial")).to_have_count(16)
    data = root.evaluate("root => root.view.data")
    dials = root.evaluate(DIALS)
    vectors = np.array([data["query"], data["key"]])  # [side, pair, 2]
    lengths = np.hypot(*np.moveaxis(vectors, -1, 0))
    angles = np.arctan2(vectors[..., 1], vectors[..., 0]) + np.outer([30, 9], data["speeds"])
    parts = data["scale"] * lengths.prod(axis=0) * np.cos(angles[0] - angles[1])
    for pair, dial in enumerate(dials):
        for side, (x1, y1, x2, y2) in enumerate(dial["hands"]):
            drawn = np.array([x2 - x1, y1 - y2])  # y grows downwards
            towards = np.array([np.cos(angles[side, pair]), np.sin(angles[side, pair])])
            np.testing.assert_allclose(drawn / np.hypot(*drawn), towards, atol=1e-6)
            assert np.hypot(*drawn) == pytest.approx(34 * max(lengths[side, pair] / lengths.max(), 0.06))
        middle, ends = np.array(dial["wedge"][:2]), [np.array(dial["wedge"][2:4]), np.array(dial["wedge"][-2:])]
        turn = np.arctan2(np.sin(angles[1, pair] - angles[0, pair]), np.cos(angles[1, pair] - angles[0, pair]))
        assert dial["wedge"][8] == (turn <= 0), "the shorter way"
        for side, end in enumerate(ends):
            away = (end - middle) * [1, -1]
            at = [np.cos(angles[side, pair]), np.sin(angles[side, pair])]
            np.testing.assert_allclose(away / np.hypot(*away), at, atol=1e-6)
        assert dial["part"] == pytest.approx(parts[pair], abs=6e-4)
        most = (data["scale"] * lengths.prod(axis=0)).max()
        assert float(dial["bar"][0].rstrip("%")) == pytest.approx(50 * abs(parts[pair]) / most, abs=0.01)
        assert dial["bar"][1] == (parts[pair] < 0)
    total = root.locator(".sum").inner_text().rsplit(" ", 1)[1].replace("\u2212", "-")
    assert float(total) == pytest.approx(parts.sum() + data["rest"], abs=6e-5)


def test_the_hand_that_is_taken_follows_the_pointer_and_the_other_stays(page: Page):
    page.goto("/positions?encoding=rotary_halves&places=30.9")
    root = page.locator(".dials")
    face = root.locator(".dial svg").nth(4)
    expect(face).to_be_visible()
    speed = root.evaluate("root => root.view.data.speeds[4]")
    places = {"query": 30, "key": 9}
    for side, by in (("key", 4), ("query", -6), ("key", -3)):
        box = face.bounding_box()
        assert box is not None
        hand = face.locator(f".hand.{side}")
        x1, y1, x2, y2 = (float(hand.get_attribute(end) or "nan") for end in ("x1", "y1", "x2", "y2"))
        turned = complex(x2 - x1, y1 - y2) * np.exp(1j * by * speed)  # y grows downwards
        page.mouse.move(box["x"] + x2, box["y"] + y2)
        page.mouse.down()
        page.mouse.move(box["x"] + x1 + turned.real, box["y"] + y1 - turned.imag, steps=4)
        page.mouse.up()
        places[side] += by
        expect(page).to_have_url(re.compile(rf"places={places['query']}\.{places['key']}(&|$)"))


def test_words_are_shuffled_in_german_and_a_head_is_chosen_by_a_click(page: Page):
    page.goto("/positions?part=model&in=shuffle&attention=encoder&layer=0&head=0&language=de")
    expect(title(page, "Wörter (1), Positionen (−1)")).to_be_visible()
    shuffled = page.locator(".hl-positions-orders em").nth(1)
    first = shuffled.text_content() or ""
    page.get_by_role("button", name="Andere Reihenfolge").click()
    expect(shuffled).not_to_have_text(first)
    grid = page.locator(".plot").filter(has_text="Wörter (1), Positionen (−1)").locator(".nsewdrag")
    box = grid.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 2.5 / 4, box["y"] + box["height"] * 1.5 / 2)
    expect(title(page, "L1.H2: gemischt")).to_be_visible()
    expect(page).to_have_url(re.compile("layer=1&head=2"))
