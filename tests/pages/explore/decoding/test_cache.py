"""The KV cache at one step: which tokens it holds, and the saved lines that give its numbers."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from tests.pages.conftest import EXAMPLES, PROMPTS, words_of
from tests.pages.explore.decoding.decoding_parts import (
    arrays_of,
    cells,
    check_redrawn,
    figure,
    files_of,
    opened,
)

pytestmark = pytest.mark.usefixtures("three_kinds_here")
PART = "cache"
STEP = 3


def facts_of(app: Any) -> dict[str, str]:
    return dict(re.findall(r"<div><span>(.*?)</span>(.*?)</div>", words_of(app)))


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
