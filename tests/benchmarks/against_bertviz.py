"""All heads of a model as large as GPT-2 on 128 tokens: what reaches the browser, beside BertViz's `model_view`.

Both show the same attention, a decoder's, and BertViz besides that of an encoder, which has no zeros to be written
short. Ours is counted in a real Chromium: every frame of the websocket, unpacked, from Enter behind a text until all
heads are drawn. Of BertViz it is the page that `model_view` returns; what this page loads from elsewhere is not
counted. The times are those of making it from patterns that are there, in this process.
"""

from collections.abc import Sequence
from importlib import import_module
from statistics import median

import torch
from playwright.sync_api import sync_playwright

import transformer_core as tc
from pages.explore import overviews
from pages.shared import readings
from tests.benchmarks.explore_in_browser import Asked, Visitor
from tests.benchmarks.interleaved import Row, interleaved, percentile_95, speed_up
from tests.benchmarks.wide_model import NAME, checkpoints, text_of, wide_model
from tests.e2e.browser import launch, serve
from transformer_core import analysis

TITLE = "12 x 12 heads of 128 tokens, to the browser, against BertViz's model_view (goal: a fortieth of its bytes)"
N_TOKENS = 128


def run() -> list[Row]:
    """Time what is made here in turn, and count what arrives."""
    with wide_model() as (folder, tokenizer):
        text = text_of(tokenizer, N_TOKENS)
        model, _ = tc.load(folder / NAME)
        model_run = analysis.run_text(
            model, tokenizer, text, max_tokens=N_TOKENS, max_new_tokens=readings.MAX_NEW_TOKENS
        )
        patterns = torch.from_numpy(model_run.patterns["decoder"])  # [layer, head, query, key]
        times = interleaved(
            {"ours": lambda: overviews.of(model_run), "BertViz": lambda: model_view(patterns, model_run.target)},
            rounds=4,
            warm_up=1,
        )
        with checkpoints(folder):
            ours = asked(text)
    without_zeros = torch.randn(patterns.shape, generator=torch.Generator().manual_seed(0)).softmax(dim=-1)
    theirs, of_encoder = (model_view(shown, model_run.target) for shown in (patterns, without_zeros))
    notes = {
        "ours": f"{ours.sent_until_drawn / 1e6:.2f} MB, 1/{theirs / ours.sent_until_drawn:.0f} of BertViz's; "
        f"{ours.sent_in_all / 1e6:.2f} MB with the large heatmap, 1/{theirs / ours.sent_in_all:.0f}",
        "BertViz": f"{theirs / 1e6:.1f} MB, of an encoder's patterns {of_encoder / 1e6:.1f} MB; "
        f"ours is made {speed_up(times['BertViz'], times['ours']):.0f} times as fast",
    }
    return [
        Row(name=name, median_ms=median(taken), slowest_ms=percentile_95(taken), note=notes[name])
        for name, taken in times.items()
    ]


def model_view(patterns: torch.Tensor, tokens: Sequence[str]) -> int:
    """Return how many bytes BertViz's page of all heads has."""
    bertviz = import_module("bertviz")  # which has no types
    page = bertviz.model_view([layer[None] for layer in patterns], [*tokens], html_action="return")
    return len(page.data.encode())


def asked(text: str) -> Asked:
    """Ask for the overview of a text in a Chromium."""
    with sync_playwright() as playwright, serve() as server:
        browser = launch(playwright)
        found = Visitor(browser, server).ask(text)
        browser.close()
    return found
