"""A text of 4,096 tokens in a real Chromium: an overview of each head, and exact cells wherever a person looks."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import torch
from playwright.sync_api import Page, expect

import transformer_core as tc
from headlight.analysis.heads.picture import MOST_CELLS
from pages.shared.readings import MAX_NEW_TOKENS, MAX_TOKENS
from pages.shared.view import long_texts
from pages.shared.view.fields import Span, window, window_in_words
from tests.e2e.looking import box_of, cell_at, parameters
from tests.e2e.test_heads import open_heads
from tests.pages.conftest import PROMPTS, save_model

LAYER, HEAD = 1, 2
ENDS = """() => {
  const { rows, columns } = document.querySelector(".figure").view.grid;
  return [rows, columns].map((starts) => ({ n: starts.length - 1, first: starts[0], end: starts.at(-1) }));
}"""  # of the heatmap: how many rows and columns, and which places they stand for
CELLS = """() => document.querySelector(".plot").data
  .findLast(({ type }) => type === "heatmap").z.map((row) => Array.from(row))"""


def open_text(page: Page, text: str, **more: str) -> None:
    """Open the link to a head on a text."""
    head = {"model": "long-tales", "attention": "decoder", "layer": str(LAYER), "head": str(HEAD)}
    open_heads(page, f"/heads?{urlencode({'packed': long_texts.packed(text)} | head | more)}")


def check_cells(page: Page, tales: Path, text: str, spans: tuple[Span, Span]) -> None:
    """Compare the cells of a window with the model's own pattern: no query attends to later positions."""
    model, tokenizer = tc.load(tales)
    (first_query, last_query), (first_key, last_key) = spans
    ids = tokenizer.encode_for(text, "decoder_only")[: last_query + 1]
    site = f"decoder.blocks.{LAYER}.self_attn.hook_pattern"
    with torch.inference_mode(), tc.capture(model, site) as acts:
        model(torch.tensor([ids]))
    pattern = acts[site][0, HEAD, first_query:, : last_key + 1].numpy()
    allowed = np.tri(len(ids), last_key + 1, dtype=bool)[first_query:]
    expected = np.where(allowed, pattern, np.nan)[:, first_key:]
    np.testing.assert_allclose(np.array(page.evaluate(CELLS)), expected, atol=1e-5)


def test_all_heads_are_drawn_and_a_box_and_a_link_show_exact_cells(page: Page, place: Path):
    tales = place / "checkpoints" / "long-tales"
    sizes: dict[str, Any] = {"n_layers": 2, "n_heads": 4, "max_seq_len": MAX_TOKENS}
    save_model(tales, title="Long tales", examples=PROMPTS, architecture="decoder_only", kind="byte_bpe", **sizes)
    words = "The cat dog sees it because was tired didn't".split()
    text = " ".join(np.random.default_rng(0).choice(words, 3000).tolist())  # more than the model can read
    open_text(page, text)
    expect(page.locator("button.head")).to_have_count(8)
    n_read = MAX_TOKENS - MAX_NEW_TOKENS
    expect(page.locator(".hl-note")).to_contain_text(f"its first {n_read} tokens were read")
    for side in page.evaluate(ENDS):
        assert side["n"] == MOST_CELLS and side["first"] == 0
        assert n_read < side["end"] <= MAX_TOKENS  # what the model wrote is in it
    assert not np.isnan(np.tril(page.evaluate(CELLS))).any()

    box = box_of(page.locator(".plot .nsewdrag").first)
    left, top = box["x"] + 0.03 * box["width"], box["y"] + 0.05 * box["height"]
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move(left + 0.04 * box["width"], top + 0.04 * box["height"], steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile("[?&]window="))
    spans = window(parameters(page)["window"])
    page.wait_for_function(f"() => ({ENDS})()[0].first === {spans[0][0]}")
    drawn = [(side["n"], side["first"], side["end"]) for side in page.evaluate(ENDS)]
    assert drawn == [(last - first + 1, first, last + 1) for first, last in spans]
    assert all(100 < n < 250 for n, _, _ in drawn)
    check_cells(page, tales, text, spans)

    spans = ((300, 339), (275, 309))
    open_text(page, text, window=window_in_words(spans))
    assert [(side["n"], side["first"]) for side in page.evaluate(ENDS)] == [(40, 300), (35, 275)]
    check_cells(page, tales, text, spans)
    page.mouse.move(*cell_at(page.locator(".plot").first, 3, 10, 40, 35))
    expect(page.locator(".plot .hoverlayer text")).to_have_text(re.compile(r"query 303 .* → key 285 .*: [01]\.\d\d"))
