"""The KV cache as a grid, and what its steps cost as lines."""

from typing import Any

import numpy as np
import pytest
from plotly.graph_objects import Figure

from headlight.figures.heatmaps.kv_cache import cost_lines, kv_cache_grid

READ = ("<bos>", "le", "chat")
SOURCE = ("the", "<cat>")


def figure(labels: tuple[str, ...] = READ, **more: Any) -> Figure:
    return kv_cache_grid(labels, **{"n_layers": 2, "n_cached": 2} | more)


def grids(drawn: Figure) -> list[Any]:
    return [trace for trace in drawn.data if trace.type == "heatmap"]


def test_each_layer_has_keys_and_below_them_values():
    (grid,) = grids(figure())
    stored_key, new_key, stored_value, new_value = range(4)
    keys, values = [stored_key, stored_key, new_key], [stored_value, stored_value, new_value]
    np.testing.assert_array_equal(grid.z, [keys, values, keys, values])
    assert grid.customdata[0][1].startswith("layer 0, key of token 1 'le':<br>cached at an earlier step")
    assert grid.customdata[3][2].startswith("layer 1, value of token 2 'chat':<br>computed at this step")
    assert figure().layout.yaxis.range == (3.5, -0.5)


def test_the_source_is_computed_at_the_first_step_and_stored_from_then_on():
    first, later = (grids(figure(READ[:n], n_cached=n - 1, source_labels=SOURCE))[0].z for n in (1, 2))
    np.testing.assert_array_equal(first[0], [1, 1])
    np.testing.assert_array_equal(later[0], [0, 0])
    drawn = figure(source_labels=SOURCE)
    assert list(drawn.layout.xaxis.ticktext) == ["the", "&lt;cat&gt;"]
    assert list(drawn.layout.xaxis2.ticktext) == ["&lt;bos&gt;", "le", "chat"]
    assert drawn.layout.xaxis.domain[1] < drawn.layout.xaxis2.domain[0]
    assert (drawn.layout.xaxis.domain[0], drawn.layout.xaxis2.domain[1]) == pytest.approx((0, 1))
    a, b = drawn.layout.xaxis, drawn.layout.xaxis2  # a position is as wide in both
    pitches = [(axis.domain[1] - axis.domain[0]) / (axis.range[1] - axis.range[0]) for axis in (a, b)]
    assert pitches[0] == pytest.approx(pitches[1])


@pytest.mark.parametrize(("n", "room"), [(1, 16), (16, 16), (17, 32), (200, 256)])
def test_it_stays_while_it_fills(n: int, room: int):
    drawn = figure(("x",) * n, n_cached=n - 1)
    assert drawn.layout.xaxis.range == (-0.5, room - 0.5)
    (frame,) = drawn.layout.shapes
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (-0.5, room - 0.5, -0.5, 3.5)


def test_costs_are_two_lines_from_zero_on():
    cached, uncached = np.array([10, 12, 14]), np.array([10, 20, 3000])
    drawn = cost_lines(cached, uncached, at=1)
    without, with_cache = drawn.data
    np.testing.assert_array_equal(without.y, uncached)
    np.testing.assert_array_equal(with_cache.y, cached)
    assert list(without.x) == list(with_cache.x) == [0, 1, 2] and without.line.color != with_cache.line.color
    low, high = drawn.layout.yaxis.range
    assert low == 0 and 3000 < high < 3300
