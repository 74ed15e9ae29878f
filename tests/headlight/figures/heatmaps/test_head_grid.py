"""One number a head: where its cell lies, what it says, and one scale for all."""

from typing import Literal

import numpy as np
import pytest

from headlight.figures.heatmaps.head_grid import head_grid

VALUES = np.array([[0.1, 0.9, np.nan], [0.42, 0.0, 1.0]])
GROUPS = {"Encoder": np.full((6, 8), 0.5), "<Cross>": np.array([[-0.25, 2.0]])}


def test_layers_are_rows_heads_columns():
    figure = head_grid(VALUES, title="Effect")
    np.testing.assert_array_equal(figure.data[0].z, VALUES.astype(np.float32))
    assert tuple(figure.layout.yaxis.range) == (1.5, -0.5) and tuple(figure.layout.xaxis.range) == (-0.5, 2.5)
    (frame,) = head_grid(GROUPS, title="x", chosen=("<Cross>", 0, 1)).layout.shapes
    assert (frame.xref, frame.yref, frame.x0, frame.x1, frame.y0, frame.y1) == ("x2", "y2", 0.5, 1.5, -0.5, 0.5)


def test_the_range_is_that_of_all_groups_or_as_given():
    axis = head_grid(GROUPS, title="x", diverging=True).layout.coloraxis3
    assert (axis.cmin, axis.cmax) == (-2, 2)
    axis = head_grid(VALUES, title="x", limits=(0, 5), unit="nats").layout.coloraxis
    assert (axis.cmin, axis.cmax) == (0, 5) and axis.colorbar.title.text.startswith("nats")
    assert head_grid(np.full((1, 1), np.nan), title="x").layout.coloraxis.cmax == 1


@pytest.mark.parametrize("arranged", ["below", "beside"])
def test_groups_do_not_overlap_and_their_cells_are_alike(arranged: Literal["below", "beside"]):
    figure = head_grid(GROUPS, title="x", arranged=arranged, width=800)
    layout = figure.layout
    one, other = (layout.yaxis.domain, layout.yaxis2.domain), (layout.xaxis.domain, layout.xaxis2.domain)
    first, second = one if arranged == "below" else other
    if arranged == "below":
        assert second[1] < first[0]
        assert (first[1] - first[0]) / 6 == pytest.approx(second[1] - second[0])
    else:
        assert first[1] < second[0]
        assert (first[1] - first[0]) / 8 == pytest.approx((second[1] - second[0]) / 2)
    assert all(0 <= end <= 1 for domain in (*one, *other) for end in domain)
