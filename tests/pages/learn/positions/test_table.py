"""The table of an encoding, as it is drawn and taken away: against the formula, and against a model's weights."""

import numpy as np
import pytest

import transformer_core as tc
from pages.learn.positions import table
from pages.learn.positions.data import PositionsData
from tests.pages.learn.bare import Bare, Drawn
from tests.pages.learn.positions.conftest import Look


def drawn_table(bare: Bare, data: PositionsData) -> Drawn:
    table.show(data)
    return bare.figures["positions-figure-table"]


def limits_of(drawn: Drawn) -> tuple[float, float]:
    """The ends of the colors."""
    scale = drawn.layout[drawn.figure.data[0].coloraxis]
    return scale["cmin"], scale["cmax"]


@pytest.mark.parametrize("n", [1, 3])
def test_each_cell_is_the_sine_or_cosine_that_its_column_says(bare: Bare, look: Look, n: int):
    drawn = drawn_table(bare, look("en-fr", "sinusoidal_interleaved", n=n, width=4))
    angles = np.arange(n)[:, None] / np.array([1.0, 100.0])
    expected = np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(n, 4)
    np.testing.assert_allclose(drawn.arrays["table"], expected, atol=1e-6)
    assert drawn.arrays["denominators"] == pytest.approx([1, 1, 100, 100])
    assert drawn.layout["xaxis"]["ticktext"] == [
        f"{function}<br>÷ {below}" for below in ("1.00000", "100.000") for function in ("sin", "cos")
    ]
    assert drawn.rows[0] == "position,dimension,value" and len(drawn.rows) == 1 + n * 4
    assert drawn.rows[-1].startswith(f"{n - 1},3,")
    assert float(drawn.rows[-1].split(",")[2]) == pytest.approx(np.cos((n - 1) / 100))
    assert drawn.title == f"Sinusoidal, interleaved: {n} positions, 4 dimensions"


def test_a_cell_names_its_position_first_and_the_function_of_its_column(bare: Bare, look: Look):
    drawn = drawn_table(bare, look("en-fr", "sinusoidal_halves", n=3, width=4))
    words = drawn.figure.data[0].customdata
    assert words[2][1].startswith("position 2 → dimension 1, sin(position / 100.000): 0.0200")
    assert words[1][2].startswith("position 1 → dimension 2, cos(position / 1.00000): 0.5403")


@pytest.mark.parametrize(
    ("encoding", "width", "cut"),
    [
        ("sinusoidal_halves", 8, 3.5),
        ("sinusoidal_halves", 2, None),
        ("sinusoidal_interleaved", 8, None),
        ("rotary_halves", 6, 2.5),
    ],
)
def test_a_line_divides_the_sines_from_the_cosines_where_they_are_two_halves(
    bare: Bare, look: Look, encoding: str, width: int, cut: float | None
):
    lines = drawn_table(bare, look("en-fr", encoding, n=2, width=width)).layout.get("shapes", [])
    assert [(line["x0"], line["x1"]) for line in lines] == ([] if cut is None else [(cut, cut)])


@pytest.mark.parametrize(("width", "has_words"), [(16, True), (18, False)])
def test_the_columns_of_a_small_table_say_their_function(bare: Bare, look: Look, width: int, has_words: bool):
    ticks = drawn_table(bare, look("en-fr", "sinusoidal_halves", n=2, width=width)).layout["xaxis"]["ticktext"]
    assert ("sin" in ticks[0]) == has_words


def test_learned_rows_are_the_models_without_limits_or_functions(bare: Bare, look: Look):
    model, _ = tc.load("checkpoints/stories")
    rows = next(weights for name, weights in model.named_parameters() if "pos" in name).detach().numpy()
    drawn = drawn_table(bare, look("stories", "learned", n=5))
    np.testing.assert_allclose(drawn.arrays["table"], rows[:5], atol=1e-7)
    assert drawn.arrays["denominators"].size == 0
    assert drawn.title == "Learned: 5 positions, 128 dimensions, of the decoder"
    assert "shapes" not in drawn.layout
    low, high = limits_of(drawn)
    assert high == pytest.approx(np.abs(rows[:5]).max()) and low == -high
    assert limits_of(drawn_table(bare, look("stories", "sinusoidal_halves", n=5, width=4))) == (-1, 1)


@pytest.mark.parametrize(("n", "height"), [(1, 330), (14, 344), (30, 600), (31, 600)])
def test_a_table_is_as_high_as_its_rows_within_limits(bare: Bare, look: Look, n: int, height: int):
    assert drawn_table(bare, look("en-fr", "sinusoidal_halves", n=n, width=4)).layout["height"] == height


@pytest.mark.parametrize(
    ("encoding", "model", "words"),
    [
        ("sinusoidal_halves", "en-fr", "sines on the left"),
        ("sinusoidal_interleaved", "en-fr", "sines and cosines alternate"),
        ("learned", "stories", "no structure is built in"),
        ("rotary_interleaved", "fill-in", "multiplied instead of added"),
    ],
)
def test_what_to_look_for_is_of_the_encoding(bare: Bare, look: Look, encoding: str, model: str, words: str):
    drawn_table(bare, look(model, encoding, n=2))
    assert words in bare.words
