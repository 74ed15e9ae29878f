"""Panels above one axis: they do not overlap, their headers have room, and what is beside them does not collide."""

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headlight.figures.curves.panels import CurvePanel, log_ticks, panels_over_steps


def a_line(name: str = "", n: int = 5) -> go.Scatter:
    return go.Scatter(name=name, x=np.arange(n), y=np.linspace(0, 1, n), showlegend=bool(name))


def a_panel(height: int = 100, names: tuple[str, ...] = (), title: str = "A title", **more: Any) -> CurvePanel:
    traces = [a_line(name) for name in names] or [a_line()]
    return CurvePanel(title=title, height=height, axis={"range": [0, 1]}, traces=traces, **more)


def a_figure(panels: list[CurvePanel], snapshot: int | None = None, **more: Any) -> go.Figure:
    options: dict[str, Any] = {"last": 100, "hovermode": "closest"}
    return panels_over_steps(panels, snapshot=snapshot, **options | more)


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


@pytest.mark.parametrize(
    ("values", "anchors"),
    [
        ((0.2, 0.8), ("middle", "middle")),
        ((0.5, 0.63), ("top", "bottom")),
        ((0.5, 0.65), ("middle", "middle")),
    ],
)
def test_labels_that_are_close_stand_apart(values: tuple[float, ...], anchors: tuple[str, ...]):
    """On a panel of 100 px from 0 to 1, a label takes 0.14."""
    panel = a_panel(100, levels={f"level {value}": value for value in values})
    figure = a_figure([panel])
    labels = sorted((a for a in figure.layout.annotations if a.text.startswith("level")), key=lambda a: a.y)
    assert tuple(label.yanchor for label in labels) == anchors
    assert sorted(shape.y0 for shape in figure.layout.shapes) == sorted(values)


@pytest.mark.parametrize(("snapshot", "anchor"), [(1, "left"), (1500, "center"), (3000, "right")])
def test_a_snapshot_is_marked_in_every_panel_and_named_above_them(snapshot: int, anchor: str):
    plain, figure = (a_figure([a_panel(), a_panel()], place, last=3000) for place in (None, snapshot))
    assert [(shape.yref, shape.x0, shape.x1) for shape in figure.layout.shapes] == [
        ("y domain", snapshot, snapshot),
        ("y2 domain", snapshot, snapshot),
    ]
    (label,) = (a for a in figure.layout.annotations if a.text == f"<b>step {snapshot:,}</b>")
    assert (label.x, label.xanchor) == (snapshot, anchor)
    assert figure.layout.margin.t - plain.layout.margin.t >= 17


@pytest.mark.parametrize("last", [0, 1, 1800, 300_000])
def test_all_steps_are_within_the_range(last: int):
    low, high = a_figure([a_panel()], last=last).layout.xaxis.range
    room = 0.021 * max(last, 1)
    assert -room <= low < 0 and last < high <= last + room


@settings(max_examples=50)
@given(st.floats(1e-6, 1e6), st.floats(1.0, 1e6), st.integers(2, 8))
def test_ticks_are_few_round_and_seen(low: float, factor: float, n_most: int):
    high = low * factor
    ticks = log_ticks(low, high, n_most=n_most)
    assert 1 <= len(ticks) <= n_most
    assert ticks == sorted(ticks)
    for tick in ticks:
        assert low * (1 - 1e-6) <= tick <= high * (1 + 1e-6)
        mantissa = tick / 10 ** math.floor(math.log10(tick) + 1e-9)
        assert tick == low or mantissa == pytest.approx(round(mantissa))
