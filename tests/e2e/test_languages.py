"""The interface in German as a person reads it, in a real Chromium: chosen, taken from the browser, beside others."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.e2e.test_heads import open_heads


def test_the_switch_turns_every_part_of_the_page_and_back_and_what_was_chosen_stays_chosen(page: Page):
    open_heads(page, "/heads?layer=1&head=2")
    expect(page.get_by_role("heading", name="Heads", exact=True)).to_be_visible()
    page.get_by_text("Deutsch", exact=True).click()
    expect(page.get_by_role("heading", name="Köpfe", exact=True)).to_be_visible()
    expect(page.locator(".plot .gtitle")).to_have_text("Attention-Muster: Cross-Attention L1.H2")
    expect(page.get_by_role("button", name=re.compile("^Cross-Attention L0.H1. Am stärksten"))).to_be_visible()
    expect(page.get_by_role("link", name="Vergleichen")).to_be_visible()
    expect(page.get_by_role("button", name="Speichern")).to_have_count(2)  # of the overview, and of the heatmap
    expect(page).to_have_url(re.compile("layer=1&head=2.*language=de"))
    page.get_by_role("button", name=re.compile("^Cross-Attention L0.H1")).click()  # the choices hold
    expect(page.locator(".plot .gtitle")).to_contain_text("L0.H1")
    page.get_by_text("English", exact=True).click()
    expect(page.get_by_role("heading", name="Heads", exact=True)).to_be_visible()
    expect(page.locator(".plot .gtitle")).to_have_text("Attention pattern: cross-attention L0.H1")


def test_two_readers_of_one_text_read_their_own_languages(new_page: Callable[..., Page]):
    german, english = new_page(locale="de-AT"), new_page()
    open_heads(german)
    open_heads(english)  # what the server kept for the first reader serves the second
    for page, attention, layer in (
        (german, "Encoder-Selbst-Attention", "Schicht 0"),
        (english, "Encoder self-attention", "layer 0"),
    ):
        expect(page.locator(".overview h2").first).to_have_text(attention)
        expect(page.locator(".overview .row").first).to_have_text(layer)
    german.get_by_role("button", name=re.compile("^Cross-Attention L0.H1")).click()
    expect(german.locator(".plot .gtitle")).to_have_text("Attention-Muster: Cross-Attention L0.H1")
    assert "language" not in german.url  # it is the browser's, and a link is read by others in theirs
