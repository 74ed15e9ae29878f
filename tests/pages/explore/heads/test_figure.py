"""The chosen head, large: its heatmap and the numbers that go with it, its lines, and the preview of another head."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from headlight.analysis.heads.picture import HeadPicture, HeadShare, PictureAxis
from pages.components import figures
from pages.explore.heads import figure, view_fields
from pages.explore.heads.components import lines
from pages.explore.heads.data import HeadsData
from tests.pages.conftest import PROMPTS, words_of
from tests.pages.explore.heads.heads_parts import TOKENS, shown, weights
from tests.pages.explore.parts import Drawing

pytestmark = pytest.mark.usefixtures("checkpoints")
HEATMAP = "heatmap"


@pytest.fixture(scope="module")
def expected(two_models: Path) -> np.ndarray:
    return weights(two_models)


@pytest.fixture
def drawn_lines(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the last lines were drawn from."""
    results: dict[str, Any] = {}
    monkeypatch.setattr(lines, "attention_lines", lambda grid, **given: results.update(given, grid=grid))
    return results


def test_with_a_heatmap_go_its_numbers_and_the_places_of_its_tokens(expected: np.ndarray, drawings: dict[str, Drawing]):
    results: list[Any] = []
    shown(lambda data: results.append(figure.show(data)), window=((1, 3), (3, 5)))
    drawn, cells = drawings[HEATMAP], expected[1, 2, 1:4, 3:6]
    np.testing.assert_allclose(results[0].values, cells, atol=1e-6)
    np.testing.assert_allclose(drawn.cells("attention"), cells, atol=1e-6)
    places = [[str(query), TOKENS[query], str(key), TOKENS[key]] for query in range(1, 4) for key in range(3, 6)]
    assert [line[:4] for line in drawn.csv[1:]] == places
    drawn.check("pattern", drawn.csv[0], cells)
    assert drawn.options["is_window"] and drawn.options["cell"] is None and drawn.options["preview"] is None


def test_what_is_chosen_in_the_heatmap_is_what_was_sent(drawings: dict[str, Drawing], monkeypatch: pytest.MonkeyPatch):
    def click(data: HeadsData) -> None:
        figure.show(data)
        monkeypatch.setattr(figures, "sent_cell", lambda key: {HEATMAP: (2, 4)}[key])
        monkeypatch.setattr(figures, "sent_window", lambda key: {HEATMAP: (range(1, 3), range(2, 6))}[key])
        drawings[HEATMAP].options["on_cell"]()
        drawings[HEATMAP].options["on_window"]()

    app = shown(click)
    chosen = [app.session_state[field.key] for field in (view_fields.QUERY, view_fields.KEY, view_fields.WINDOW)]
    assert chosen == [2, 4, ((1, 2), (2, 5))]


MIX = (HeadShare(layer=0, head=1), HeadShare(layer=1, head=2, weight=0.5))


def test_the_heatmap_of_another_head_can_be_drawn_at_once(drawings: dict[str, Drawing]):
    shown(figure.show, query=1, key=2, rest="share")  # nothing is left out
    preview = drawings[HEATMAP].options["preview"]
    assert (preview["attention"], preview["layer"], preview["head"]) == ("encoder", 1, 2)
    assert {*preview["frames"]} == {"encoder", "decoder", "cross"}
    assert [*preview["frames"]["cross"]["layout"]["xaxis"]["ticktext"]][:2] == TOKENS[:2]
    assert drawings[HEATMAP].options["cell"] == (1, 2)


def test_where_nothing_is_left_that_is_said(drawings: dict[str, Drawing]):
    results: list[Any] = []
    app = shown(lambda data: results.append(figure.show(data)), hide="special", window=((6, 6), (6, 6)))
    assert results == [None] and not drawings
    assert "All tokens in this range are excluded" in words_of(app)


def test_lines_are_of_the_window_and_their_choice_is_counted_within_it(
    expected: np.ndarray, drawn_lines: dict[str, Any], drawings: dict[str, Drawing]
):
    view = {"as": "lines", "show": "scores", "window": ((2, 4), (1, 5)), "query": 4, "key": 1}
    shown(figure.show, **view)
    np.testing.assert_allclose(drawn_lines["patterns"], expected[[1], 2, 2:5, 1:6], atol=1e-6)  # for any quantity
    grid = drawn_lines["grid"]
    assert [*grid.query_tokens] == TOKENS[2:5] and [*grid.key_tokens] == TOKENS[1:6]
    assert (grid.first_query, grid.first_key, grid.marked) == (2, 1, (4, 1))
    assert not drawings, "no heatmap, and nothing is saved yet"
    shown(figure.show, **view | {"query": None})
    assert drawn_lines["grid"].marked == (None, 1)


def test_lines_of_a_mixture_are_of_each_head_and_of_a_mean_of_all(expected: np.ndarray, drawn_lines: dict[str, Any]):
    shown(figure.show, **{"as": "lines", "mix": MIX})
    np.testing.assert_allclose(drawn_lines["patterns"], [expected[0, 1], expected[1, 2]], atol=1e-6)
    assert drawn_lines["names"] == ["L0.H1", "L1.H2"]
    shown(figure.show, **{"as": "lines", "mix": MIX, "mean": "all"})
    np.testing.assert_allclose(drawn_lines["patterns"], [expected.mean(axis=(0, 1))], atol=1e-6)


def test_lines_of_a_long_text_give_way_to_the_heatmap(
    drawn_lines: dict[str, Any], drawings: dict[str, Drawing], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(figure, "MOST_LINES", 30)  # the decoder reads 31 tokens
    app = shown(figure.show, **{"as": "lines", "attention": "cross"})
    assert not drawn_lines and HEATMAP in drawings
    assert "The line view is limited to 30 tokens" in words_of(app)


def test_a_saved_picture_of_lines_is_drawn_when_it_is_asked_for(
    drawn_lines: dict[str, Any], drawings: dict[str, Drawing], monkeypatch: pytest.MonkeyPatch
):
    view: dict[str, Any] = {"as": "lines", "window": ((2, 4), (1, 5)), "query": 3}
    shown(figure.show, **view)
    assert not drawings
    monkeypatch.setattr(figure.st, "popover", lambda *_, **__: nullcontext(SimpleNamespace(open=True)))
    shown(figure.show, **view)
    assert drawings["heads-still"].name == "en-fr-encoder-layer1-head2-lines"


def test_where_a_continuation_begins_is_shown(
    three_kinds_here: Path, drawn_lines: dict[str, Any], drawings: dict[str, Drawing]
):
    tales = {"model": "tales", "text": PROMPTS[1], "attention": "decoder", "layer": 0, "as": "lines"}
    shown(figure.show, **tales | {"as": "heatmap"})
    assert drawings[HEATMAP].figure.layout.shapes, "the continuation is divided from the prompt"
    shown(figure.show, **tales)
    begins = drawn_lines["grid"].generated_from
    np.testing.assert_array_equal(drawn_lines["masks"][0], np.tri(len(drawn_lines["grid"].query_tokens), dtype=bool))
    shown(figure.show, **tales, window=((1, 2), (0, begins - 1)))
    assert drawn_lines["grid"].generated_from is None


def test_in_a_pooled_heatmap_rows_and_columns_are_named_after_the_places_of_their_block():
    """They stand for several tokens, so none has its own first place."""
    taken: list[dict[str, np.ndarray]] = []
    sides = [
        PictureAxis(labels=tuple("x" * n), tokens=tuple(range(i, i + 1) for i in range(first, first + n)), first=first)
        for n, first in ((12, 7), (10, 0))
    ]
    cells = np.ones((5, 3))
    pooled = HeadPicture(values=cells, mask=cells > 0, queries=sides[0], keys=sides[1], blocks=(5, 3), largest=None)
    shown(lambda data: taken.append(figure._saved(data, pooled)["arrays"]()))
    assert taken[0]["query_tokens"].tolist() == ["7 to 8", "9 to 10", "11 to 13", "14 to 15", "16 to 18"]
