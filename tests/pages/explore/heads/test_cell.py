"""The chosen cell: its row as bars, and the same cell in every head, against a plain forward."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pages.explore.heads import cell, view_fields
from pages.explore.heads.data import HeadsData
from tests.pages.conftest import words_of
from tests.pages.explore.heads.heads_parts import TOKENS, heads, shown, weights
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


def test_the_row_of_the_chosen_query_is_drawn_and_taken_away(expected: np.ndarray, drawings: dict[str, Drawing]):
    shown(draw, query=QUERY, key=KEY)
    drawn, row = drawings["heads-row"], expected[1, 2, QUERY]
    np.testing.assert_allclose(np.array(bars(drawn).y, dtype=float), row, atol=1e-6)
    assert [*drawn.figure.layout.xaxis.ticktext] == [
        token.replace("<", "&lt;").replace(">", "&gt;") for token in TOKENS
    ]
    assert drawn.figure.layout.xaxis.title.text == "<b>key: source</b>"
    assert drawn.name == f"en-fr-encoder-layer1-head2-query{QUERY}"
    np.testing.assert_allclose(drawn.arrays["row"], row, atol=1e-6)
    assert drawn.arrays["mask"].all() and drawn.arrays["key_tokens"].tolist() == TOKENS
    assert drawn.csv[0] == ["query", "key", "pattern"]
    assert {*drawn.column(0)} == {f"{QUERY} sees"}
    assert drawn.column(1) == [f"{place} {token}" for place, token in enumerate(TOKENS)]
    np.testing.assert_allclose([float(number) for number in drawn.column(2)], row, atol=1e-6)
    entropy = -(row * np.log(row)).sum()
    subtitle = str(drawn.figure.layout.title.subtitle.text)
    assert f"entropy {entropy:.2f} nats (uniform over 7 keys: {np.log(7):.2f})" in subtitle
    assert "query 2" in str(drawn.figure.layout.title.text).lower()
    assert "Query 2: encoder self-attention L1.H2" in drawn.code


def framed(drawn: Drawing) -> list[float]:
    """The keys that are framed."""
    return [(shape.x0 + shape.x1) / 2 for shape in drawn.figure.layout.shapes if shape.type == "rect"]


def test_the_chosen_key_is_framed_among_the_bars(drawings: dict[str, Drawing]):
    shown(draw, query=QUERY, key=KEY)
    assert framed(drawings["heads-row"]) == [KEY]


def test_of_a_window_only_its_keys_are_in_the_row_each_at_its_place(expected: np.ndarray, drawings: dict[str, Drawing]):
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("quantity", "has_entropy"), [("pattern", True), ("log", True), ("scores", False), ("values", False)]
)
def test_only_weights_have_an_entropy(drawings: dict[str, Drawing], quantity: str, has_entropy: bool):
    shown(draw, query=QUERY, show=quantity)
    drawn = drawings["heads-row"]
    assert ("entropy" in str(drawn.figure.layout.title.subtitle.text)) == has_entropy
    assert drawn.csv[0][2] == quantity


def test_the_same_cell_is_drawn_in_all_heads(expected: np.ndarray, drawings: dict[str, Drawing]):
    shown(draw, query=QUERY, key=KEY)
    drawn, cells = drawings["heads-in-all"], expected[:, :, QUERY, KEY]
    np.testing.assert_allclose(drawn.cells(), cells, atol=1e-6)
    np.testing.assert_allclose(drawn.arrays["weight"], cells, atol=1e-6)
    assert drawn.title == "“sees” → “dog” in every head"
    assert drawn.csv[0] == ["layer", "head", "weight"]
    assert [line[:2] for line in drawn.csv[1:]] == [[str(layer), str(head)] for layer, head in np.ndindex(2, 4)]
    np.testing.assert_allclose([float(number) for number in drawn.column(2)], cells.ravel(), atol=1e-6)
    assert drawn.name == f"en-fr-encoder-query{QUERY}-key{KEY}"
    (frame,) = drawn.figure.layout.shapes
    assert ((frame.x0 + frame.x1) / 2, (frame.y0 + frame.y1) / 2) == (2, 1), "head 2 of layer 1"
    assert (drawn.figure.layout.coloraxis.cmin, drawn.figure.layout.coloraxis.cmax) == (0, 1)


def test_in_words_a_cell_is_that_of_all_their_tokens(drawings: dict[str, Drawing], expected: np.ndarray):
    shown(draw, query=QUERY, key=KEY, unit="word")
    np.testing.assert_allclose(drawings["heads-in-all"].cells(), expected[:, :, QUERY, 4:5].sum(axis=-1), atol=1e-6)


def test_without_a_query_there_is_a_hint_and_without_a_key_the_row_alone(drawings: dict[str, Drawing]):
    assert "Click a cell (or use the arrow keys" in words_of(shown(draw))
    assert not drawings
    app = shown(draw, key=KEY)
    assert "Click a cell (or use the arrow keys" in words_of(app) and not drawings
    app = shown(draw, query=QUERY)
    assert "Click a cell in this row to see it in every head." in words_of(app)
    assert [*drawings] == ["heads-row"] and framed(drawings["heads-row"]) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("most", "is_short", "is_drawn"),
    [(31, False, True), (30, False, False), (30, True, True)],  # the decoder reads 31 tokens
)
def test_a_cell_of_a_long_text_is_not_asked_of_every_head(
    drawings: dict[str, Drawing], monkeypatch: pytest.MonkeyPatch, most: int, is_short: bool, is_drawn: bool
):
    monkeypatch.setattr(cell, "MOST_IN_ALL", most)

    def drawn(data: HeadsData) -> None:
        maps = type(data.attention_maps)
        with monkeypatch.context() as patch:
            patch.setattr(maps, "is_short", property(lambda _: is_short))
            draw(data)

    app = shown(drawn, attention="cross", query=QUERY, key=KEY)
    assert ("heads-in-all" in drawings) == is_drawn
    assert (f"limited to texts of {most} tokens" in words_of(app)) == (not is_drawn)


@pytest.mark.slow
@pytest.mark.parametrize(("clicked", "is_opened"), [((0, 3), True), ((0, 0), True), (None, False)])
def test_a_head_that_is_clicked_is_seen_alone(clicked: tuple[int, int] | None, is_opened: bool):
    mix = (HeadShare(layer=0, head=1), HeadShare(layer=1, head=1))

    def click(_: HeadsData) -> None:
        cell._open(clicked)

    app = shown(click, attention="cross", mix=mix, mean="layer")
    chosen = tuple(app.session_state[part] for part in ("attention", "layer", "head"))
    assert chosen == (("cross", *clicked) if clicked else ("cross", 1, 2))
    kept = app.session_state[view_fields.MIX.key], app.session_state[view_fields.MEAN.key]
    assert kept == (((), "") if is_opened else (mix, "layer"))


def test_a_row_goes_over_all_keys_or_those_of_the_window():
    class Maps:
        shape = (2, 3, 9, 8)

    data = heads(run={"attention_maps": {"encoder": Maps}})
    assert cell._span_of_keys(data) == (0, 7)
