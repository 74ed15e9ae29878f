"""What is said of an alignment, and its rows: on chosen links, and against a plain forward."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from pages.explore.decoding import alignment, view_fields
from pages.explore.decoding.alignment import Alignment
from pages.shared.recipe import literal, value_of
from tests.pages.conftest import EXAMPLES, words_of
from tests.pages.explore.decoding.decoding_parts import drawn, loaded, rows_of
from tests.pages.explore.parts import Drawing
from transformer_core.analysis.texts.word_alignment import FoundPair, KnownAlignment
from transformer_core.corpora import Pair

KEY = "decoding-alignment"
WEIGHTS = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8]], dtype=np.float32)  # most on 0, 0, 2


def known(*links: tuple[int, int], n_agreed: int = 3, n_written: int = 3) -> KnownAlignment:
    """Units that are tokens."""
    each = tuple((place,) for place in range(3))
    return KnownAlignment(links=frozenset(links), targets=each, sources=each, n_agreed=n_agreed, n_written=n_written)


def made(truth: KnownAlignment | None, *, is_held_out: bool = True, is_found: bool = True) -> Alignment:
    found = FoundPair(pair=Pair(source="a b c", target="A B C"), is_held_out=is_held_out)
    return Alignment(
        n_shown=3,
        weights=literal(WEIGHTS),
        links=literal(frozenset()),
        found=literal(found) if is_found else None,
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
    (known((0, 0), n_agreed=1), ["so far", "From token 1 on, the output differs from the corpus target, “A B C”"]),
    (
        known(n_agreed=0, n_written=1),
        ["generate a word", "From token 0 on, the output differs from the corpus target"],
    ),
]


@pytest.mark.parametrize(("truth", "told"), TOLD)
def test_links_of_the_maximum_are_scored_against_the_gold_ones(truth: KnownAlignment, told: list[str]):
    said = alignment._verdict(made(truth))
    assert all(part in said for part in told)
    for part in ("so far", "cannot be lower than", "differs from the corpus target", "generate a word"):
        assert (part in said) == (part in " ".join(told))
    assert "(used for training)" in alignment._verdict(made(truth, is_held_out=False))


def test_of_a_text_that_was_cut_no_pair_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "card.json").write_text(json.dumps({"corpus": {"name": "en-fr", "seed": 3}}))
    pairs = SimpleNamespace(find=lambda text: literal(text.upper()))
    monkeypatch.setattr(alignment, "_pairs", lambda name, seed: pairs)
    monkeypatch.setattr(alignment, "place_of", Path)
    for left_out, found in ((range(0), "A CAT"), (range(5, 9), None)):
        data: Any = SimpleNamespace(
            card=SimpleNamespace(path=str(tmp_path)), view=SimpleNamespace(text="a cat"), left_out=left_out
        )
        pair, trouble = alignment._pair(data)
        assert trouble is None and (None if pair is None else value_of(pair)) == found


def test_without_a_pair_of_a_corpus_nothing_is_judged():
    for truth, is_found in ((None, True), (None, False), (known((0, 0)), False)):
        assert "this text is not one of them" in alignment._verdict(made(truth, is_found=is_found))


def test_a_score_is_printed_once_there_is_something_to_judge():
    judged, waiting, unknown = made(known((0, 0))), made(known()), made(None)
    assert [len(one.printed(2)) for one in (judged, waiting, unknown)] == [2, 1, 1]
    np.testing.assert_array_equal(value_of(judged.printed(2)[0].value), WEIGHTS[:2])
    assert value_of(judged.score).error_rate == 0 and waiting.score is None and unknown.score is None
    assert value_of(judged.truth) == {(0, 0)} and unknown.truth is None


def test_only_a_corpus_of_pairs_that_is_made_here_has_a_known_alignment(tmp_path: Path):
    card: Any = SimpleNamespace(path=str(tmp_path))
    assert alignment._corpus_of(card) is None, "there is no card"
    for corpus, known_as in (
        ({"name": "reverse", "seed": 3}, ("reverse", 3)),
        ({"name": "en-fr", "seed": "0"}, ("en-fr", 0)),
        ({"name": "stories", "seed": 0}, None),  # texts, no pairs
        ({"name": "mine.txt", "seed": 0}, None),
        ({"name": "reverse"}, None),
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


@pytest.mark.parametrize(("step", "n_rows", "labels"), [(0, 1, "…"), (2, 3, "AB…"), (4, 4, "ABCD")])
@pytest.mark.usefixtures("three_kinds_here")
def test_rows_are_of_what_is_written_and_of_what_is_about_to_be(
    three_kinds: Path, drawings: dict[str, Drawing], step: int, n_rows: int, labels: str
):
    model, tokenizer, src = loaded(three_kinds, text=EXAMPLES[1])
    tokens = tc.greedy_decode(model, src, max_new_tokens=4).tokens
    assert model.config.eos_id not in tokens[0], "a text of four tokens"
    expected = rows_of(model, src, tokens[:, :-1])["cross"][1].mean(axis=0)
    letters = dict(zip("ABCD…", [*tokenizer.target.labels(tokens[0].tolist())[1:], "…"], strict=True))
    app = drawn(alignment.show, text=EXAMPLES[1], step=step, limit=4)
    drawing = drawings[KEY]
    (cells,) = (trace.z for trace in drawing.figure.data if trace.type == "heatmap")
    np.testing.assert_allclose(np.array(cells, dtype=float), expected[:n_rows], atol=1e-5)
    ticks = [*drawing.figure.layout.yaxis.ticktext]
    assert ticks[:n_rows] == [letters[letter] for letter in labels] and not any(ticks[n_rows:])
    assert drawing.title == "Alignment: cross-attention L1, mean over heads"
    assert drawing.name == "en-fr-decoding-alignment"
    np.testing.assert_allclose(drawing.arrays["weights"], expected[:step], atol=1e-5)
    assert drawing.arrays["target_tokens"].tolist() == [letters[letter] for letter in "ABCD"[:step]]
    sources = [*tokenizer.labels_for(EXAMPLES[1], "encoder_decoder")]
    assert drawing.arrays["source_tokens"].tolist() == sources
    assert drawing.csv[0] == ["target", "source", "weight"] and len(drawing.csv) == 1 + step * len(sources)
    best = [[row, int(expected[row].argmax())] for row in range(step)]
    assert drawing.arrays["links"].reshape(-1, 2).tolist() == best
    assert "truth" not in drawing.arrays
    assert "this text is not one of them" in words_of(app)
