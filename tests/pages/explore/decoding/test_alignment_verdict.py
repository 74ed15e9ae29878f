"""The verdict on an alignment, on chosen links, and which corpora have gold links."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from headlight.analysis.texts.word_alignment import FoundPair, KnownAlignment
from pages.explore.decoding import alignment, view_fields
from pages.explore.decoding.alignment import Alignment
from pages.shared.recipe import literal
from transformer_core.corpora import Pair

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
