"""The KV cache at one moment: what it holds and costs, against the model's own caches."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.pages.conftest import EXAMPLES, PROMPTS, words_of
from tests.pages.explore.decoding.decoding_parts import arrays_of, cells, check_redrawn, figure, files_of, opened
from transformer_core.decoding.cache import KeyValueCache

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("three_kinds_here")]
PART = "cache"
STEP = 3


def facts_of(app: Any) -> dict[str, str]:
    return dict(re.findall(r"<div><span>(.*?)</span>(.*?)</div>", words_of(app)))


def kib(text: str) -> float:
    return float(text.removesuffix(" KiB"))


@torch.inference_mode()
def test_bytes_and_cells_are_those_of_the_models_own_cache(three_kinds: Path):
    model, tokenizer = tc.load(three_kinds / "en-fr")
    src = torch.tensor([tokenizer.encode_for(EXAMPLES[0], "encoder_decoder")])
    tokens = tc.greedy_decode(model, src, max_new_tokens=STEP).tokens
    cache = KeyValueCache(2)
    model.decode(tokens, model.encode(src), src, cache)
    of_self = sum(block.self_attn.written.nbytes for block in cache.blocks)
    of_source = sum(part.nbytes for block in cache.blocks for part in block.cross_attn.complete or ())
    app = opened(PART, model="en-fr", text=EXAMPLES[0], step=STEP)
    facts = facts_of(app)
    assert kib(facts["cache size"]) == pytest.approx((of_self + of_source) / 1024, abs=0.051)
    assert kib(facts["of which source (fixed)"]) == pytest.approx(of_source / 1024, abs=0.051)
    assert kib(facts["size per token"]) == pytest.approx(of_self / (STEP + 1) / 1024, abs=0.051)
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


def test_the_step_is_marked_among_the_costs():
    app = opened(PART, model="en-fr", text=EXAMPLES[0], step=STEP)
    drawn = figure(app, "decoding-cost")
    (mark,) = drawn.layout.shapes
    assert mark.x0 == STEP


@pytest.mark.parametrize("key", ["decoding-cache", "decoding-cost"])
def test_what_is_taken_away_gives_the_same_numbers(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    app = opened(PART, model="en-fr", text=EXAMPLES[0], step=STEP)
    arrays = arrays_of(files_of(app, key))
    defined = check_redrawn(app, key, tmp_path, monkeypatch)
    if key == "decoding-cost":
        np.testing.assert_array_equal(defined["cached"], arrays["cached"])
        np.testing.assert_array_equal(defined["uncached"], arrays["uncached"])
        facts = facts_of(app)
        assert facts["multiply-adds"] == f"{arrays['cached'][STEP]:,}"
        assert facts["without a cache"].startswith(f"{arrays['uncached'][STEP]:,} ")
    else:
        assert list(arrays["state"]) == ["stored"] * STEP + ["new"]
