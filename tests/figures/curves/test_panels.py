"""Panels above one axis: they do not overlap, their headers have room, and what is beside them does not collide."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from transformer_core.figures.curves.panels import Panel, panels_over_steps, wrapped
from transformer_core.figures.theme import LIGHT


def a_line(name: str = "", n: int = 5) -> go.Scatter:
    return go.Scatter(name=name, x=np.arange(n), y=np.linspace(0, 1, n), showlegend=bool(name))


def a_panel(height: int = 100, names: tuple[str, ...] = (), title: str = "A title", **more: Any) -> Panel:
    traces = [a_line(name) for name in names] or [a_line()]
    return Panel(title=title, height=height, axis={"range": [0, 1]}, traces=traces, **more)


def a_figure(
    panels: list[Panel],
    snapshot: int | None = None,
    *,
    ends: tuple[int, int] = (0, 100),
    log: bool = False,
    width: int = 560,
    height: int | None = None,
) -> go.Figure:
    return panels_over_steps(
        panels, ends=ends, log=log, snapshot=snapshot, hovermode="closest", theme=LIGHT, width=width, height=height
    )


def in_px(figure: go.Figure, fraction: float) -> float:
    """Where a fraction of the figure's paper lies, from its lower edge."""
    layout = figure.layout
    return layout.margin.b + fraction * (layout.height - layout.margin.t - layout.margin.b)


@pytest.mark.parametrize("n_panels", [1, 3, 5])
def test_each_panel_has_its_height_and_room_for_its_header(n_panels: int):
    names = ("one", "another", "a third")
    panels = [a_panel(60 + 20 * i, names[:i], title=f"panel {i}") for i in range(n_panels)]
    figure = a_figure(panels)
    axes = [figure.layout[f"yaxis{i + 1 if i else ''}"] for i in range(n_panels)]
    edges = [tuple(in_px(figure, end) for end in axis.domain) for axis in axes]
    for panel, (low, high) in zip(panels, edges, strict=True):
        assert high - low == pytest.approx(panel.height, abs=0.6)
    tops = [figure.layout.height, *(low for low, _ in edges)]
    for i, (panel, (_, high)) in enumerate(zip(panels, edges, strict=True)):
        assert tops[i] - high >= 17 + (19 if any(trace.showlegend for trace in panel.traces) else 0)
    assert figure.layout.xaxis.anchor == f"y{n_panels if n_panels > 1 else ''}"


def test_traces_lie_on_the_axes_of_their_panels_and_above_one_axis():
    figure = a_figure([a_panel(names=("one",)), a_panel(names=("two", "three"))])
    assert [(trace.name, trace.yaxis, trace.legend) for trace in figure.data] == [
        ("one", "y", "legend2"),
        ("two", "y2", "legend3"),
        ("three", "y2", "legend3"),
    ]
    assert {trace.xaxis for trace in figure.data} == {None}
    for axis, legend in zip(("yaxis", "yaxis2"), ("legend2", "legend3"), strict=True):
        room = in_px(figure, figure.layout[legend].y) - in_px(figure, figure.layout[axis].domain[1])
        assert room >= 19, "a row of names has room above the panel, below its title"
        assert figure.layout[legend].yanchor == "top"


def test_more_names_than_a_row_holds_get_more_room():
    few, many = (a_figure([a_panel(names=tuple(f"measure {i}" for i in range(n)))]) for n in (3, 11))
    assert many.layout.height - few.layout.height >= 2 * 17
    wide = a_figure([a_panel(names=tuple(f"measure {i}" for i in range(9)))], width=1400)
    assert wide.layout.height == few.layout.height


def test_names_that_a_narrow_figure_has_no_row_for_get_more_room():
    names = ("train", "smoothed", "held-out")
    narrow, wide = (a_figure([a_panel(names=names, levels={"one token back 2.79": 0.5})], width=w) for w in (350, 560))
    assert narrow.layout.height - wide.layout.height >= 17
    assert narrow.layout.legend2.y > wide.layout.legend2.y > wide.layout.yaxis.domain[1]


def test_a_height_can_be_asked_for():
    assert a_figure([a_panel()], height=333).layout.height == 333


@pytest.mark.parametrize(
    ("values", "anchors"),
    [
        ((0.2, 0.8), ("middle", "middle")),
        ((0.5, 0.63), ("top", "bottom")),
        ((0.5, 0.65), ("middle", "middle")),
        ((0.55, 0.5), ("top", "bottom")),
        ((0.5,), ("middle",)),
    ],
)
def test_labels_that_are_close_stand_apart(values: tuple[float, ...], anchors: tuple[str, ...]):
    """On a panel of 100 px from 0 to 1, a label takes 0.14."""
    panel = a_panel(100, levels={f"level {value}": value for value in values})
    figure = a_figure([panel])
    labels = sorted((a for a in figure.layout.annotations if a.text.startswith("level")), key=lambda a: a.y)
    assert tuple(label.yanchor for label in labels) == anchors
    assert all(label.xanchor == "left" and label.x == 1 for label in labels)
    assert sorted(shape.y0 for shape in figure.layout.shapes) == sorted(values)
    assert figure.layout.margin.r >= 11 * 6  # room for "level 0.55"


def test_the_end_of_a_line_has_a_label_and_no_level():
    figure = a_figure([a_panel(ends={"here": 0.4})])
    assert [a.y for a in figure.layout.annotations if a.text == "here"] == [0.4]
    assert not figure.layout.shapes


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(("snapshot", "anchor"), [(1, "left"), (60, "center"), (3000, "right")])
def test_a_snapshot_is_marked_in_every_panel_and_named_above_them(log: bool, snapshot: int, anchor: str):
    ends = (1, 3000)
    snapshot = 1500 if anchor == "center" and not log else snapshot
    plain, figure = (a_figure([a_panel(), a_panel()], m, log=log, ends=ends) for m in (None, snapshot))
    assert [(shape.yref, shape.x0, shape.x1) for shape in figure.layout.shapes] == [
        ("y domain", snapshot, snapshot),
        ("y2 domain", snapshot, snapshot),
    ]
    (label,) = (a for a in figure.layout.annotations if a.text == f"<b>step {snapshot:,}</b>")
    assert label.x == pytest.approx(np.log10(snapshot) if log else snapshot)  # as plotly places annotations
    assert label.xanchor == anchor
    title = figure.layout.annotations[0]
    if anchor == "right":  # where a page has buttons above the figure
        assert label.yshift == title.yshift
    if anchor == "left":  # where the title is
        assert label.yshift >= title.yshift + 17
    assert figure.layout.margin.t - plain.layout.margin.t >= 17


def test_a_note_stands_in_the_middle():
    panel = Panel(title="", height=80, axis={}, traces=[], note="nothing yet")
    (note,) = (a for a in a_figure([panel]).layout.annotations if a.text == "nothing yet")
    assert (note.x, note.y, note.yref) == (0.5, 0.5, "y domain")


def test_sentences_are_wrapped_and_are_no_markup():
    sentence = "<b>One</b> two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    lines = wrapped(sentence).split("<br>")
    assert len(lines) == 2 and all(len(line) <= 64 for line in lines)
    assert " ".join(lines) == sentence.replace("<", "&lt;").replace(">", "&gt;")
