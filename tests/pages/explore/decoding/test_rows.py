"""All heads at one step: what a decoder looks at, against a plain forward, and the saved lines."""

from pathlib import Path

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
    loaded,
    opened,
    rows_of,
)

pytestmark = pytest.mark.usefixtures("three_kinds_here")
PART = "rows"
STEP = 3


def test_a_decoder_has_one_figure_of_its_prompt_and_what_it_wrote(three_kinds: Path):
    model, _, prompt = loaded(three_kinds, "tales", PROMPTS[0])
    tokens = tc.greedy_decode(model, prompt, max_new_tokens=STEP).tokens
    app = opened(PART, model="tales", text=PROMPTS[0], step=STEP)
    assert len(app.get("bidi_component")) == 1
    (rows,) = rows_of(model, tokens).values()
    np.testing.assert_allclose(cells(figure(app, "decoding-rows-decoder"))[:-1], rows[0, :, -1], atol=1e-5)


def test_the_saved_lines_give_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    app = opened(PART, model="en-fr", text=EXAMPLES[0], step=STEP, layer=1, head=2, mean="")
    drawn = figure(app, "decoding-rows-cross")
    files = files_of(app, "decoding-rows-cross")
    assert files.keys() == {"csv", "npz", "py", "json"}
    arrays = arrays_of(files)
    np.testing.assert_array_equal(arrays["rows"], cells(drawn))
    assert (len(arrays["row_labels"]), len(arrays["key_tokens"])) == arrays["rows"].shape
    lines = files["csv"].decode().splitlines()[1:]
    assert [float(line.rpartition(",")[2]) for line in lines] == pytest.approx(arrays["rows"].ravel().tolist())
    defined = check_redrawn(app, "decoding-rows-cross", tmp_path, monkeypatch)
    np.testing.assert_allclose(defined["cross_rows"].values, cells(drawn), atol=1e-6)


def test_where_the_text_has_ended_nobody_looks(three_kinds: Path):
    tokenizer = tc.load(three_kinds / "en-fr")[1]
    app = opened(PART, model="en-fr", text=EXAMPLES[0], step=2, branches=f"5.!{tokenizer.eos_id}")
    assert not app.get("bidi_component") and "ends here" in words_of(app)
