"""What the parts of the page Positions have alike: what is drawn can be taken away, number by number."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pages.learn.positions import drawing
from transformer_core.figures.curves.position_curves import Line
from transformer_core.figures.heatmaps.position_matrix import Side
from transformer_core.figures.theme import LIGHT


class Sheet:
    """Keeps what is drawn, and what is given to be taken away."""

    data: Any = SimpleNamespace(encoding="rotary_halves", card=SimpleNamespace(path=None))
    figure: Any
    given: dict[str, Any]

    def draw(self, figure: Any, *, files: Any, **_: Any) -> None:
        self.figure, self.given = figure, files()


@pytest.fixture
def sheet(monkeypatch: pytest.MonkeyPatch) -> Sheet:
    monkeypatch.setattr(drawing, "lines_of", lambda data: "print(1)")
    monkeypatch.setattr(drawing, "theme", lambda: LIGHT)
    monkeypatch.setattr(drawing.state, "in_words", dict)
    monkeypatch.setattr(drawing.export, "files", dict)
    sheet = Sheet()
    monkeypatch.setattr(drawing.figures, "live_figure", sheet.draw)
    return sheet


def side(n: int) -> Side:
    return Side(title="place", words=[f"place {place}" for place in range(n)])


def test_of_a_part_of_a_matrix_the_whole_is_taken_away(sheet: Sheet):
    whole = np.arange(9.0).reshape(3, 3)
    drawing.draw_matrix(
        sheet.data,
        whole[:2, :2],
        side(2),
        side(2),
        name="shift",
        axes=("to", "from"),
        quantity="value",
        array="matrix",
        whole=whole,
        title="R",
    )
    lines = sheet.given["csv"]().split()
    assert lines[0] == "to,from,value"
    assert lines[1:] == [f"{row},{column},{whole[row, column]}" for row in range(3) for column in range(3)]
    assert sheet.given["arrays"]()["matrix"] is whole
    assert np.shape(sheet.figure.data[0].z) == (2, 2)
    assert (sheet.given["name"], sheet.given["code"]) == ("positions-rotary-halves-shift", "print(1)")


def test_curves_are_columns_of_the_table_and_other_arrays_are_not(sheet: Sheet):
    low, high = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    arrays = {"low": low, "high": high, "k": np.array(7)}
    drawing.draw_curves(
        sheet.data,
        np.array([-1, 0]),
        [Line(name="low", values=low), Line(name="high", values=high)],
        name="residual",
        axis="distance",
        arrays=arrays,
        columns=("low", "high"),
        quantity="number",
        title="two curves",
        x_title="distance",
        y_title="number",
    )
    assert sheet.given["csv"]().split() == [
        "distance,of,number",
        "-1,low,1.0",
        "-1,high,3.0",
        "0,low,2.0",
        "0,high,4.0",
    ]
    assert sheet.given["arrays"]() == arrays
    assert [trace.name for trace in sheet.figure.data] == ["low", "high"]
