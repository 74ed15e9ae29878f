"""The page Decoding as a person uses it, in a real Chromium: step, back, fork, beams, sliders, and the address."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

TIRED = "The animal didn't cross the street because it was too tired."
WRITTEN = "l' animal n' a pas traversé la rue parce qu' il était trop fatigué . <eos>".split()


def open_decoding(page: Page, address: str = "/decoding") -> None:
    """Go there, and wait until the tokens are drawn and something may come next."""
    page.goto(address)
    expect(chips(page).first).to_be_visible()
    expect(candidate(page, 0)).to_be_visible()


def chips(page: Page) -> Locator:
    """The tokens of the output, <bos> or the prompt first."""
    return page.locator(".output .chip")


def candidate(page: Page, place: int) -> Locator:
    """A token that may come next."""
    return page.locator(".candidates .row").nth(place)


def words(page: Page) -> Locator:
    """The labels of the output."""
    return page.locator(".output .chip .word")


def is_at(page: Page, n_given: int, n_written: int) -> None:
    """The moment after so many tokens is looked at, by the page and by the server."""
    expect(chips(page).nth(n_given + n_written - 1)).to_have_attribute("aria-current", "true")
    address_says(page, step=str(n_written))


def address_says(page: Page, **wanted: str) -> None:
    """The view is in the address."""
    for name, value in wanted.items():
        expect(page).to_have_url(re.compile(rf"[?&]{name}={value}(&|$)"))


def address(page: Page) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(urlsplit(page.url).query).items()}


def choose_part(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name, exact=True).or_(page.get_by_role("button", name=name, exact=True)).click()


def test_it_opens_where_the_model_hesitates_and_says_what_else_it_could_have_said(page: Page):
    open_decoding(page)
    expect(words(page)).to_have_text(["<bos>", *WRITTEN])
    expect(chips(page).nth(WRITTEN.index("il"))).to_have_attribute("aria-current", "true")  # "il" or "elle"
    expect(page).to_have_url(re.compile("/decoding$"))
    expect(candidate(page, 0)).to_have_accessible_description(re.compile("^'il'"))
    expect(candidate(page, 1)).to_have_accessible_description(re.compile("^'elle'"))
    expect(page.locator(".source .chip .word")).to_have_text([*TIRED.removesuffix(".").split(), ".", "<eos>"])


def test_forward_back_and_to_both_ends(page: Page):
    open_decoding(page, "/decoding?step=3")
    page.get_by_role("button", name="One step forward").click()
    is_at(page, 1, 4)
    page.get_by_role("button", name="One step back").click()
    is_at(page, 1, 3)
    page.get_by_role("button", name="To the end").click()
    is_at(page, 1, len(WRITTEN))
    expect(page.get_by_text("The model ended the text here").first).to_be_visible()
    page.get_by_role("button", name="To the start").click()
    address_says(page, step="0")
    expect(candidate(page, 0)).to_have_accessible_description(re.compile("^'l''"))


def test_the_other_pronoun_changes_the_adjective_and_the_link_opens_the_same(page: Page, new_page: Callable[..., Page]):
    open_decoding(page)
    candidate(page, 1).click()
    expect(words(page)).to_have_text(["<bos>", *WRITTEN[:10], "elle", "était", "trop", "fatiguée", ".", "<eos>"])
    is_at(page, 1, 11)
    choose_part(page, "Branches")
    expect(page.locator(".branches .node.forced .word")).to_have_text("elle")
    expect(page.locator(".branches .node", has_text="fatigué")).to_have_count(2)
    address_says(page, part="tree")

    other = new_page()
    open_decoding(other, page.url)
    is_at(other, 1, 11)
    expect(words(other).nth(14)).to_have_text("fatiguée")
    expect(other.locator(".branches .node.forced .word")).to_have_text("elle")

    page.locator(".branches .node", has_text=re.compile("^il")).first.click()  # back on what was written first
    expect(words(page).nth(14)).to_have_text("fatigué")


DRAWN = """root => ["button.node", ".end", "path"].map((part) => root.querySelectorAll(part).length)"""


def test_a_branch_that_is_deleted_leaves_nothing_behind(page: Page):
    open_decoding(page, "/decoding?part=tree")
    tree = page.locator(".branches")
    expect(tree.locator(".end")).to_have_count(1)
    before = tree.evaluate(DRAWN)
    candidate(page, 1).click()
    expect(tree.locator(".end")).to_have_count(2)
    assert tree.evaluate(DRAWN) == [n + more for n, more in zip(before, (6, 1, 6), strict=True)]  # from "elle" on
    page.get_by_role("button", name="Delete this branch").click()
    expect(tree.locator(".node.forced")).to_have_count(0)
    assert tree.evaluate(DRAWN) == before
    expect(tree.locator(".end .text")).to_contain_text("il était trop fatigué.")


def test_beams_are_drawn_with_those_that_were_dropped(page: Page):
    open_decoding(page, "/decoding?part=beams")
    expect(page.locator(".branches .node.dropped").first).to_be_visible()
    expect(page.locator(".branches .node.kept", has_text="animal").first).to_be_visible()
    page.locator(".branches .node.kept", has_text="elle").first.click()
    expect(words(page).nth(11)).to_have_text("elle")


def test_sliders_redraw_at_once_and_what_was_written_stays(page: Page):
    open_decoding(page)
    now = candidate(page, 1).locator(".now")
    expect(now).to_have_text("–")
    field = page.get_by_role("textbox", name="Temperature, as a number").or_(
        page.get_by_role("spinbutton", name="Temperature, as a number")
    )
    field.fill("2")
    field.press("Enter")
    expect(now).not_to_have_text("–")
    address_says(page, temperature="2")
    expect(words(page).nth(10)).to_have_text("qu'")  # up to here it stays
    assert address(page)["branches"].count(".") == 9


def test_ones_own_words_are_written_and_gone_on_from(page: Page):
    open_decoding(page, "/decoding?model=stories&step=0")
    box = page.get_by_role("textbox", name="Continue with your own text")
    box.fill(" But the dragon")
    box.press("Enter")
    expect(page.locator(".output .chip.forced").first).to_be_visible()
    assert "dragon" in "".join(words(page).all_text_contents()).replace("·", " ")
    page.get_by_role("button", name="One step forward").click()
    expect(candidate(page, 0)).to_be_visible()


def test_a_story_is_played_beyond_what_is_written(page: Page):
    open_decoding(page, "/decoding?model=stories&step=24")
    n_before = chips(page).count()
    page.get_by_label("Speed").select_option(index=3)
    page.get_by_role("button", name="Play").click()
    expect(chips(page).nth(n_before + 20)).to_be_visible()
    page.get_by_role("button", name="Pause").click()


def test_blanks_are_filled_one_by_one(page: Page):
    page.goto("/decoding?model=fill-in")
    page.get_by_role("button", name="Fill next").click()
    expect(page.get_by_role("button", name="Fill next")).to_be_disabled()
    page.get_by_role("button", name="Start over").click()
    expect(page.get_by_role("button", name="Fill next")).to_be_enabled()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("branches=9999999", "9999999 is not in the vocabulary"),
        ("temperature=-1", "it must be"),
        ("branches=a", "the format is up to"),
    ],
)
def test_what_an_address_asks_for_wrongly_is_told_in_a_sentence(page: Page, query: str, said: str):
    page.goto(f"/decoding?{query}")
    expect(page.get_by_text(said)).to_be_visible()
