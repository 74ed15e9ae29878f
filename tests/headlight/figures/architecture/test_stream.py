"""The residual stream as a figure, against numpy's own quantiles."""

import numpy as np
import pytest

from headlight.figures.architecture.stream import MOST_LINES, stream_figure


def traces_of(figure: object) -> dict:
    return {trace.name: trace for trace in figure.data}  # type: ignore[attr-defined]


@pytest.mark.parametrize("n_positions", [3, MOST_LINES + 1])
def test_the_stream_is_drawn_position_by_position_or_as_a_band(n_positions: int):
    rng = np.random.default_rng(0)
    sums = rng.uniform(1, 9, size=(3, n_positions))
    added = rng.uniform(1, 9, size=(2, n_positions))
    shares = added / sums[:-1]
    figure = stream_figure(
        sums,
        added,
        shares,
        places=["embedding", "0 self-attention", "0 feed-forward"],
        hues=["#112233", "#445566"],
        tokens=[f"t{i}" for i in range(n_positions)],
        title="Residual stream",
        read=sums / 2,
    )
    actual = traces_of(figure)
    np.testing.assert_allclose(actual["median"].y, np.median(sums, axis=1))
    np.testing.assert_allclose(actual["median after normalization"].y, np.median(sums, axis=1) / 2)
    np.testing.assert_allclose(actual["added"].y, np.median(shares, axis=1))
    low, high = np.quantile(shares, (0.1, 0.9), axis=1)
    np.testing.assert_allclose(actual["added"].y + actual["added"].error_y.array, high)
    np.testing.assert_allclose(actual["added"].y - actual["added"].error_y.arrayminus, low)
    lines = [trace for trace in figure.data if trace.name == "position"]
    assert len(lines) == (n_positions if n_positions <= MOST_LINES else 0)
    assert ("10th to 90th percentile" in actual) == (n_positions > MOST_LINES)
    if n_positions > MOST_LINES:
        bounds = np.quantile(sums, (0.1, 0.9), axis=1)
        for name, bound in zip(("low", "10th to 90th percentile"), bounds, strict=True):
            np.testing.assert_allclose(actual[name].y, bound)
    assert list(actual["added"].x) == [1, 2]  # below the block that adds
    for position, line in enumerate(lines):
        np.testing.assert_array_equal(line.y, sums[:, position])
        place, length = "0 self-attention", f"{sums[1, position]:.3g}"
        assert line.customdata[1] == f"{place}: norm {length} at position {position} 't{position}'"
