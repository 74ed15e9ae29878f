"""The Decoding page as a person uses it, in a real Chromium: step, fork, delete, share and play."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import LAPTOP, PROJECTOR
from tests.e2e.late_answers import LateAnswers
from tests.e2e.looking import box_of, overlapping, wait

WRITTEN = "l' animal n' a pas traversé la rue parce qu' il était trop fatigué . <eos>".split()
DRAWN = """root => ["button.node", ".end", "path"].map((part) => root.querySelectorAll(part).length)"""


def open_decoding(page: Page, address: str = "/decoding") -> None:
    """Go there, and wait until the tokens are drawn and something may come next."""
    page.goto(address)
    expect(chips(page).first).to_be_visible()
    expect(candidate(page, 0)).to_be_visible()


def chips(page: Page) -> Locator:
    """The tokens of the output, <bos> or the prompt first."""
    return page.locator(".output .chip")


def words(page: Page) -> Locator:
    return chips(page).locator(".word")


def candidate(page: Page, place: int) -> Locator:
    """A token that may come next."""
    return page.locator(".candidates .row").nth(place)


def is_at(page: Page, n_written: int) -> None:
    """The step after <bos> and this many tokens is selected by the page and by the server."""
    expect(chips(page).nth(n_written)).to_have_attribute("aria-current", "true")
    expect(page).to_have_url(re.compile(rf"[?&]step={n_written}(&|$)"))


def test_it_opens_where_the_model_hesitates_and_steps_lead_to_both_ends(page: Page):
    open_decoding(page)
    expect(words(page)).to_have_text(["<bos>", *WRITTEN])
    expect(chips(page).nth(WRITTEN.index("il"))).to_have_attribute("aria-current", "true")  # "il" or "elle"
    expect(page).to_have_url(re.compile("/decoding$"))
    for place, token in enumerate(("il", "elle")):
        expect(candidate(page, place)).to_have_accessible_description(re.compile(f"^'{token}'"))
    page.get_by_role("button", name="One step forward").click()
    is_at(page, 11)
    page.get_by_role("button", name="To the end").click()
    is_at(page, len(WRITTEN))
    expect(page.get_by_text("The model ended the text here").first).to_be_visible()
    page.get_by_role("button", name="To the start").click()
    expect(page).to_have_url(re.compile("step=0"))
    expect(candidate(page, 0)).to_have_accessible_description(re.compile("^'l''"))


def test_another_pronoun_forks_the_text_and_a_deleted_branch_leaves_nothing(page: Page, new_page: Callable[..., Page]):
    open_decoding(page, "/decoding?part=tree")
    tree = page.locator(".branches")
    expect(tree.locator(".end")).to_have_count(1)
    before = tree.evaluate(DRAWN)
    candidate(page, 1).click()
    expect(words(page)).to_have_text(["<bos>", *WRITTEN[:10], "elle", "était", "trop", "fatiguée", ".", "<eos>"])
    is_at(page, 11)
    expect(tree.locator(".node.forced .word")).to_have_text("elle")
    expect(tree.locator(".end")).to_have_count(2)
    assert tree.evaluate(DRAWN) == [n + more for n, more in zip(before, (6, 1, 6), strict=True)]  # from "elle" on

    other = new_page()
    open_decoding(other, page.url)
    is_at(other, 11)
    expect(words(other).nth(14)).to_have_text("fatiguée")
    expect(other.locator(".branches .node.forced .word")).to_have_text("elle")

    tree.locator(".node", has_text=re.compile("^il")).first.click()  # back on what was written first
    expect(words(page).nth(14)).to_have_text("fatigué")
    tree.locator(".node.forced").click()
    expect(words(page).nth(14)).to_have_text("fatiguée")
    page.get_by_role("button", name="Delete this branch").click()
    expect(tree.locator(".node.forced")).to_have_count(0)
    assert tree.evaluate(DRAWN) == before


def test_beams_stand_apart_and_are_followed(page: Page):
    open_decoding(page, "/decoding?part=beams")
    expect(page.locator(".branches .node.dropped").first).to_be_visible()
    for size in (PROJECTOR, LAPTOP):
        page.set_viewport_size(size)
        wait(page)
        assert not overlapping(page.locator(".branches").locator(".node, .end"), gap=0), size
    page.locator(".branches .node.kept", has_text="elle").first.click()
    expect(words(page).nth(11)).to_have_text("elle")


def test_a_dragged_slider_draws_at_once_and_the_server_hears_where_it_is_let_go(page: Page):
    open_decoding(page)
    wait(page)
    shown = page.locator(".candidates .row:visible")
    before = {name: lengths(shown, name) for name in ("own", "now")}
    box = box_of(page.get_by_role("slider", name="Temperature", exact=True))
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, height)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, height, steps=4)
    temperature = float(page.get_by_role("spinbutton", name="Temperature, as a number").input_value())
    assert 1.3 < temperature < 1.7
    tempered = np.array(before["own"][:2]) ** (1 / temperature)
    now = np.array(lengths(shown, "now")[:2])
    assert now[0] / now[1] == pytest.approx(tempered[0] / tempered[1], rel=1e-3)
    assert lengths(shown, "own") == before["own"] and "temperature" not in page.url
    page.mouse.up()
    expect(page).to_have_url(re.compile(rf"[?&]temperature={temperature}(&|$)"))
    expect(words(page).nth(10)).to_have_text("qu'")  # up to here it stays as it was written


def lengths(rows: Locator, name: str) -> list[float]:
    """How long the bars are: "own" for the model's probabilities, "now" for those of the settings."""
    results: list[float] = rows.evaluate_all(
        "(rows, name) => rows.map((row) => Number(row.style.getPropertyValue(`--${name}`)))", name
    )
    return results


def test_steps_are_seen_before_the_server_answers_and_two_quick_clicks_are_one_choice(page: Page):
    late = LateAnswers(page)
    open_decoding(page, "/decoding?part=tree&step=4")
    wait(page)
    late.hold()
    page.get_by_role("button", name="One step back").click()
    page.get_by_role("button", name="One step back").click()
    expect(chips(page).nth(2)).to_have_attribute("aria-current", "true")
    expect(page.locator(".chip[aria-current]")).to_have_count(1)
    late.let_through()
    is_at(page, 2)
    wait(page)
    late.hold()
    candidate(page, 1).click()
    candidate(page, 2).click()
    late.let_through()
    expect(page.locator(".branches .end")).to_have_count(2)
    wait(page)
    expect(page.locator(".branches .end")).to_have_count(2)
