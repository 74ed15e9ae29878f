"""One score by its sources, as a heatmap with sums."""

import json

import numpy as np
import pytest

from transformer_core.analysis.walkthrough.sources import SourceName
from transformer_core.figures import DARK, LIGHT, Figure
from transformer_core.figures.bars.score_sources import MOST_SOURCES, score_sources_heatmap

PARTS = np.array([[3.0, -1.5, 0.25], [0.5, 0.0, -4.0]])
ROWS, COLUMNS = ("token", "<position>"), ("token", "position", "L0.H1")


def drawn(values: np.ndarray = PARTS, rows=ROWS, columns=COLUMNS, **options) -> Figure:
    return score_sources_heatmap(values, rows, columns, query="query 7 'it'", key="key 1 '<b>'", title="Why", **options)


def test_cells_and_their_sums_are_the_parts_of_the_score():
    inner, of_rows, of_columns, whole = drawn().data[:4]
    np.testing.assert_array_equal(inner.z, PARTS.astype(np.float32))
    np.testing.assert_array_equal(of_rows.z, [[1.75], [-3.5]])
    np.testing.assert_array_equal(of_columns.z, [[3.5, -1.5, -3.75]])
    np.testing.assert_array_equal(whole.z, [[-1.75]])
    assert (of_rows.x0, of_columns.y0) == (3, 2)  # behind the last source
    axis = drawn().layout.coloraxis3
    assert (axis.cmin, axis.cmax) == (-4.0, 4.0)


def test_rows_are_the_querys_sources_and_hover_is_in_words():
    figure = drawn()
    assert figure.layout.yaxis.title.text == "source of query 7 'it'"
    assert figure.layout.xaxis.title.text == "source of key 1 '&lt;b&gt;'"
    assert figure.layout.yaxis.ticktext == ("token", "&lt;position&gt;", "<b>total</b>")
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # the first at the top
    told = figure.data[0].customdata[1][2]
    assert told == "query 7 'it': &lt;position&gt;<br>key 1 '&lt;b&gt;': L0.H1<br>\u22124.00"
    assert figure.data[0].customdata[0][0].endswith("<br>+3.00")


def test_the_strongest_pair_is_said():
    assert drawn().layout.title.subtitle.text == "Largest contribution: &lt;position&gt; × L0.H1 \u22124.00"


def test_numbers_stand_in_all_cells():
    large = drawn(PARTS * 5)
    assert {"+15.0", "\u221220.0", "+1.25"} <= {text for trace in large.data[4:] for text in trace.text}
    pale, deep = (trace for trace in drawn().data if trace.type == "scatter")
    written = {(y, x): text for trace in (pale, deep) for x, y, text in zip(trace.x, trace.y, trace.text, strict=True)}
    assert [[float(written[row, column].replace("\u2212", "-")) for column in range(4)] for row in range(3)] == [
        [3, -1.5, 0.25, 1.75],
        [0.5, 0, -4, -3.5],
        [3.5, -1.5, -3.75, -1.75],
    ]
    assert "\u22124.00" in deep.text and "+0.25" in pale.text


def test_lines_part_the_cells_from_their_sums():
    layout = drawn().layout
    assert (layout.xaxis.range, layout.yaxis.range) == ((-0.5, 3.5), (2.5, -0.5))
    assert layout.margin.l == 7 * len("<position>") + 22  # for labels and a title
    level, upright = layout.shapes
    assert (level.x0, level.x1, level.y0, level.y1) == (-0.5, 3.5, 1.5, 1.5)
    assert (upright.x0, upright.x1, upright.y0, upright.y1) == (2.5, 2.5, -0.5, 2.5)
    longer = drawn(columns=("token", "position", "a name as long as names may be")).layout
    assert (layout.xaxis.tickangle, longer.xaxis.tickangle) == (0, -45) and longer.margin.b > layout.margin.b + 80


def test_of_many_sources_the_largest_are_drawn_and_nothing_is_lost():
    random = np.random.default_rng(0)
    values = random.normal(size=(40, 30))
    values[37, 4] = 50.0
    names = [f"L{place // 4}.H{place % 4}" for place in range(40)]
    inner, *_, whole = drawn(values, names, names[:30]).data[:4]
    assert inner.z.shape == (MOST_SOURCES, MOST_SOURCES)
    np.testing.assert_allclose(inner.z.sum(), values.sum(), rtol=1e-5)
    np.testing.assert_allclose(whole.z[0][0], values.sum(), rtol=1e-5)
    ticks = drawn(values, names, names[:30]).layout.yaxis.ticktext
    assert "L9.H1" in ticks and ticks[-2] == "29 others"
    assert [name for name in names if name in ticks] == [tick for tick in ticks if tick in names]  # in their order


def test_names_must_fit():
    with pytest.raises(ValueError, match="2 rows and 3 columns, but 1 and 3 names"):
        drawn(rows=("token",))


def test_input_is_not_changed_and_the_theme_is_only_in_the_template():
    before = PARTS.copy()
    light, dark = (drawn(theme=theme).to_plotly_json() for theme in (LIGHT, DARK))
    np.testing.assert_array_equal(PARTS, before)
    assert light["layout"].pop("template") != dark["layout"].pop("template")
    assert json.dumps(light, default=str) == json.dumps(dark, default=str)


def test_in_a_narrow_window_the_rows_can_be_told_apart_and_have_their_numbers():
    """A window of 1024 px leaves the figure about 690."""
    sources = [SourceName(kind="head", layer=0, head=head, attention="cross") for head in range(MOST_SOURCES)]
    names = [str(source.label()) for source in sources]
    values = np.arange(MOST_SOURCES**2, dtype=np.float64).reshape(MOST_SOURCES, MOST_SOURCES)
    figure = drawn(values, names, names)
    assert figure.layout.yaxis.ticktext[:-1] == tuple(names)
    assert figure.layout.meta["textFromWidth"] <= 690
