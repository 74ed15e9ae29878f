"""The Positions page as a person uses it, in a real Chromium."""

import re

import numpy as np
from playwright.sync_api import Locator, Page, expect

from headlight.analysis.positions.relative import same_vector
from tests.e2e.looking import cell_at, wait


def title(page: Page, words: str) -> Locator:
    """The title of a figure."""
    return page.locator(".plot .gtitle").filter(has_text=words)


def test_the_well_known_picture_gives_way_to_the_published_table_with_its_numbers(page: Page):
    page.goto("/positions")
    expect(title(page, "20 positions, 512 dimensions")).to_be_visible()
    expect(page.locator(".st-key-text-line")).not_to_be_visible()  # it is not used here
    page.get_by_role("button", name="A published table, 10 × 6").click()
    expect(title(page, "10 positions, 6 dimensions")).to_be_visible()
    numbers = page.locator(".plot .textpoint text")
    expect(numbers).to_have_count(60)
    over = page.locator(".plot .xtick text")
    expect(over).to_have_text([re.compile(number) for number in 2 * ["1.00000"] + 2 * ["21.5443"] + 2 * ["464.159"]])
    wait(page)
    page.mouse.move(*cell_at(page.locator(".plot").first, 3, 2, 10, 6))
    words = page.locator(".plot .hoverlayer text")
    expect(words).to_have_text("position 3 → dimension 2, sin(position / 21.5443): 0.1388")


def test_the_dials_turn_and_only_the_distance_counts(page: Page):
    page.goto("/positions?encoding=rotary_halves")
    text = page.locator(".dials .sum")
    expect(text).to_have_text(re.compile("^distance 12: "))
    expect(page.locator(".dials .dial")).to_have_count(16)
    expect(title(page, "by distance")).to_be_visible()
    product = same_vector("rotary_halves", 32).products(np.array([12, 20]))
    expect(text).to_have_text(f"distance 12: the product of query and key is {product[0]:.4f}")
    hand = page.locator(".dials .hand.query").first
    before = hand.get_attribute("x2")
    play = page.locator(".dials .play")
    play.click()
    expect(play).to_have_text("Pause")
    expect(hand).not_to_have_attribute("x2", before or "")
    expect(text).to_have_text(f"distance 12: the product of query and key is {product[0]:.4f}")
    play.click()
    expect(page).to_have_url(re.compile(r"places=\d+\.\d+"))
    for slider, place in zip(page.locator(".dials .range").all(), (30, 10), strict=True):
        slider.fill(str(place))
    expect(text).to_have_text(f"distance 20: the product of query and key is {product[1]:.4f}")
    expect(page).to_have_url(re.compile(r"places=30\.10"))
