"""The chosen cell: its row as bars, and the same cell in every head, against a plain forward."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pages.components import figures
from pages.explore.heads import cell, view_fields
from pages.explore.heads.data import HeadsData
from tests.pages.conftest import words_of
from tests.pages.explore.heads.heads_parts import TOKENS, shown, weights
from tests.pages.explore.parts import Drawing
from transformer_core.analysis.heads.picture import HeadShare

pytestmark = pytest.mark.usefixtures("checkpoints")
QUERY, KEY = 2, 4


def draw(data: HeadsData) -> None:
    cell.show(data, data.picture)


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
    ticks = [token.replace("<", "&lt;").replace(">", "&gt;") for token in TOKENS]
    assert [*drawn.figure.layout.xaxis.ticktext] == ticks
    assert drawn.figure.layout.xaxis.title.text == "<b>key: source</b>"
    assert framed(drawn) == [KEY]
    assert drawn.name == f"en-fr-encoder-layer1-head2-query{QUERY}"
    drawn.check("row", ["query", "key", "pattern"], row)
    assert drawn.arrays["mask"].all() and drawn.arrays["key_tokens"].tolist() == TOKENS
    assert {*drawn.column(0)} == {f"{QUERY} sees"}
    assert drawn.column(1) == [f"{place} {token}" for place, token in enumerate(TOKENS)]
    entropy = -(row * np.log(row)).sum()
    subtitle = str(drawn.figure.layout.title.subtitle.text)
    assert f"entropy {entropy:.2f} nats (uniform over 7 keys: {np.log(7):.2f})" in subtitle
    grid, cells = drawings["heads-in-all"], expected[:, :, QUERY, KEY]
    np.testing.assert_allclose(grid.cells(), cells, atol=1e-6)
    grid.check("weight", ["layer", "head", "weight"], cells)
    assert grid.title == "“sees” → “dog” in every head"
    assert [line[:2] for line in grid.csv[1:]] == [[str(layer), str(head)] for layer, head in np.ndindex(2, 4)]
    assert grid.name == f"en-fr-encoder-query{QUERY}-key{KEY}"
    (frame,) = grid.figure.layout.shapes
    assert ((frame.x0 + frame.x1) / 2, (frame.y0 + frame.y1) / 2) == (2, 1), "head 2 of layer 1"
    assert (grid.figure.layout.coloraxis.cmin, grid.figure.layout.coloraxis.cmax) == (0, 1)


def test_a_window_keeps_the_keys_in_it_at_their_places(expected: np.ndarray, drawings: dict[str, Drawing]):
    shown(draw, query=QUERY, key=KEY, window=((1, 3), (3, 5)))
    drawn = drawings["heads-row"]
    np.testing.assert_allclose(np.array(bars(drawn).y, dtype=float), expected[1, 2, QUERY, 3:6], atol=1e-6)
    assert [*bars(drawn).x] == [3, 4, 5]
    assert drawn.column(1) == ["3 the", "4 dog", "5 ."]
    assert {*drawn.column(0)} == {"2 sees"}
    assert "entropy" not in str(drawn.figure.layout.title.subtitle.text), "it would be that of a part"
    assert framed(drawn) == [KEY]
    grid = drawings["heads-in-all"]
    np.testing.assert_allclose(grid.cells(), expected[:, :, QUERY, KEY], atol=1e-6)
    assert grid.title == "“sees” → “dog” in every head"


def test_only_weights_have_an_entropy(drawings: dict[str, Drawing]):
    for quantity, has_entropy in (("log", True), ("scores", False), ("values", False)):
        shown(draw, query=QUERY, show=quantity)
        drawn = drawings["heads-row"]
        assert ("entropy" in str(drawn.figure.layout.title.subtitle.text)) == has_entropy
        assert drawn.csv[0][2] == quantity


def test_without_a_query_there_is_a_hint_and_without_a_key_the_row_alone(drawings: dict[str, Drawing]):
    for chosen in ({}, {"key": KEY}):
        assert "Click a cell (or use the arrow keys" in words_of(shown(draw, **chosen)) and not drawings
    app = shown(draw, query=QUERY)
    assert "Click a cell in this row" in words_of(app)
    assert [*drawings] == ["heads-row"] and framed(drawings["heads-row"]) == []


@pytest.mark.parametrize(
    ("most", "is_short", "is_drawn"),
    [(31, False, True), (30, False, False), (30, True, True)],  # the decoder reads 31 tokens
)
def test_a_cell_of_a_long_text_is_not_computed_in_every_head(
    drawings: dict[str, Drawing], monkeypatch: pytest.MonkeyPatch, most: int, is_short: bool, is_drawn: bool
):
    monkeypatch.setattr(cell, "MOST_IN_ALL", most)

    def drawn(data: HeadsData) -> None:
        maps = type(data.attention_maps)
        with monkeypatch.context() as patch:
            patch.setattr(maps, "is_short", property(lambda _: is_short))
            draw(data)

    app = shown(drawn, attention="cross", query=QUERY, key=KEY)  # of 31 queries and 7 keys
    assert len(drawings["heads-row"].arrays["row"]) == len(TOKENS)
    assert ("heads-in-all" in drawings) == is_drawn
    assert (f"limited to texts of {most} tokens" in words_of(app)) == (not is_drawn)


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
