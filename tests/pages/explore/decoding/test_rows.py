"""All heads at one moment: against a plain forward over the same tokens, and what clicks choose."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.pages.conftest import EXAMPLES, PROMPTS, url_of, words_of
from tests.pages.explore.decoding.decoding_parts import (
    again,
    arrays_of,
    cells,
    check_redrawn,
    figure,
    files_of,
    opened,
    rows_of,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("three_kinds_here")]
PART = "rows"
STEP = 3


@pytest.fixture(scope="module")
def expected(three_kinds: Path) -> dict[str, np.ndarray]:
    """Weights at the fourth token that is read, [layer, head, key]."""
    model, tokenizer = tc.load(three_kinds / "en-fr")
    src = torch.tensor([tokenizer.encode_for(EXAMPLES[0], "encoder_decoder")])
    tokens = tc.greedy_decode(model, src, max_new_tokens=STEP).tokens
    return {name: rows[:, :, STEP] for name, rows in rows_of(model, src, tokens).items()}


@pytest.mark.parametrize("kind", ["cross", "decoder"])
@pytest.mark.parametrize("mean", ["", "layer", "all"])
def test_rows_are_those_of_a_forward(expected: dict[str, np.ndarray], kind: str, mean: str):
    app = opened(PART, model="en-fr", text=EXAMPLES[0], step=STEP, layer=1, head=2, mean=mean)
    drawn = figure(app, f"decoding-rows-{kind}")
    heads = [*expected[kind].mean(axis=1)] if mean == "all" else [*expected[kind][1]]
    np.testing.assert_allclose(cells(drawn), [*heads, sum(heads) / len(heads)], atol=1e-5)
    frame = drawn.layout.shapes[1]
    assert frame.y0 + 0.5 == (2 if not mean else len(heads))
    if kind == "decoder":  # there is room for all that the branch will be
        assert drawn.layout.xaxis.range[1] > STEP + 1


def test_a_decoder_has_one_figure_of_its_prompt_and_what_it_wrote(three_kinds: Path):
    model, tokenizer = tc.load(three_kinds / "tales")
    prompt = torch.tensor([tokenizer.encode_for(PROMPTS[0], "decoder_only")])
    tokens = tc.greedy_decode(model, prompt, max_new_tokens=STEP).tokens
    app = opened(PART, model="tales", text=PROMPTS[0], step=STEP)
    assert len(app.get("bidi_component")) == 1
    (rows,) = rows_of(model, tokens).values()
    np.testing.assert_allclose(cells(figure(app, "decoding-rows-decoder"))[:-1], rows[0, :, -1], atol=1e-5)


def test_a_click_chooses_a_head_and_the_mean(monkeypatch: pytest.MonkeyPatch):
    app = opened(PART, model="en-fr", text=EXAMPLES[0], step=STEP, layer=1, head=0)
    sent: dict[str, Any] = {"query": 3, "key": 1}
    for row, url in ((3, ("3", "")), (4, ("3", "layer"))):
        app.session_state["decoding-rows-cross"] = {"cell": sent | {"query": row}}
        clicked(app, monkeypatch)
        assert (url_of(app)["head"], url_of(app).get("mean", "layer")) == url


def clicked(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """AppTest calls no component's callbacks: call the one of the figure in the run that follows."""
    from pages.components import figures

    drawn = figures.live_figure

    def click(*args: Any, on_cell: Any, **more: Any) -> None:
        drawn(*args, on_cell=on_cell, **more)
        if more["key"] == "decoding-rows-cross":
            on_cell()

    with monkeypatch.context() as patch:
        patch.setattr(figures, "live_figure", click)
        again(app)
    del app.session_state["decoding-rows-cross"]
    again(app)


@pytest.mark.parametrize("mean", ["", "all"])
def test_what_is_taken_away_gives_the_same_numbers(mean: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    app = opened(PART, model="en-fr", text=EXAMPLES[0], step=STEP, layer=1, head=2, mean=mean)
    drawn = figure(app, "decoding-rows-cross")
    files = files_of(app, "decoding-rows-cross")
    assert files.keys() == {"csv", "npz", "py", "json"}
    np.testing.assert_array_equal(arrays_of(files)["rows"], cells(drawn))
    assert len(files["csv"].decode().splitlines()) == 1 + cells(drawn).size
    defined = check_redrawn(app, "decoding-rows-cross", tmp_path, monkeypatch)
    np.testing.assert_allclose(defined["cross_rows"].values, cells(drawn), atol=1e-6)


def test_where_the_text_has_ended_nobody_looks(three_kinds: Path):
    tokenizer = tc.load(three_kinds / "en-fr")[1]
    app = opened(PART, model="en-fr", text=EXAMPLES[0], step=2, branches=f"5.!{tokenizer.eos_id}")
    assert not app.get("bidi_component") and "ends here" in words_of(app)
