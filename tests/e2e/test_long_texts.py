"""A text of 4,096 tokens in a real Chromium: an overview of each head, and exact cells wherever a person looks."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

import transformer_core as tc
from pages.shared.readings import MAX_NEW_TOKENS, MAX_TOKENS
from pages.shared.view import long_texts
from pages.shared.view.fields import Span, window, window_in_words
from tests.e2e.browser import Server, serve
from tests.e2e.test_heads import open_heads, view_of
from tests.pages.conftest import PROMPTS, save_model
from transformer_core.analysis.heads.picture import MOST_CELLS

pytestmark = pytest.mark.browser

LAYER, HEAD = 1, 2
ENDS = """() => {
  const { rows, columns } = document.querySelector(".figure").view.grid;
  return [rows, columns].map((starts) => ({ n: starts.length - 1, first: starts[0], end: starts.at(-1) }));
}"""  # of the heatmap: how many rows and columns, and which places they stand for
CELLS = """() => document.querySelector(".plot").data
  .findLast(({ type }) => type === "heatmap").z.map((row) => Array.from(row))"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of eight heads that goes on with texts of up to 4,096 tokens."""
    folder = tmp_path_factory.mktemp("checkpoints")
    save_model(
        folder / "tales",
        n_layers=2,
        n_heads=4,
        title="Long tales",
        examples=PROMPTS,
        architecture="decoder_only",
        kind="byte_bpe",
        max_seq_len=MAX_TOKENS,
    )
    return folder


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Server]:
    """The app over this model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "HEADLIGHT_CHECKPOINTS", str(place))
        with serve() as server:
            yield server


@pytest.fixture(scope="module")
def text() -> str:
    """More than the model can read."""
    drawn = np.random.default_rng(0).choice("The cat dog sees it because was tired didn't".split(), 3000)
    return " ".join(drawn.tolist())


def open_text(page: Page, text: str, **more: str) -> None:
    """Open the link to a head on a text."""
    head = {"attention": "decoder", "layer": str(LAYER), "head": str(HEAD)}
    open_heads(page, f"/heads?{urlencode({'packed': long_texts.packed(text)} | head | more)}")


def check_cells(page: Page, place: Path, text: str, spans: tuple[Span, Span]) -> None:
    """Compare the cells of a window with the model's own pattern: no query looks at what stands behind it."""
    model, tokenizer = tc.load(place / "tales")
    (first_query, last_query), (first_key, last_key) = spans
    ids = tokenizer.encode_for(text, "decoder_only")[: last_query + 1]
    site = f"decoder.blocks.{LAYER}.self_attn.hook_pattern"
    with torch.inference_mode(), tc.capture(model, site) as acts:
        model(torch.tensor([ids]))
    pattern = acts[site][0, HEAD, first_query:, : last_key + 1].numpy()
    allowed = np.tri(len(ids), last_key + 1, dtype=bool)[first_query:]
    expected = np.where(allowed, pattern, np.nan)[:, first_key:]
    np.testing.assert_allclose(np.array(page.evaluate(CELLS)), expected, atol=1e-5)


def test_all_heads_are_drawn_and_a_box_is_drawn_larger(page: Page, place: Path, text: str):
    open_text(page, text)
    expect(page.locator("button.head")).to_have_count(8)
    n_read = MAX_TOKENS - MAX_NEW_TOKENS
    expect(page.locator(".hl-note")).to_contain_text(f"its first {n_read} tokens were read")
    for side in page.evaluate(ENDS):
        assert side["n"] == MOST_CELLS and side["first"] == 0
        assert n_read < side["end"] <= MAX_TOKENS  # what the model wrote is in it
    assert not np.isnan(np.tril(page.evaluate(CELLS))).any()

    box = page.locator(".plot .nsewdrag").bounding_box()
    assert box is not None
    left, top = box["x"] + 0.03 * box["width"], box["y"] + 0.05 * box["height"]
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move(left + 0.04 * box["width"], top + 0.04 * box["height"], steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile("[?&]window="))
    spans = window(view_of(page)["window"])
    page.wait_for_function(f"() => ({ENDS})()[0].first === {spans[0][0]}")
    sizes = [(last - first + 1, first, last + 1) for first, last in spans]
    assert [(side["n"], side["first"], side["end"]) for side in page.evaluate(ENDS)] == sizes
    assert all(100 < n < 250 for n, _, _ in sizes)
    check_cells(page, place, text, spans)


def test_a_link_to_a_window_opens_its_exact_cells(page: Page, place: Path, text: str):
    spans = ((300, 339), (275, 309))
    open_text(page, text, window=window_in_words(spans))
    assert [(side["n"], side["first"]) for side in page.evaluate(ENDS)] == [(40, 300), (35, 275)]
    check_cells(page, place, text, spans)
    box = page.locator(".plot .nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 10.5 / 35, box["y"] + box["height"] * 3.5 / 40)
    words = page.locator(".plot .hoverlayer text")
    expect(words).to_have_text(re.compile(r"query 303 .* → key 285 .*: [01]\.\d\d"))
