"""The alignment of a whole output, against the gold alignment of a corpus."""

import html
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from headlight.figures.heatmaps.decoding import MOST, TRUE
from tests.pages.conftest import save_model, words_of
from tests.pages.explore.decoding.decoding_parts import (
    arrays_of,
    cells,
    check_redrawn,
    figure,
    files_of,
    numbers,
    opened,
)
from transformer_core.corpora import load_corpus

PART, KEY = "alignment", "decoding-alignment"


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an untrained model that reads letters, and says that it was trained on "reverse"."""
    folder = tmp_path_factory.mktemp("checkpoints")
    for name, seed in (("letters", 0), ("nowhere", None)):
        save_model(folder / name, n_layers=2, n_heads=2, title=name, examples=("abcdefghijklmnop",), kind="character")
        card = json.loads((folder / name / "card.json").read_text())
        card["corpus"] = {"name": "reverse", "seed": seed} if seed is not None else {"name": "reverse"}
        (folder / name / "card.json").write_text(json.dumps(card))
    return folder


@pytest.fixture(autouse=True)
def here(letters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(letters))


@pytest.fixture(scope="module")
def source() -> str:
    """A held-out source of different letters, so that every true link is one."""
    return next(
        pair.source
        for pair in load_corpus("reverse", seed=0).held_out
        if len(set(pair.source)) == len(pair.source) == 8
    )


def led(letters: Path, text: str) -> dict[str, Any]:
    """The address of a branch that is teacher-forced on a text."""
    tokenizer = tc.load(letters / "letters")[1]
    return {"branches": ".".join(f"!{token}" for token in tokenizer.encode(text))}


def sentence(app: Any) -> str:
    return html.unescape(words_of(app))


def test_the_error_rate_is_that_of_reversing_the_text(
    letters: Path, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    target = source[::-1]
    app = opened(PART, model="letters", text=source, layer=1, step=5, **led(letters, target))
    drawn = figure(app, KEY)
    expected = cells(drawn)
    assert list(drawn.layout.yaxis.ticktext[:6]) == [*target[:5], "…"]
    assert not any(drawn.layout.yaxis.ticktext[6:])
    best = expected[:5, :8].argmax(axis=1)  # <eos> is no letter
    n_right = int(sum(best[i] == 7 - i for i in range(5)))
    rate = f"Alignment error rate (AER) so far: {1 - n_right / 5:.2f}"
    assert rate in sentence(app) and "held out from training" in sentence(app)
    outline = next(trace for trace in drawn.data if trace.name == TRUE)
    assert np.isnan(numbers(outline.x)).sum() == 5  # each has an outline
    arrays = arrays_of(files_of(app, KEY))
    np.testing.assert_array_equal(arrays["weights"], cells(drawn)[:5])
    np.testing.assert_array_equal(arrays["truth"], [[i, 7 - i] for i in range(5)])
    assert arrays["links"].shape == (5, 2)
    defined = check_redrawn(app, KEY, tmp_path, monkeypatch)
    np.testing.assert_allclose(defined["weights"][:5], arrays["weights"], atol=1e-6)
    assert rate.endswith(f"{defined['known'].score(defined['weights']).error_rate:.2f}")


def test_a_model_whose_corpus_is_unknown_has_no_gold_alignment(source: str):
    app = opened(PART, model="nowhere", text=source, step=3)
    assert "this text is not one of them" in sentence(app)
    names = {trace.name for trace in figure(app, KEY).data}
    assert MOST in names and TRUE not in names
