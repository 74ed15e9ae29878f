"""Where the parameters are, as figures: bars, and shares that add up."""

import numpy as np
import pytest

from transformer_core.figures.architecture.hues import PART_HUES
from transformer_core.figures.architecture.parameters import in_words, parameter_bars, parameter_shares


def traces_of(figure: object) -> dict:
    return {trace.name: trace for trace in figure.data}  # type: ignore[attr-defined]


def test_bars_of_parameters_are_in_order_and_said_with_their_share():
    counts = {("encoder", "self-attention"): 3000, ("", "last layer"): 1000}
    figure = parameter_bars(counts, title="Parameters")
    (bars,) = figure.data
    assert list(bars.x) == [3000, 1000] and list(bars.text) == ["3.0 k · 75.0%", "1.0 k · 25.0%"]
    assert list(figure.layout.yaxis.ticktext) == ["self-attention (encoder)", "last layer"]
    assert list(bars.marker.color) == [PART_HUES["self-attention"], PART_HUES["last layer"]]
    assert in_words("both", "token embedding") == "token embedding (shared)"
    assert list(bars.y) == [0, 1] and figure.layout.xaxis.range == (0, 3000)
    assert figure.layout.yaxis.range == (1.5, -0.5)  # the first at the top
    assert bars.customdata[0] == "self-attention (encoder): 3,000 parameters"


@pytest.mark.parametrize(
    ("n", "text"),
    [(999, "999"), (1000, "1.0 k"), (99_999, "100.0 k"), (100_000, "100 k"), (7_240_000_000, "7.2 G")],
)
def test_numbers_of_parameters_are_short(n: int, text: str):
    assert parameter_bars({("", "last layer"): n}, title="x").data[0].text[0] == f"{text} · 100.0%"


def test_shares_of_each_model_add_up_to_one():
    models = {"<a>": {"feed-forward": 3, "positions": 1}, "b": {"feed-forward": 5}}
    figure = parameter_shares(models, title="Shares")
    total = sum(np.array(trace.x) for trace in figure.data)
    np.testing.assert_allclose(total, [1, 1])
    found = traces_of(figure)
    np.testing.assert_allclose([found["feed-forward"].x, found["positions"].x], [[0.75, 1], [0.25, 0]])
    assert all(list(trace.y) == [0, 1] for trace in figure.data) and figure.layout.yaxis.range == (1.5, -0.5)
    assert figure.layout.barmode == "stack" and figure.layout.xaxis.range == (0, 1)
    assert len(figure.data) == 2  # parts that no model has are left out
    assert "&lt;a&gt;" in figure.layout.yaxis.ticktext[0]
    assert "3 parameters, 75.0%" in traces_of(figure)["feed-forward"].customdata[0]
