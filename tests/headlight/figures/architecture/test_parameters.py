"""Where the parameters are, as figures: bars, and shares that add up."""

import numpy as np

from headlight.figures.architecture.hues import PART_HUES
from headlight.figures.architecture.parameters import parameter_bars, parameter_shares


def traces_of(figure: object) -> dict:
    return {trace.name: trace for trace in figure.data}  # type: ignore[attr-defined]


def test_bars_of_parameters_are_in_order_and_said_with_their_share():
    counts = {("encoder", "self-attention"): 3000, ("", "last layer"): 1000}
    figure = parameter_bars(counts, title="Parameters")
    (bars,) = figure.data
    assert list(bars.x) == [3000, 1000] and list(bars.text) == ["3.0 k · 75.0%", "1.0 k · 25.0%"]
    assert list(figure.layout.yaxis.ticktext) == ["self-attention (encoder)", "last layer"]
    assert list(bars.marker.color) == [PART_HUES["self-attention"], PART_HUES["last layer"]]
    assert bars.customdata[0] == "self-attention (encoder): 3,000 parameters"


def test_shares_of_each_model_add_up_to_one():
    models = {"<a>": {"feed-forward": 3, "positions": 1}, "b": {"feed-forward": 5}}
    figure = parameter_shares(models, title="Shares")
    total = sum(np.array(trace.x) for trace in figure.data)
    np.testing.assert_allclose(total, [1, 1])
    found = traces_of(figure)
    np.testing.assert_allclose([found["feed-forward"].x, found["positions"].x], [[0.75, 1], [0.25, 0]])
    assert len(figure.data) == 2  # parts that no model has are left out
