"""The blanks in pictures: where the mask of a blank looks, and what fills it, against the core's own tree."""

import csv
import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from pages.explore.decoding import blanks_data, blanks_figures
from tests.pages.conftest import words_of
from tests.pages.explore.decoding.blanks_parts import FILLED, PLACE, drawn
from tests.pages.explore.parts import Drawing
from transformer_core.decoding.filling import NOTHING, FillingTree

pytestmark = pytest.mark.usefixtures("three_kinds_here")
BARS, LOOKS = "blanks-bars", "blanks-looks"


@pytest.fixture(scope="module")
def labels(three_kinds: Path) -> Any:
    """Gives the label of each token of a list."""
    return tc.load(three_kinds / "gaps")[1].labels


def bars(drawing: Drawing) -> list[Any]:
    return [trace for trace in drawing.figure.data if trace.type == "bar"]


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


def test_where_a_mask_looks_is_the_mean_of_the_chosen_layer(
    tree: FillingTree, labels: Any, drawings: dict[str, Drawing]
):
    place, blanks = tree.masks[1], tree.read().blanks
    drawn(blanks_figures.one_blank, **{PLACE: place, "layer": 1, "head": 1, "decoding-mean": "layer"})
    row = blanks[place].rows[1].mean(axis=0)  # [layer, head, key]
    drawings[LOOKS].check("row", ["blank", "key", "weight"], row)
    np.testing.assert_allclose(np.array(drawings[LOOKS].figure.data[0].y, dtype=float), row, atol=1e-6)


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
    arguments: list[Any] = []
    monkeypatch.setattr(blanks_data, "ask", arguments.append)
    for chosen in (None, 0, "dog"):
        blanks_figures._choose_token(3, chosen)
    assert arguments == [(3, 0), (3, "dog")]
    text = blanks_figures._csv([4, 7], [["a,b", 'c"'], ["d"]], [np.array([0.5, 0.25]), np.array([1.0])])
    lines = [["4", "0", "a,b", "0.5"], ["4", "1", 'c"', "0.25"], ["7", "0", "d", "1.0"]]
    assert [*csv.reader(io.StringIO(text))][1:] == lines
