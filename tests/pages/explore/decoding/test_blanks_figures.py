"""The blanks in pictures: what may stand in each, and where its mask looks, against the core's own tree."""

import csv
import io
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from pages.explore.decoding import blanks_data, blanks_figures
from pages.shared.recipe import value_of
from tests.pages.conftest import words_of
from tests.pages.explore.decoding.blanks_parts import FILLED, PLACE, REQUEST, TEXT, drawn
from tests.pages.explore.parts import Drawing
from transformer_core.decoding.filling import NOTHING, BlankPrediction, FillingTree

pytestmark = pytest.mark.usefixtures("three_kinds_here")
BARS, LOOKS = "blanks-bars", "blanks-looks"


@pytest.fixture(scope="module")
def labels(three_kinds: Path) -> Any:
    """Gives the label of each token of a list."""
    return tc.load(three_kinds / "gaps")[1].labels


def bars(drawing: Drawing) -> list[Any]:
    return [trace for trace in drawing.figure.data if trace.type == "bar"]


def check_candidates(drawing: Drawing, labels: Any, blanks: list[BlankPrediction]) -> None:
    """The six best tokens of each blank are drawn and taken away."""
    assert drawing.csv[0] == ["place", "rank", "token", "probability"]
    lines = iter(drawing.csv[1:])
    for blank, trace, log_probs in zip(blanks, bars(drawing), drawing.arrays["log_probs"], strict=True):
        best = blank.candidates(6)
        np.testing.assert_allclose(np.array(trace.x, dtype=float), [one.probability for one in best], rtol=1e-5)
        for rank, (one, line) in enumerate(zip(best, lines, strict=False)):
            assert line[:3] == [str(blank.position), str(rank), labels([one.token])[0]]
            assert float(line[3]) == pytest.approx(one.probability, rel=1e-5)
        np.testing.assert_allclose(log_probs, blank.log_probs, atol=1e-6)
    assert next(lines, None) is None
    assert drawing.arrays["places"].tolist() == [blank.position for blank in blanks]


def test_of_each_blank_the_best_tokens_are_drawn_and_taken_away(
    tree: FillingTree, labels: Any, drawings: dict[str, Drawing], monkeypatch: pytest.MonkeyPatch
):
    drawn(blanks_figures.candidates)
    drawing, blanks = drawings[BARS], tree.read().blanks
    check_candidates(drawing, labels, [*blanks.values()])
    assert drawing.title == "Predictions for each blank" and drawing.name == "gaps-blanks"
    names = [note.text for note in drawing.figure.layout.annotations]
    for place, blank in blanks.items():
        assert any(f"blank {place}" in name and f"{blank.entropy:.2f}" in name for name in names)
    drawn(blanks_figures.candidates, **{REQUEST: "next"})
    later = {**blanks, **tree.read(tree.fill()).blanks}  # a filled blank is drawn as it was before
    check_candidates(drawings[BARS], labels, [*later.values()])
    monkeypatch.setattr(blanks_figures, "MOST_DRAWN", 1)
    drawn(blanks_figures.candidates)
    assert drawings[BARS].title.endswith("the 1 most confident of 2")
    assert drawings[BARS].arrays["places"].tolist() == [tree.read().certain_first[0].position]
    drawn(blanks_figures.candidates, **{REQUEST: "all"})
    assert drawings[BARS].title == "Predictions for each blank"


def test_the_lines_print_what_may_stand_in_each_and_the_totals(tree: FillingTree, labels: Any):
    lines: list[list[Any]] = []
    for request_of in (None, "all"):
        drawn(
            lambda data: lines.append([value_of(line.value) for line in blanks_figures.printed(data)]),
            **{REQUEST: request_of},
        )
    (candidates, nothing), (_, total, alone) = lines
    first = tree.read().blanks[tree.masks[0]]
    assert nothing == 0 and candidates[0][0] == [labels([one.token])[0] for one in first.candidates(6)]
    whole, at_once = tree.fill_all(), tree.at_once()
    beside = tree.follow((step.position, at_once[step.position].token) for step in whole.steps)
    assert (total, alone) == pytest.approx((whole.total_log_prob, beside.total_log_prob), abs=1e-5)


def test_of_many_blanks_the_surest_open_ones_are_drawn():
    for n, surest, places in (
        (12, [3], [*range(12)]),
        (13, [9, 4, 7], [4, 7, 9]),
        (13, [*range(12, -1, -1)], [*range(1, 13)]),
        (13, [], [*range(12)]),
    ):
        state = SimpleNamespace(certain_first=[SimpleNamespace(position=place) for place in surest])
        data: Any = SimpleNamespace(tree=SimpleNamespace(masks=tuple(range(n))), state=state)
        assert blanks_figures._places(data) == places


@pytest.mark.parametrize(
    ("mean", "whose"), [("", "L1.H1"), ("layer", "L1, mean over heads"), ("all", "mean of all heads")]
)
def test_where_a_mask_looks_is_that_of_the_chosen_heads(
    tree: FillingTree, three_kinds: Path, drawings: dict[str, Drawing], mean: str, whose: str
):
    place, blanks = tree.masks[1], tree.read().blanks
    app = drawn(blanks_figures.one_blank, **{PLACE: place, "layer": 1, "head": 1, "decoding-mean": mean})
    drawing, labels = drawings[LOOKS], tc.load(three_kinds / "gaps")[1].labels_for(TEXT, "encoder_only")

    def row(blank: BlankPrediction) -> np.ndarray:
        rows = blank.rows  # [layer, head, key]
        return np.asarray({"": rows[1, 1], "layer": rows[1].mean(axis=0), "all": rows.mean(axis=(0, 1))}[mean])

    np.testing.assert_allclose(np.array(bars(drawing)[0].y, dtype=float), row(blanks[place]), atol=1e-6)
    drawing.check("row", ["blank", "key", "weight"], row(blanks[place]))
    assert drawing.title == f"Attention from blank {place}: {whose}"
    assert drawing.name == f"gaps-blank{place}-looks"
    assert drawing.arrays["key_tokens"].tolist() == [*labels]
    words = unescape(words_of(app))
    for other, blank in blanks.items():
        most = row(blank)
        assert f"blank {other} → “<bdi>{labels[most.argmax()]}</bdi>” {most.max():.2f}" in words


def test_of_a_filled_blank_the_text_is_as_it_was_before_it(
    tree: FillingTree, labels: Any, drawings: dict[str, Drawing]
):
    place, other = tree.masks
    app = drawn(blanks_figures.one_blank, **{FILLED: f"{place}:10.{other}:11", PLACE: other})
    before = tree.read(tree.fill(NOTHING, place, 10)).blanks[other]
    np.testing.assert_allclose(drawings[LOOKS].arrays["row"], before.rows[0].mean(axis=0), atol=1e-6)
    tokens = drawings[LOOKS].arrays["key_tokens"].tolist()
    assert tokens[place] == labels([10])[0] and tokens[other] != labels([11])[0]
    assert "Maximum attention" not in words_of(app), "none is open"


def test_a_blank_and_what_fills_it_are_chosen(tree: FillingTree, labels: Any, drawings: dict[str, Drawing]):
    place, other = tree.masks
    log_probs = tree.read().blanks[place].log_probs
    best = np.argsort(-log_probs, kind="stable")[:24].tolist()
    rare = int(np.where(np.isfinite(log_probs), log_probs, 0).argmin())
    offered = [*best, *([] if rare in best else [rare])]
    app = drawn(blanks_figures.one_blank, **{FILLED: f"{place}:{rare}", PLACE: place})
    box = app.selectbox(key="decoding-blanks-place-box")
    assert box.options == [f"{place}, filled", f"{other}, open"] and box.value == place
    tokens = app.selectbox(key="blanks-token-box")
    assert tokens.value == rare
    assert [option.split()[0] for option in tokens.options] == [labels([token])[0] for token in offered]
    tokens.set_value(best[1]).run()
    assert app.session_state[FILLED] == f"{place}:{best[1]}"
    app = drawn(blanks_figures.one_blank, **{FILLED: f"{place}:{rare}"})
    assert app.selectbox(key="decoding-blanks-place-box").value == other, "the next one"
    assert app.selectbox(key="blanks-token-box").value is None
    app.selectbox(key="decoding-blanks-place-box").set_value(place).run()
    assert app.session_state[PLACE] == place


def test_a_token_that_is_none_is_not_asked_for_and_a_table_quotes_its_labels(monkeypatch: pytest.MonkeyPatch):
    asked: list[Any] = []
    monkeypatch.setattr(blanks_data, "ask", asked.append)
    for chosen in (None, 0, "dog"):
        blanks_figures._choose_token(3, chosen)
    assert asked == [(3, 0), (3, "dog")]
    text = blanks_figures._csv([4, 7], [["a,b", 'c"'], ["d"]], [np.array([0.5, 0.25]), np.array([1.0])])
    lines = [["4", "0", "a,b", "0.5"], ["4", "1", 'c"', "0.25"], ["7", "0", "d", "1.0"]]
    assert [*csv.reader(io.StringIO(text))][1:] == lines
