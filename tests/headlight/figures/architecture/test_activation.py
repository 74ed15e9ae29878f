"""A captured activation as a figure: every number is drawn where it belongs, and said in words."""

import numpy as np
import pytest

from headlight.figures.architecture.activation import activation_figure
from headlight.figures.heatmaps.cells import FORBIDDEN

COUNTS = np.array([1, 4, 1])
EDGES = np.array([-3.0, -1.0, 1.0, 3.0])
CELLS = np.array([[1.0, -2.0, 0.0], [0.5, 3.0, 0.0]], dtype=np.float32)


def traces_of(figure: object) -> dict:
    return {trace.name: trace for trace in figure.data}  # type: ignore[attr-defined]


def test_an_activation_is_drawn_with_its_lengths_and_its_spread():
    lengths = np.linalg.norm(CELLS, axis=1)
    figure = activation_figure(CELLS, ["The", "<cat>"], title="x", lengths=lengths, counts=COUNTS, edges=EDGES)
    actual = traces_of(figure)
    np.testing.assert_array_equal(actual["cells"].z, CELLS)
    np.testing.assert_allclose(actual["lengths"].x, lengths)
    assert list(actual["lengths"].y) == [0, 1] and actual["lengths"].orientation == "h"
    np.testing.assert_array_equal(actual["spread"].y, COUNTS)
    np.testing.assert_allclose(actual["spread"].x, [-2, 0, 2])
    assert figure.layout.coloraxis3.cmin == -3 and figure.layout.coloraxis3.cmax == 3
    assert figure.layout.yaxis.range == (1.5, -0.5)  # the first position is at the top
    assert list(figure.layout.yaxis.ticktext) == ["The", "&lt;cat&gt;"]
    assert figure.layout.meta["words"]["queries"][1] == "position 1 '&lt;cat&gt;'"
    assert "blocks" not in figure.layout.meta
    layout = figure.layout
    assert 0 == layout.xaxis.domain[0] < layout.xaxis.domain[1] < layout.xaxis2.domain[0] < layout.xaxis2.domain[1] == 1
    assert 0 == layout.yaxis3.domain[0] < layout.yaxis3.domain[1] < layout.yaxis.domain[0] < layout.yaxis.domain[1] == 1


def test_an_activation_of_many_numbers_says_what_its_cells_stand_for():
    figure = activation_figure(
        CELLS,
        [str(i) for i in range(5)],
        title="x",
        rows=np.array([0, 2]),
        columns=np.array([0, 3, 6]),
        n_columns=10,
        counts=COUNTS,
        edges=EDGES,
    )
    assert figure.layout.meta["blocks"] == {"queries": [0, 2, 5], "keys": [0, 3, 6, 10]}
    assert figure.layout.meta["words"]["keys"] == ["dimensions 0 to 2", "dimensions 3 to 5", "dimensions 6 to 9"]
    assert list(figure.data[0].x) == [-0.5, 2.5, 5.5, 9.5]
    assert "lengths" not in traces_of(figure)


def test_what_is_no_number_is_neutral_and_what_is_not_signed_begins_at_zero():
    cells = np.array([[0.5, np.nan]], dtype=np.float32)
    figure = activation_figure(cells, ["a"], title="x", counts=np.array([1]), edges=np.array([0.0, 0.5]))
    actual = traces_of(figure)
    assert actual[FORBIDDEN].coloraxis == "coloraxis2" and actual["cells"].coloraxis == "coloraxis"
    with pytest.raises(ValueError, match="one edge more"):
        activation_figure(cells, ["a"], title="x", counts=np.array([1]), edges=np.array([0.0]))
