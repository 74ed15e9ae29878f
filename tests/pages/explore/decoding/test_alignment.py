"""The alignment of an output against the gold alignment of a corpus, and the verdict on it, on chosen links."""

import html
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from headlight.analysis.texts.word_alignment import FoundPair, KnownAlignment
from headlight.figures.heatmaps.decoding import MOST, TRUE
from pages.explore.decoding import alignment, view_fields
from pages.explore.decoding.alignment import Alignment
from pages.shared.recipe import literal
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
from transformer_core.corpora import Pair, load_corpus

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


WEIGHTS = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8]], dtype=np.float32)  # most on 0, 0, 2


def known(*links: tuple[int, int], n_agreed: int = 3, n_written: int = 3) -> KnownAlignment:
    """Units that are tokens."""
    each = tuple((place,) for place in range(3))
    return KnownAlignment(links=frozenset(links), targets=each, sources=each, n_agreed=n_agreed, n_written=n_written)


def made(truth: KnownAlignment | None, *, is_held_out: bool = True, is_found: bool = True) -> Alignment:
    actual = FoundPair(pair=Pair(source="a b c", target="A B C"), is_held_out=is_held_out)
    return Alignment(
        n_shown=3,
        weights=literal(WEIGHTS),
        links=literal(frozenset()),
        pair=literal(actual) if is_found else None,
        known=None if truth is None else literal(truth),
        trouble=None,
    )


TOLD = [
    (known((0, 0), (1, 1), (2, 2)), ["so far: 0.33.", "3 words) have precision 67% and recall 67%", "held out from"]),
    (
        known((0, 0), (0, 1), (2, 2), (2, 1)),  # 1 - 2 * 2 / (2 + 4)
        ["so far: 0.33.", "precision 100% and recall 50%", "the AER cannot be lower than 0.33."],
    ),
    (known((0, 0)), ["so far: 0.00", "one for 1 word) have precision 100% and recall 100%"]),
    (
        known(n_agreed=0, n_written=1),
        ["generate a word", "From token 0 on, the output differs from the corpus target"],
    ),
]


@pytest.mark.parametrize(("truth", "parts"), TOLD)
def test_links_of_the_maximum_are_scored_against_the_gold_ones(truth: KnownAlignment, parts: list[str]):
    text = alignment._verdict(made(truth))
    assert all(part in text for part in parts)
    for part in ("so far", "cannot be lower than", "differs from the corpus target", "generate a word"):
        assert (part in text) == (part in " ".join(parts))
    assert "(used for training)" in alignment._verdict(made(truth, is_held_out=False))


def test_only_a_corpus_of_pairs_that_is_made_here_has_a_known_alignment(tmp_path: Path):
    card: Any = SimpleNamespace(path=str(tmp_path))
    assert alignment._corpus_of(card) is None, "there is no card"
    for corpus, known_as in (
        ({"name": "reverse", "seed": 3}, ("reverse", 3)),
        ({"name": "en-fr", "seed": "0"}, ("en-fr", 0)),
        ({"name": "stories", "seed": 0}, None),  # texts, no pairs
        ({"name": "reverse", "seed": None}, None),
        (None, None),
    ):
        (tmp_path / "card.json").write_text(json.dumps({"corpus": corpus}))
        assert alignment._corpus_of(card) == known_as


def test_a_row_that_is_clicked_is_the_step_before_its_token(monkeypatch: pytest.MonkeyPatch):
    steps: list[int] = []
    monkeypatch.setattr(view_fields, "go_to", steps.append)
    for cell in ((3, 1), (0, 2), None):
        alignment._open(cell)
    assert steps == [3, 0]
