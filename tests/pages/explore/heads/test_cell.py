"""The chosen cell: its row as bars, and the same cell in every head, against a plain forward."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headlight.analysis.heads.picture import HeadShare
from pages.components import figures
from pages.explore.heads import cell, view_fields
from pages.explore.heads.data import HeadsData
from tests.pages.conftest import words_of
from tests.pages.explore.heads.heads_parts import TOKENS, shown, weights
from tests.pages.explore.parts import Drawing

pytestmark = pytest.mark.usefixtures("checkpoints")
QUERY, KEY = 2, 4


def draw(data: HeadsData) -> None:
    cell.show(data, data.picture_of(data.spec))


@pytest.fixture(scope="module")
def expected(two_models: Path) -> np.ndarray:
    return weights(two_models)


def bars(drawn: Drawing) -> Any:
    return next(trace for trace in drawn.figure.data if trace.type == "bar")


def framed(drawn: Drawing) -> list[float]:
    """The keys that are framed."""
    return [(shape.x0 + shape.x1) / 2 for shape in drawn.figure.layout.shapes if shape.type == "rect"]


def test_the_row_of_the_chosen_query_and_the_cell_in_all_heads(expected: np.ndarray, drawings: dict[str, Drawing]):
    shown(draw, query=QUERY, key=KEY)
    drawn, row = drawings["heads-row"], expected[1, 2, QUERY]
    np.testing.assert_allclose(np.array(bars(drawn).y, dtype=float), row, atol=1e-6)
    assert framed(drawn) == [KEY]
    drawn.check("row", ["query", "key", "pattern"], row)
    assert drawn.column(1) == [f"{place} {token}" for place, token in enumerate(TOKENS)]
    entropy = -(row * np.log(row)).sum()
    subtitle = str(drawn.figure.layout.title.subtitle.text)
    assert f"entropy {entropy:.2f} nats (uniform over 7 keys: {np.log(7):.2f})" in subtitle
    grid, cells = drawings["heads-in-all"], expected[:, :, QUERY, KEY]
    np.testing.assert_allclose(grid.cells(), cells, atol=1e-6)
    grid.check("weight", ["layer", "head", "weight"], cells)


def test_a_window_keeps_the_keys_in_it_at_their_places(expected: np.ndarray, drawings: dict[str, Drawing]):
    shown(draw, query=QUERY, key=KEY, window=((1, 3), (3, 5)))
    drawn = drawings["heads-row"]
    np.testing.assert_allclose(np.array(bars(drawn).y, dtype=float), expected[1, 2, QUERY, 3:6], atol=1e-6)
    assert drawn.column(1) == ["3 the", "4 dog", "5 ."]
    assert "entropy" not in str(drawn.figure.layout.title.subtitle.text), "it would be that of a part"
    assert framed(drawn) == [KEY]
    np.testing.assert_allclose(drawings["heads-in-all"].cells(), expected[:, :, QUERY, KEY], atol=1e-6)


def test_without_a_query_there_is_a_hint_and_without_a_key_the_row_alone(drawings: dict[str, Drawing]):
    for chosen in ({}, {"key": KEY}):
        assert "Click a cell (or use the arrow keys" in words_of(shown(draw, **chosen)) and not drawings
    app = shown(draw, query=QUERY)
    assert "Click a cell in this row" in words_of(app)
    assert [*drawings] == ["heads-row"] and framed(drawings["heads-row"]) == []


def test_a_cell_of_a_long_text_is_not_computed_in_every_head(drawings: dict[str, Drawing], monkeypatch):
    monkeypatch.setattr(cell, "MOST_IN_ALL", 30)  # the decoder reads 31 tokens

    def drawn(data: HeadsData) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(type(data.attention_maps), "is_short", property(lambda _: False))
            draw(data)

    app = shown(drawn, attention="cross", query=QUERY, key=KEY)
    assert [*drawings] == ["heads-row"] and "limited to texts of 30 tokens" in words_of(app)


@pytest.mark.parametrize(("clicked", "is_opened"), [((0, 3), True), (None, False)])
def test_a_clicked_head_is_shown_alone(
    drawings: dict[str, Drawing], monkeypatch: pytest.MonkeyPatch, clicked: tuple[int, int] | None, is_opened: bool
):
    mix = (HeadShare(layer=0, head=1), HeadShare(layer=1, head=1))

    def click(data: HeadsData) -> None:
        draw(data)
        monkeypatch.setattr(figures, "sent_cell", lambda key: {"heads-in-all": clicked}[key])
        drawings["heads-in-all"].options["on_cell"]()

    app = shown(click, attention="cross", mix=mix, mean="layer", query=QUERY, key=KEY)
    chosen = tuple(app.session_state[part] for part in ("attention", "layer", "head"))
    assert chosen == (("cross", *clicked) if clicked else ("cross", 1, 2))
    kept = app.session_state[view_fields.MIX.key], app.session_state[view_fields.MEAN.key]
    assert kept == (((), "") if is_opened else (mix, "layer"))
