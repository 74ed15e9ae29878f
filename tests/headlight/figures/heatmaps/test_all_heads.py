"""All heads as a still figure: each head's cells in their place, once, and nothing between them."""

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from headlight.figures.heatmaps.all_heads import MOST_CELLS, all_heads, fit_side

SIZES = {
    "Encoder": (2, 3, 6, 6),
    "<Decoder>": (3, 3, 4, 4),
    "Cross": (1, 2, 3, 6),
    "Narrow": (1, 2, 2, 4),
}  # layer head row column
TITLE = "Attention of every head"


def some(*names: str, seed: int = 0) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Patterns and masks of some of these attentions; no two weights are alike."""
    names = names or tuple(SIZES)[:3]
    result = np.random.default_rng(seed)
    masks = {name: np.ones((SIZES[name][0], *SIZES[name][2:]), dtype=bool) for name in names}
    if "<Decoder>" in masks:  # a window in the middle layer
        masks["<Decoder>"] = np.stack([np.tri(4), np.tri(4) - np.tri(4, k=-2), np.tri(4)]).astype(bool)
    return {name: result.random(SIZES[name]).astype(np.float32) * masks[name][:, None] for name in names}, masks


def traces_of(figure: go.Figure) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data}


def cells_around(z: np.ndarray, x: float, y: float, like: np.ndarray) -> np.ndarray:
    """The cells around the middle of a head, each distinct cell once, where the head is drawn as one cell."""
    n_rows, n_columns = like.shape
    top, left = round(y - (n_rows - 1) / 2), round(x - (n_columns - 1) / 2)
    return z[top : top + n_rows, left : left + n_columns]


def test_every_head_is_drawn_whole_where_its_words_are():
    patterns, masks = some(*SIZES)
    figure = all_heads(patterns, masks, title=TITLE)
    traces = traces_of(figure)
    z, blank, words = traces["attention"].z, traces["masked"].z, traces["heads"]
    places = dict(zip(words.customdata, zip(words.x, words.y, strict=True), strict=True))
    assert len(places) == sum(n_layers * n_heads for n_layers, n_heads, *_ in SIZES.values())
    n_allowed = n_forbidden = 0
    for name, of_heads in patterns.items():
        escaped = name.replace("<", "&lt;").replace(">", "&gt;")
        times = 6 // of_heads.shape[2], 6 // of_heads.shape[3]  # the cells of smaller patterns are drawn as several
        for layer, head in np.ndindex(*of_heads.shape[:2]):
            x, y = places[f"{escaped} L{layer}.H{head}"]
            expected = np.where(masks[name][layer], of_heads[layer, head], np.nan)
            expected = np.kron(np.where(np.isnan(expected), -1, expected), np.ones(times)).astype(np.float32)
            drawn = cells_around(z, x, y, expected)
            np.testing.assert_array_equal(np.nan_to_num(drawn, nan=-1), expected)
            np.testing.assert_array_equal(cells_around(blank, x, y, expected) == 0, expected == -1)
            n_allowed += int((expected >= 0).sum())
            n_forbidden += int((expected < 0).sum())
    assert np.isfinite(z).sum() == n_allowed and np.isfinite(blank).sum() == n_forbidden  # and nothing else


def test_axes_number_layers_and_heads():
    figure = all_heads(*some(), title=TITLE)
    xaxis, yaxis, words = figure.layout.xaxis, figure.layout.yaxis, traces_of(figure)["heads"]
    assert xaxis.ticktext == ("0", "1", "2") and yaxis.ticktext == ("0", "1", "0", "1", "2", "0")
    assert set(words.x) == set(xaxis.tickvals) and set(words.y) == set(yaxis.tickvals)
    names = [note.text for note in figure.layout.annotations]
    assert names == ["<b>Encoder</b>", "<b>&lt;Decoder&gt;</b>", "<b>Cross</b>"]


def test_the_chosen_head_has_a_frame_around_its_cells():
    patterns, masks = some()
    figure = all_heads(patterns, masks, title=TITLE, chosen=("<Decoder>", 2, 1))
    frame, words = figure.layout.shapes[-1], traces_of(figure)["heads"]
    place = [*words.customdata].index("&lt;Decoder&gt; L2.H1")
    x, y = words.x[place], words.y[place]
    assert (frame.x0 + frame.x1) / 2 == x and (frame.y0 + frame.y1) / 2 == y


def test_what_does_not_fit_is_told():
    patterns, masks = some("Encoder")
    with pytest.raises(ValueError, match="no head to draw"):
        all_heads({"Encoder": patterns["Encoder"][:0]}, masks, title=TITLE)
    mask = masks["Encoder"]
    for wrong in ({}, {"Encoder": mask[1:]}, {"Encoder": mask[:, 1:]}, {"Cross": mask}):
        with pytest.raises(ValueError, match="masks do not fit"):
            all_heads(patterns, wrong, title=TITLE)


def test_what_fits_is_drawn_with_at_most_so_many_cells():
    for n_heads in (1, 12, 48, 144, 1024, 500_000):
        side = fit_side(n_heads)
        assert 1 <= side <= math.isqrt(MOST_CELLS)
        assert n_heads * side**2 <= MOST_CELLS or side == 1
    with pytest.raises(ValueError, match="0 heads"):
        fit_side(0)
