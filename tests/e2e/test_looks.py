"""Every page with every shipped model and odd texts, seen: nothing overlaps, is cut off, or says other numbers."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Page

import transformer_core as tc
from tests.e2e.browser import ROOT
from tests.e2e.looking import faults, type_text, view_of, wait

pytestmark = pytest.mark.browser

MODELS = ("en-fr", "dates", "stories", "induction", "fill-in")
TEXTS = (  # the first two give figures of one size, in which only the words change
    "The cat sees the dog.",
    "The dog sees the cat.",
    "moon",
    "One day the small old man saw the big black cat near the long wide river, and then they both went home because "
    "it was late and too dark to see.",
    "He said: 👩‍👩‍👧 42 <b>7/11/1999</b> & “ça” …",
    "القطة لم تعبر الشارع",
)
BLOCKS = [f"block={block}&show=text" for block in ("decoder.embed", "decoder.1.self_attn", "decoder.1.mlp", "unembed")]
PARTS = {  # what else a page can show of a text
    "steps": [f"stage={stage}" for stage in ("scores", "softmax", "z", "norm_1", "feed_forward")],
    "masks": [f"part={part}" for part in ("which", "inference", "leak")],
    "positions": [f"part={part}" for part in ("waves", "products", "shift", "model")],
    "architecture": ["part=parameters", "part=cost", "part=stream", "show=weights", "show=text", "show=code", *BLOCKS],
    "heads": ["as=lines", "measure=entropy", "across=rollout", "query=1&key=0"],
    "decoding": [f"part={part}" for part in ("alignment", "tree", "beams", "cache", "led")],
    "compare": [],
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("address", PARTS)
def test_odd_texts(address: str, model: str, page: Page):
    page.goto(f"/{address}?model={model}")
    wait(page)
    seen = {"as it opens": faults(page)}
    for text in TEXTS:
        type_text(page, text)
        seen[text] = faults(page)
        if address == "heads":
            seen[text] += wrong_numbers(page, model, text)
    assert not any(seen.values()), _in_words(seen)


@pytest.mark.parametrize("model", ["en-fr", "stories"])
@pytest.mark.parametrize("address", [address for address, parts in PARTS.items() if parts])
def test_every_part_of_a_page(address: str, model: str, new_page: Callable[..., Page]):
    """On a small screen, in the dark."""
    page = new_page(viewport={"width": 1024, "height": 768}, color_scheme="dark")
    seen = {}
    for part in PARTS[address]:
        page.goto(f"/{address}?model={model}&{part}")
        wait(page)
        seen[part] = faults(page)
    assert not any(seen.values()), _in_words(seen)


@pytest.mark.parametrize("width", [1440, 1024])
def test_pages_without_a_text(width: int, new_page: Callable[..., Page]):
    page = new_page(viewport={"width": width, "height": 900})
    chapters = [
        f"tour?lesson={path.stem.partition('-')[2]}" for path in sorted((ROOT / "pages/learn/lessons/en").glob("*.md"))
    ]
    seen = {}
    for address in (*chapters, "train", "film", "models"):
        page.goto(f"/{address}")
        wait(page)
        seen[address] = faults(page)
        assert "There is no lesson" not in page.inner_text("body"), address
    assert not any(seen.values()), _in_words(seen)


def wrong_numbers(page: Page, model: str, text: str) -> list[str]:
    """Return in words where the large map differs from what the model, run here, says of that head."""
    view = view_of(page)
    maps: list[list[list[float | None]]] = page.locator(
        ".js-plotly-plot"
    ).first.evaluate(  # behind the values lies what the mask forbids
        "plot => plot.data.filter(trace => trace.type === 'heatmap').map(trace => trace.z.map(row => [...row]))"
    )
    shown = np.array([[np.nan if cell is None else cell for cell in row] for row in maps[-1]], dtype=float)
    true = pattern_of(model, text, view["attention"], int(view["layer"]), int(view["head"]), shown.shape[0])
    if shown.shape != true.shape:
        return [f"the map of {view} is {shown.shape}, the pattern {true.shape}"]
    wrong = float(np.abs(np.nan_to_num(shown) - true).max())  # what the mask forbids has no number, and 0 weight
    return [f"the map of {view} is wrong by {wrong:.2g}"] if wrong > 1e-4 else []


@cache
def loaded(model: str) -> tuple[Any, Any]:
    return tc.load(ROOT / "checkpoints" / model)


@torch.inference_mode()
def pattern_of(model: str, text: str, attention: str, layer: int, head: int, n_queries: int) -> np.ndarray:
    """Return a head's pattern, from a capture of our own; what the model writes is written here greedily."""
    transformer, tokenizer = loaded(model)
    config = transformer.config
    ids = tokenizer.encode_for(text, config.architecture)
    if len(ids) > config.max_seq_len:  # the rest is not read, but for the token that ends a text
        ids = ids[: config.max_seq_len]
        ids[-1] = ids[-1] if config.architecture == "decoder_only" else tokenizer.eos_id
    tokens = torch.tensor([ids])
    stack, name = {"encoder": ("encoder", "self_attn"), "decoder": ("decoder", "self_attn")}.get(
        attention, ("decoder", "cross_attn")
    )
    site = f"{stack}.blocks.{layer}.{name}.hook_pattern"
    with tc.capture(transformer, site) as acts:
        if config.architecture == "encoder_decoder":
            target = tc.greedy_decode(transformer, tokens).tokens
            transformer(tokens, target[:, :n_queries] if attention != "encoder" else target[:, :1])
        elif config.architecture == "decoder_only":
            written = tc.greedy_decode(transformer, tokens, max_new_tokens=max(1, n_queries - tokens.shape[1])).tokens
            transformer(written[:, :n_queries])
        else:
            transformer(tokens)
    return acts[site][0, head].numpy()


def _in_words(seen: dict[str, list[str]]) -> str:
    return "\n".join(f"{what!r}: {fault}" for what, found in seen.items() for fault in found[:6])
