"""The candidates in a real Chromium, on a page of their own: bars, sliders, and what the server hears of them."""

import re
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser import Server
from tests.e2e.gallery.candidates import logits_of
from tests.e2e.gate import Gate
from transformer_core.decoding.sampling import draw, next_log_probs
from transformer_core.decoding.settings import Sampling

pytestmark = pytest.mark.browser

TOP = dict(zip(("temperature", "top_k", "top_p", "min_p"), ("Temperature", "Top-k", "Top-p", "Min-p"), strict=True))


@pytest.fixture
def server_url(gallery: Server) -> str:
    """The components, each on a page of its own."""
    return gallery.url


def open_page(page: Page, address: str = "/candidates") -> Locator:
    page.goto(address)
    expect(rows(page).first).to_be_visible()
    return page.locator(".candidates")


def rows(page: Page) -> Locator:
    """All bars that are shown."""
    return page.locator(".row:visible")


def slider(page: Page, name: str) -> Locator:
    return page.get_by_role("slider", name=TOP[name], exact=True)


def field(page: Page, name: str) -> Locator:
    return page.get_by_role("spinbutton", name=f"{TOP[name]}, as a number")


def told(page: Page, words: str) -> None:
    """Wait until the server has taken this."""
    expect(page.get_by_text(re.compile(rf"^moment \d+, token .*{re.escape(words)}"))).to_be_visible()


def tokens(page: Page) -> list[int]:
    return [int(row.get_attribute("data-token") or -1) for row in rows(page).all()]


def numbers(page: Page, name: str) -> list[float]:
    """The lengths of the bars: "own" for the model's, "now" for the settings'."""
    read = f"it => it.map(row => Number(row.style.getPropertyValue('--{name}')))"
    return rows(page).evaluate_all(read)


def type_in(page: Page, name: str, value: str) -> None:
    field(page, name).fill(value)
    field(page, name).press("Enter")


def test_both_probabilities_are_those_of_the_logits_and_a_moved_slider_draws_at_once(page: Page):
    shown = open_page(page)
    logits = torch.from_numpy(logits_of("small"))
    log_probs = logits.log_softmax(dim=-1)
    expect(rows(page)).to_have_count(12)
    raw = log_probs.exp()[tokens(page)].tolist()
    assert raw == sorted(raw, reverse=True) and max(raw) == pytest.approx(float(log_probs.exp().max()))
    assert numbers(page, "own") == pytest.approx(raw, abs=1e-6)
    assert numbers(page, "now") == pytest.approx(raw, abs=1e-6)
    first = rows(page).first
    outline, track = (first.locator(it).bounding_box() for it in (".outline", ".track"))
    assert outline is not None and track is not None
    assert outline["width"] / track["width"] == pytest.approx(raw[0], abs=0.01)
    entropy = torch.distributions.Categorical(logits=log_probs).entropy()
    facts = f"Entropy: {entropy:.2f} nats raw, {entropy:.2f} with these settings."
    expect(shown.locator(".facts")).to_contain_text(facts)
    expect(shown.locator(".facts")).to_contain_text("59 of 60 tokens kept")  # one is never written
    kept = first.element_handle()
    box = slider(page, "temperature").bounding_box()
    assert box is not None
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, height)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.25, height, steps=4)
    temperature = float(field(page, "temperature").input_value())
    assert 0.3 < temperature < 0.7
    wanted = next_log_probs(logits, (), Sampling(temperature=temperature)).exp()[tokens(page)].tolist()
    assert numbers(page, "now") == pytest.approx(wanted, abs=1e-5)
    assert numbers(page, "own") == pytest.approx(raw, abs=1e-6)
    told(page, "temperature=1.0")  # nobody was asked
    expect(shown.locator(".mark:visible")).to_have_count(0)
    page.mouse.up()
    told(page, f"temperature={temperature}")
    expect(shown.locator(".mark:visible")).to_have_count(1)
    assert float(field(page, "temperature").input_value()) == temperature
    assert kept is not None and kept.evaluate("(it, row) => it === row", first.element_handle())


def test_the_mark_is_on_what_the_server_takes_next_and_keys_typing_and_buttons_set_each_setting(page: Page):
    shown = open_page(page)
    logits = torch.from_numpy(logits_of("small"))
    type_in(page, "temperature", "2")
    told(page, "temperature=2.0")
    wanted = draw(next_log_probs(logits, (), Sampling(temperature=2)), seed=3, position=0)
    marked = shown.locator(".row.next:visible")
    expect(marked).to_have_attribute("data-token", str(wanted))
    type_in(page, "temperature", "0")
    expect(marked).to_have_attribute("data-token", str(int(logits.argmax())))
    expect(shown.locator(".facts .kept")).to_have_text("1 of 60 tokens kept.")
    assert numbers(page, "now")[0] == 1 and sum(numbers(page, "now")) == 1
    type_in(page, "temperature", "1")
    top_k = slider(page, "top_k")
    expect(top_k).to_have_attribute("aria-valuetext", "off")
    top_k.press("Home")
    expect(top_k).to_have_attribute("aria-valuetext", "1")
    expect(shown.locator(".facts .kept")).to_contain_text("1 of 60")
    for k in range(2, 8):  # each key press is another number
        top_k.press("ArrowRight")
        expect(field(page, "top_k")).to_have_value(str(k))
    told(page, "top_k=7")
    held = float(logits.softmax(dim=-1).topk(7).values.sum())
    expect(shown.locator(".facts .kept")).to_have_text(f"7 of 60 tokens kept, with {held:.2f} of the probability.")
    top_k.press("End")
    told(page, "top_k=0")
    expect(field(page, "top_k")).to_have_value("")
    type_in(page, "top_k", "500")  # more than there are
    told(page, "top_k=500")
    expect(shown.locator(".facts .kept")).to_have_text("59 of 60 tokens kept.")
    type_in(page, "top_p", "0")
    expect(field(page, "top_p")).to_have_value("1")
    type_in(page, "min_p", "0.25")
    told(page, "min_p=0.25")
    page.get_by_role("button", name="Reset Min-p to 0").click()
    told(page, "min_p=0.0")
    expect(field(page, "min_p")).to_have_value("0")
    expect(page.get_by_role("button", name="Reset Min-p to 0")).to_be_hidden()


def test_a_click_or_enter_writes_a_token_instead_and_more_are_shown_in_the_same_room(page: Page):
    shown = open_page(page)
    chosen = tokens(page)[4]
    rows(page).nth(4).click()
    expect(page.get_by_text(f"moment 1, token {chosen},")).to_be_visible()
    rows(page).first.focus()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    expect(rows(page).nth(2)).to_be_focused()
    chosen = tokens(page)[2]
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"moment 2, token {chosen},")).to_be_visible()
    expect(rows(page).nth(2)).to_be_focused()
    before = shown.bounding_box()
    page.get_by_role("button", name="Show 28 more").click()
    expect(rows(page)).to_have_count(40)
    assert shown.bounding_box() == before
    page.get_by_role("button", name="Show fewer").click()
    expect(rows(page)).to_have_count(12)
    rows(page).nth(1).hover()
    label = rows(page).nth(1).locator(".label").inner_text()
    expect(shown.locator(".says")).to_contain_text(f"'{label}', rank 1: raw 0.")
    page.mouse.move(0, 0)
    expect(shown.locator(".says")).to_contain_text("Point at a token")


def test_before_the_server_answers_nothing_is_marked_and_two_clicks_are_one_choice(page: Page, tmp_path: Path):
    gate = Gate(tmp_path)
    shown = open_page(page, f"/candidates?gate={gate.path}")
    marks = shown.locator(".mark:visible")
    expect(marks).to_have_count(1)
    gate.close()
    type_in(page, "top_p", "0.8")
    expect(marks).to_have_count(0)
    type_in(page, "temperature", "0")
    expect(marks).to_have_count(1)
    type_in(page, "temperature", "0.6")
    expect(marks).to_have_count(0)
    gate.open()
    expect(marks).to_have_count(1)
    told(page, "temperature=0.6, top_k=0, top_p=0.8")
    expect(field(page, "temperature")).to_have_value("0.6")
    expect(field(page, "top_p")).to_have_value("0.8")
    gate.close()
    rows(page).nth(1).click()
    rows(page).nth(2).click()
    gate.open()
    expect(page.get_by_text(re.compile(r"^moment 1, token \d+,"))).to_be_visible()
    type_in(page, "top_p", "0.9")  # what is asked for later is answered later
    told(page, "top_p=0.9")
    expect(page.get_by_text(re.compile(r"^moment 1, token \d+,"))).to_be_visible()


def test_nothing_is_cut_off_where_the_window_is_narrow_and_two_tokens_have_no_button_for_more(page: Page):
    shown = open_page(page, "/candidates?size=large")
    for width in (1024, 720, 360):
        page.set_viewport_size({"width": width, "height": 800})
        assert shown.evaluate("it => it.scrollWidth <= it.clientWidth"), width
        for name in TOP:
            expect(slider(page, name)).to_be_visible()
        assert rows(page).evaluate_all("it => it.every((row) => row.scrollWidth <= row.clientWidth)"), width
    open_page(page, "/candidates?size=tiny")
    expect(rows(page)).to_have_count(2)
    expect(rows(page).first.locator(".label")).to_have_text("<b>bold</b>")  # of two equal ones the higher token
    expect(shown.get_by_role("button", name="Show")).to_have_count(0)
