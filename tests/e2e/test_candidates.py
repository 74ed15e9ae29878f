"""The candidates in a real Chromium, on a page of their own: bars, sliders, and the arithmetic between them."""

import base64
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.browser import ROOT, Server
from tests.e2e.gallery.candidates import logits_of
from tests.e2e.gate import Gate
from transformer_core.decoding.sampling import draw, next_log_probs
from transformer_core.decoding.settings import Sampling

pytestmark = pytest.mark.browser

ARITHMETIC = ROOT / "pages/explore/decoding/components/candidates/sampling.js"
TOP = dict(zip(("temperature", "top_k", "top_p", "min_p"), ("Temperature", "Top-k", "Top-p", "Min-p"), strict=True))


@pytest.fixture
def server_url(gallery: Server) -> str:
    """The components, each on a page of its own."""
    return gallery.url


# The arithmetic

IMPORT = """async (text) => {
  window.arithmetic = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
}"""
ASK = """([scores, asked]) => {
  const floats = (text) => new Float32Array(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  const ordered = floats(scores);
  const found = asked.map((sampling) => {
    const left = arithmetic.leave(ordered, sampling);
    return { ...left, weights: Float64Array.from(ordered, (_, place) => arithmetic.shareOf(left, place)) };
  });
  const bytes = new Uint8Array(ordered.length * found.length * 8);
  found.forEach(({ weights }, i) => bytes.set(new Uint8Array(weights.buffer), i * weights.byteLength));
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return { shares: btoa(text), rest: found.map(({ first, end, entropy, held }) => ({ first, end, entropy, held })) };
}"""
KINDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "ordinary": lambda rng, n: rng.normal(0, 3, n),
    "flat": lambda rng, n: rng.normal(0, 0.2, n),
    "ties": lambda rng, n: rng.normal(0, 2, n).round(),
    "even": lambda rng, n: np.zeros(n),
    "some never written": lambda rng, n: np.where(rng.random(n) < 0.3, -np.inf, rng.normal(0, 3, n)),
    "one alone": lambda rng, n: np.where(np.arange(n) == n // 3, 1.5, -np.inf),
}


@pytest.fixture(scope="module")
def reckon(browser: Browser) -> Iterator[Callable[..., tuple[np.ndarray, list[dict[str, Any]]]]]:
    """Does the browser's arithmetic: probabilities by token for each setting, and the rest that is known of it."""
    page = browser.new_page()
    page.evaluate(IMPORT, ARITHMETIC.read_text(encoding="utf-8"))

    def ask(logits: torch.Tensor, settings: list[Sampling]) -> tuple[np.ndarray, list[dict[str, Any]]]:
        order = np.argsort(logits.numpy(), kind="stable")[::-1]
        asked = [{name: getattr(sampling, name) for name in TOP} for sampling in settings]
        found = page.evaluate(ASK, [base64.b64encode(logits.numpy()[order].tobytes()).decode(), asked])
        shares = np.frombuffer(base64.b64decode(found["shares"])).reshape(len(settings), -1)
        by_token = np.empty_like(shares)
        by_token[:, order] = shares
        return by_token, found["rest"]

    yield ask
    page.close()


def settings(top_ks: tuple[int, ...]) -> list[Sampling]:
    grid = itertools.product((0, 0.05, 0.7, 1, 2), top_ks, (1, 0.913, 0.507, 0.011), (0, 0.05, 0.5, 1))
    return [Sampling(temperature=t, top_k=k, top_p=p, min_p=m) for t, k, p, m in grid]


@pytest.mark.parametrize("kind", KINDS)
def test_the_browser_leaves_what_next_log_probs_leaves(reckon: Callable[..., Any], kind: str):
    n = 300
    logits = torch.from_numpy(KINDS[kind](np.random.default_rng(3), n).astype(np.float32))
    asked = settings((0, 1, 7, n, 5 * n))
    shares, rest = reckon(logits, asked)
    for sampling, found, more in zip(asked, shares, rest, strict=True):
        wanted = next_log_probs(logits, (), sampling)
        probs = wanted.double().exp().numpy()
        assert more["end"] - more["first"] == int(wanted.isfinite().sum()), sampling
        np.testing.assert_array_equal(found > 0, probs > 0, err_msg=str(sampling))
        np.testing.assert_allclose(found, probs, rtol=2e-4, atol=1e-30, err_msg=str(sampling))
        some = probs[probs > 0]
        assert more["entropy"] == pytest.approx(-float((some * np.log(some)).sum()), abs=1e-4), sampling
        without_filters = next_log_probs(logits, (), Sampling(temperature=sampling.temperature)).double().exp()
        assert more["held"] == pytest.approx(float(without_filters[wanted.isfinite()].sum()), abs=1e-5), sampling


def test_a_large_vocabulary_comes_out_the_same_but_for_rounding(reckon: Callable[..., Any]):
    logits = torch.from_numpy(logits_of("large"))
    asked = [Sampling(temperature=t, top_k=k, top_p=p) for t in (0.7, 1.5) for k in (0, 400) for p in (1, 0.9, 0.3)]
    shares, _ = reckon(logits, asked)
    for sampling, found in zip(asked, shares, strict=True):
        probs = next_log_probs(logits, (), sampling).double().exp().numpy()
        one_only = (found > 0) != (probs > 0)  # where single precision adds up 50,257 numbers to something else
        assert one_only.sum() <= 3 and found[one_only].sum() + probs[one_only].sum() < 2e-4, sampling
        np.testing.assert_allclose(found, probs, rtol=1e-3, atol=1e-4)


# The page


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


def test_the_most_probable_come_first_with_both_probabilities(page: Page):
    shown = open_page(page)
    log_probs = torch.from_numpy(logits_of("small")).log_softmax(dim=-1)
    expect(rows(page)).to_have_count(12)
    wanted = log_probs.exp()[tokens(page)].tolist()
    assert wanted == sorted(wanted, reverse=True) and max(wanted) == pytest.approx(float(log_probs.exp().max()))
    assert numbers(page, "own") == pytest.approx(wanted, abs=1e-6)
    assert numbers(page, "now") == pytest.approx(wanted, abs=1e-6)
    first = rows(page).first
    expect(first).to_have_accessible_description(re.compile(rf"^'t\d+', rank 0: raw {wanted[0]:.4f} \(.* nats\)"))
    expect(first.locator(".own")).to_have_text(f"{wanted[0]:.2f}")
    outline, track = (first.locator(it).bounding_box() for it in (".outline", ".track"))
    assert outline is not None and track is not None
    assert outline["width"] / track["width"] == pytest.approx(wanted[0], abs=0.01)
    entropy = torch.distributions.Categorical(logits=log_probs).entropy()
    expect(shown.locator(".facts")).to_contain_text(
        f"Entropy: {entropy:.2f} nats raw, {entropy:.2f} with these settings."
    )
    expect(shown.locator(".facts")).to_contain_text("59 of 60 tokens kept")  # one is never written


def test_a_moved_slider_draws_the_bars_at_once_and_tells_the_server_when_let_go(page: Page):
    shown = open_page(page)
    kept = rows(page).first.element_handle()
    box = slider(page, "temperature").bounding_box()
    assert box is not None
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, height)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.25, height, steps=4)
    temperature = float(field(page, "temperature").input_value())
    assert 0.3 < temperature < 0.7
    logits = torch.from_numpy(logits_of("small"))
    wanted = next_log_probs(logits, (), Sampling(temperature=temperature)).exp()[tokens(page)].tolist()
    assert numbers(page, "now") == pytest.approx(wanted, abs=1e-5)
    assert numbers(page, "own") == pytest.approx(logits.softmax(dim=-1)[tokens(page)].tolist(), abs=1e-6)
    told(page, "temperature=1.0")  # nobody was asked
    expect(shown.locator(".mark:visible")).to_have_count(0)
    page.mouse.up()
    told(page, f"temperature={temperature}")
    expect(shown.locator(".mark:visible")).to_have_count(1)
    assert float(field(page, "temperature").input_value()) == temperature
    assert kept is not None and kept.evaluate("(it, row) => it === row", rows(page).first.element_handle())


def test_the_mark_is_on_what_the_server_takes_next(page: Page):
    shown = open_page(page)
    logits = torch.from_numpy(logits_of("small"))
    type_in(page, "temperature", "2")
    told(page, "temperature=2.0")
    wanted = draw(next_log_probs(logits, (), Sampling(temperature=2)), seed=3, position=0)
    marked = shown.locator(".row.next:visible")
    expect(marked).to_have_attribute("data-token", str(wanted))
    expect(marked).to_have_accessible_description(re.compile("chosen next"))
    type_in(page, "temperature", "0")
    expect(marked).to_have_attribute("data-token", str(int(logits.argmax())))
    expect(shown.locator(".facts .kept")).to_have_text("1 of 60 tokens kept.")
    assert numbers(page, "now")[0] == 1 and sum(numbers(page, "now")) == 1


def test_until_the_server_answers_nothing_is_marked_but_at_temperature_0(page: Page, tmp_path: Path):
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


def test_filtered_tokens_are_faint_and_counted(page: Page):
    shown = open_page(page)
    type_in(page, "top_k", "3")
    told(page, "top_k=3")
    out = shown.locator(".row.out:visible")
    expect(out).to_have_count(9)
    expect(out.first.locator(".now")).to_have_text("–")
    expect(out.first).to_have_accessible_description(re.compile("filtered out"))
    assert numbers(page, "now")[3:] == [0] * 9 and sum(numbers(page, "now")) == pytest.approx(1)
    logits = torch.from_numpy(logits_of("small"))
    held = float(logits.softmax(dim=-1).topk(3).values.sum())
    expect(shown.locator(".facts .kept")).to_have_text(f"3 of 60 tokens kept, with {held:.2f} of the probability.")


def test_top_k_goes_from_one_token_to_all_of_them(page: Page):
    shown = open_page(page)
    top_k = slider(page, "top_k")
    expect(top_k).to_have_attribute("aria-valuetext", "off")
    expect(field(page, "top_k")).to_have_value("")
    top_k.press("Home")
    expect(top_k).to_have_attribute("aria-valuetext", "1")
    expect(shown.locator(".facts .kept")).to_contain_text("1 of 60")
    for k in range(2, 8):  # each key press is another number
        top_k.press("ArrowRight")
        expect(field(page, "top_k")).to_have_value(str(k))
    told(page, "top_k=7")
    top_k.press("End")
    told(page, "top_k=0")
    type_in(page, "top_k", "500")  # more than there are
    told(page, "top_k=500")
    expect(shown.locator(".facts .kept")).to_have_text("59 of 60 tokens kept.")
    expect(field(page, "top_k")).to_have_value("500")


def test_what_is_typed_is_taken_only_where_it_can_be(page: Page):
    open_page(page)
    type_in(page, "top_p", "0")
    expect(field(page, "top_p")).to_have_value("1")
    type_in(page, "min_p", "0.25")
    told(page, "min_p=0.25")
    page.get_by_role("button", name="Reset Min-p to 0").click()
    told(page, "min_p=0.0")
    expect(field(page, "min_p")).to_have_value("0")
    expect(page.get_by_role("button", name="Reset Min-p to 0")).to_be_hidden()


def test_a_click_or_enter_writes_a_token_instead(page: Page):
    open_page(page)
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
    page.keyboard.press("End")
    expect(rows(page).last).to_be_focused()
    expect(page.locator(".row[tabindex='0']")).to_have_count(1)


def test_two_clicks_at_one_moment_are_one_choice(page: Page, tmp_path: Path):
    gate = Gate(tmp_path)
    open_page(page, f"/candidates?gate={gate.path}")
    gate.close()
    rows(page).nth(1).click()
    rows(page).nth(2).click()
    gate.open()
    expect(page.get_by_text(re.compile(r"^moment 1, token \d+,"))).to_be_visible()
    type_in(page, "top_p", "0.9")  # what is asked for later is answered later
    told(page, "top_p=0.9")
    expect(page.get_by_text(re.compile(r"^moment 1, token \d+,"))).to_be_visible()


def test_more_tokens_are_shown_when_asked_for(page: Page):
    shown = open_page(page)
    before = shown.bounding_box()
    page.get_by_role("button", name="Show 28 more").click()
    expect(rows(page)).to_have_count(40)
    assert shown.bounding_box() == before
    page.get_by_role("button", name="Show fewer").click()
    expect(rows(page)).to_have_count(12)


def test_pointing_at_a_token_says_its_numbers(page: Page):
    shown = open_page(page)
    says = shown.locator(".says")
    expect(says).to_contain_text("Point at a token")
    rows(page).nth(1).hover()
    label = rows(page).nth(1).locator(".label").inner_text()
    expect(says).to_have_text(re.compile(rf"^'{label}', rank 1: raw 0\.\d{{4}} \(−\d\.\d\d nats\), with these"))
    page.mouse.move(0, 0)
    expect(says).to_contain_text("Point at a token")


def test_markup_in_a_token_is_text(page: Page):
    shown = open_page(page, "/candidates?size=tiny")
    expect(rows(page)).to_have_count(2)
    expect(rows(page).first.locator(".label")).to_have_text("<b>bold</b>")  # of two equal ones the higher token
    assert shown.locator("b").count() == 0
    expect(shown.get_by_role("button", name="Show")).to_have_count(0)


@pytest.mark.parametrize("width", [360, 720, 1024])
def test_nothing_is_cut_off_where_the_window_is_narrow(new_page: Callable[..., Page], width: int):
    page = new_page(viewport={"width": width, "height": 800})
    shown = open_page(page, "/candidates?size=large")
    assert shown.evaluate("it => it.scrollWidth <= it.clientWidth")
    for name in TOP:
        expect(slider(page, name)).to_be_visible()
    assert rows(page).evaluate_all("it => it.every((row) => row.scrollWidth <= row.clientWidth)")
