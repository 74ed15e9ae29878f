"""The KV cache at one step: what it holds and costs, against the model's own caches."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer_core as tc
from tests.pages.conftest import EXAMPLES, PROMPTS, words_of
from tests.pages.explore.decoding.decoding_parts import (
    arrays_of,
    cells,
    check_redrawn,
    figure,
    files_of,
    loaded,
    opened,
)
from transformer_core.decoding.cache import KeyValueCache

pytestmark = pytest.mark.usefixtures("three_kinds_here")
PART = "cache"
STEP = 3


def facts_of(app: Any) -> dict[str, str]:
    return dict(re.findall(r"<div><span>(.*?)</span>(.*?)</div>", words_of(app)))


@torch.inference_mode()
def check_sizes(app: AppTest, model: tc.Transformer, src: torch.Tensor, tokens: torch.Tensor) -> None:
    """The sizes that are shown are those of the cache that a forward over these tokens fills."""
    cache = KeyValueCache(model.config.n_decoder_layers)
    model.decode(tokens, model.encode(src), src, cache)
    of_self = sum(block.self_attn.written.nbytes for block in cache.blocks)
    of_source = sum(part.nbytes for block in cache.blocks for part in block.cross_attn.complete or ())
    sizes = {
        "cache size": of_self + of_source,
        "of which source (fixed)": of_source,
        "size per token": of_self / tokens.shape[1],
    }
    shown = facts_of(app)
    for name, n_bytes in sizes.items():
        assert float(shown[name].removesuffix(" KiB")) == pytest.approx(n_bytes / 1024, abs=0.051)


@torch.inference_mode()
def test_bytes_and_cells_are_those_of_the_models_own_cache(three_kinds: Path):
    app, (model, _, src) = opened(PART, model="en-fr", text=EXAMPLES[0], step=STEP), loaded(three_kinds)
    tokens = tc.greedy_decode(model, src, max_new_tokens=STEP).tokens
    check_sizes(app, model, src, tokens)
    facts = facts_of(app)
    assert "×" in facts["without a cache"] and facts["step time"].endswith(" ms")
    drawn = figure(app, "decoding-cache")
    source, read = (trace for trace in drawn.data if trace.type == "heatmap")
    np.testing.assert_array_equal(cells(drawn)[:2], [[0] * src.shape[1], [2] * src.shape[1]])
    assert len(source.customdata) == 4 and len(read.customdata[0]) == STEP + 1


def test_a_prompt_is_read_at_once(three_kinds: Path):
    tokenizer = tc.load(three_kinds / "tales")[1]
    n_given = len(tokenizer.encode_for(PROMPTS[0], "decoder_only"))
    app = opened(PART, model="tales", text=PROMPTS[0], step=0)
    assert f"({n_given} tokens in one forward pass)" in facts_of(app)["step time"]
    np.testing.assert_array_equal(cells(figure(app, "decoding-cache")), [[1] * n_given, [3] * n_given])
    assert "(1.0×)" in facts_of(app)["without a cache"]
    assert not any("source" in name for name in facts_of(app))


def test_what_ends_a_text_is_not_read(three_kinds: Path):
    tokenizer = tc.load(three_kinds / "en-fr")[1]
    app = opened(PART, model="en-fr", text=EXAMPLES[0], step=2, branches=f"5.!{tokenizer.eos_id}")
    *_, read = (trace for trace in figure(app, "decoding-cache").data if trace.type == "heatmap")
    assert len(read.customdata[0]) == 2  # <bos> and one token


def test_the_saved_lines_give_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    app = opened(PART, model="en-fr", text=EXAMPLES[0], step=STEP)
    (mark,) = figure(app, "decoding-cost").layout.shapes
    assert mark.x0 == STEP
    arrays = arrays_of(files_of(app, "decoding-cost"))
    defined = check_redrawn(app, "decoding-cost", tmp_path, monkeypatch)
    for name in ("cached", "uncached"):
        np.testing.assert_array_equal(defined[name], arrays[name])
    facts = facts_of(app)
    assert facts["multiply-adds"] == f"{arrays['cached'][STEP]:,}"
    assert facts["without a cache"].startswith(f"{arrays['uncached'][STEP]:,} ")
    check_redrawn(app, "decoding-cache", tmp_path, monkeypatch)
    assert list(arrays_of(files_of(app, "decoding-cache"))["state"]) == ["stored"] * STEP + ["new"]
