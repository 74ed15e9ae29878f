"""All heads as a still figure: each head's cells in their place, once, and nothing between them."""

import json
import math
import re
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from transformer_core.figures import DARK, LIGHT
from transformer_core.figures.heatmaps.all_heads import MOST_CELLS, all_heads, fit_side

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
    made = np.random.default_rng(seed)
    masks = {name: np.ones((SIZES[name][0], *SIZES[name][2:]), dtype=bool) for name in names}
    if "<Decoder>" in masks:  # a window in the middle layer
        masks["<Decoder>"] = np.stack([np.tri(4), np.tri(4) - np.tri(4, k=-2), np.tri(4)]).astype(bool)
    return {name: made.random(SIZES[name]).astype(np.float32) * masks[name][:, None] for name in names}, masks


def traces_of(figure: go.Figure) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data}


def cells_around(z: np.ndarray, x: float, y: float, like: np.ndarray) -> np.ndarray:
    """The cells around the middle of a head, each of its own once, where it is drawn as one cell."""
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


def test_heads_do_not_touch_and_lines_run_between_them():
    patterns, masks = some("Encoder")
    figure = all_heads(patterns, masks, title=TITLE)
    z = traces_of(figure)["attention"].z
    empty_columns, empty_rows = np.isnan(z).all(axis=0), np.isnan(z).all(axis=1)
    assert empty_columns.sum() == 2 and z.shape[1] == 3 * 6 + 2
    assert not empty_columns[[0, -1]].any() and not empty_rows[-1]
    (lines,) = figure.layout.shapes
    for column in np.flatnonzero(empty_columns):
        assert f"M{float(column)} " in lines.path
    assert lines.path.count("V") == 3 + 1 and lines.path.count("H") == 2 + 1


def test_the_lines_around_all_heads_are_within_the_axes_with_the_same_room_on_every_side():
    ((patterns, masks),) = [({"": of["Encoder"]} for of in some("Encoder"))]
    figure = all_heads(patterns, masks, title=TITLE, width=200)
    paths = " ".join(shape.path for shape in figure.layout.shapes)
    across = [float(x) for x in re.findall(r"[MH](-?[\d.]+)", paths)]
    down = [float(y) for y in re.findall(r"[V ](-?[\d.]+)", paths)]
    (left, right), (bottom, top) = figure.layout.xaxis.range, figure.layout.yaxis.range
    assert min(across) - left == right - max(across) == min(down) - top == bottom - max(down) == 0.5
    bar, layout = figure.layout.coloraxis.colorbar, figure.layout
    assert bar.len <= layout.height - layout.margin.t  # also where the heads take little room


def test_axes_number_layers_and_heads():
    figure = all_heads(*some(), title="<i>")
    xaxis, yaxis, words = figure.layout.xaxis, figure.layout.yaxis, traces_of(figure)["heads"]
    assert (xaxis.title.text, yaxis.title.text, xaxis.side) == ("head", "layer", "top")
    assert xaxis.ticktext == ("0", "1", "2") and yaxis.ticktext == ("0", "1", "0", "1", "2", "0")
    assert set(words.x) == set(xaxis.tickvals) and set(words.y) == set(yaxis.tickvals)
    assert yaxis.range[0] > max(yaxis.tickvals) > min(yaxis.tickvals) > yaxis.range[1]  # downwards
    assert figure.layout.title.text == "&lt;i&gt;"
    assert [note.text for note in figure.layout.annotations] == [
        "<b>Encoder</b>",
        "<b>&lt;Decoder&gt;</b>",
        "<b>Cross</b>",
    ]
    tops = [note.y for note in figure.layout.annotations]
    assert all(upper < lower for upper, lower in pairwise(tops))
    for name, note in zip(SIZES, figure.layout.annotations, strict=False):
        first = all_heads(*some(), title=TITLE, chosen=(name, 0, 0)).layout.shapes[-1]
        assert (note.x, note.y, note.xanchor, note.yanchor) == (first.x0, first.y0, "left", "bottom")


def test_hover_tells_which_head():
    words = traces_of(all_heads(*some("Encoder"), title=TITLE))["heads"]
    assert "L1.H2" in words.customdata and words.marker.opacity == 0


def test_cells_are_about_square_and_the_range_of_colors_is_fixed():
    patterns, masks = some()
    figure = all_heads({name: pattern / 9 for name, pattern in patterns.items()}, masks, title=TITLE, width=800)
    axis, layout = figure.layout.coloraxis, figure.layout
    assert (axis.cmin, axis.cmax) == (0, 1)
    across = (800 - layout.margin.l - layout.margin.r) / abs(np.subtract(*layout.xaxis.range))
    down = (layout.height - layout.margin.t - layout.margin.b) / abs(np.subtract(*layout.yaxis.range))
    assert 0.85 < across / down < 1.15
    assert all(trace.z.dtype == np.float32 for trace in figure.data if trace.type == "heatmap")


def test_the_chosen_head_has_a_frame_around_its_cells():
    patterns, masks = some()
    figure = all_heads(patterns, masks, title=TITLE, chosen=("<Decoder>", 2, 1))
    frame, words = figure.layout.shapes[-1], traces_of(figure)["heads"]
    place = [*words.customdata].index("&lt;Decoder&gt; L2.H1")
    x, y = words.x[place], words.y[place]
    assert (frame.x0 + frame.x1) / 2 == x and (frame.y0 + frame.y1) / 2 == y
    assert frame.x1 - frame.x0 > 6 and frame.y1 - frame.y0 > 4
    assert len(all_heads(patterns, masks, title=TITLE).layout.shapes) == 3


@pytest.mark.parametrize("chosen", [("Cross", 1, 0), ("Encoder", 0, -1), ("Nowhere", 0, 0)])
def test_a_head_that_is_not_there_cannot_be_framed(chosen: tuple[str, int, int]):
    with pytest.raises(ValueError, match="no head"):
        all_heads(*some(), title=TITLE, chosen=chosen)


def test_what_does_not_fit_is_told():
    patterns, masks = some("Encoder")
    with pytest.raises(ValueError, match="no head to draw"):
        all_heads({}, {}, title=TITLE)
    with pytest.raises(ValueError, match="no head to draw"):
        all_heads({"Encoder": patterns["Encoder"][:0]}, masks, title=TITLE)
    for wrong in (
        {},
        {"Encoder": masks["Encoder"][1:]},
        {"Encoder": masks["Encoder"][:, 1:]},
        {"Cross": masks["Encoder"]},
    ):
        with pytest.raises(ValueError, match="masks do not fit"):
            all_heads(patterns, wrong, title=TITLE)


@pytest.mark.parametrize("n_heads", [1, 12, 48, 144, 1024, 500_000])
def test_what_fits_is_drawn_with_at_most_so_many_cells(n_heads: int):
    side = fit_side(n_heads)
    assert 1 <= side <= math.isqrt(MOST_CELLS)
    assert n_heads * side**2 <= MOST_CELLS or side == 1
    with pytest.raises(ValueError, match="0 heads"):
        fit_side(0)


def test_numbers_never_crowd():
    mask = np.ones((48, 2, 2), dtype=bool)
    layout = all_heads({"": np.ones((48, 64, 2, 2))}, {"": mask}, title=TITLE, width=600).layout
    for axis, room in ((layout.xaxis, 600), (layout.yaxis, layout.height)):
        assert len(axis.tickvals) * 12 <= room and axis.ticktext[0] == "0"
    assert not layout.annotations  # without a title there is no name


def test_input_is_not_changed_and_the_theme_is_only_in_the_template():
    patterns, masks = some()
    before = {name: pattern.copy() for name, pattern in patterns.items()}
    chosen = ("Encoder", 0, 0)
    light, dark = (
        all_heads(patterns, masks, title=TITLE, chosen=chosen, theme=t).to_plotly_json() for t in (LIGHT, DARK)
    )
    for name, pattern in patterns.items():
        np.testing.assert_array_equal(pattern, before[name])
    assert light["layout"].pop("template") != dark["layout"].pop("template")
    assert json.dumps(light, default=str) == json.dumps(dark, default=str)
