"""Dot products of positions, how they fall with the distance, and the turn of a shift: as drawn and taken away."""

import numpy as np
import pytest

import transformer_core as tc
from pages.learn.positions import products
from tests.pages.learn.bare import Bare
from tests.pages.learn.positions.conftest import Look
from transformer_core.figures.theme import KEY, QUERY

OF = "positions-figure-{}".format


def test_products_of_a_table_are_all_against_all_and_the_curve_has_their_mean_and_limits(bare: Bare, look: Look):
    """Sines and cosines: the product is the sum of cosines of the distance."""
    products.show(look("en-fr", "sinusoidal_halves", "products", n=4, width=4))
    distances = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    expected = np.cos(distances) + np.cos(distances / 100)
    matrix, decay = bare.figures[OF("products")], bare.figures[OF("decay")]
    np.testing.assert_allclose(matrix.arrays["products"], expected, atol=1e-5)
    np.testing.assert_allclose(decay.arrays["mean"], expected[0], atol=1e-5)
    assert matrix.rows[0] == "position,other,product" and decay.rows[0] == "distance,of,product"
    assert [row.split(",")[:2] for row in decay.rows[1:4]] == [["0", "mean"], ["0", "least"], ["0", "most"]]
    assert matrix.figure.data[0].customdata[3][1].startswith("position 3 → position 1: dot product ")
    assert "The largest difference between two products at the same distance is" in bare.words
    assert "it is d/2" in bare.words


def test_products_of_learned_positions_differ_at_a_distance_and_the_band_spans_them(bare: Bare, look: Look):
    model, _ = tc.load("checkpoints/stories")
    rows = next(weights for name, weights in model.named_parameters() if "pos" in name).detach().double().numpy()[:5]
    products.show(look("stories", "learned", "products", n=5))
    expected = rows @ rows.T
    decay = bare.figures[OF("decay")]
    both = [[expected[i, i - d] for i in range(d, 5)] for d in range(5)]
    for name, of in (("mean", np.mean), ("least", np.min), ("most", np.max)):
        np.testing.assert_allclose(decay.arrays[name], [of(one) for one in both], rtol=1e-4, atol=1e-5)
    assert any(trace.fill for trace in decay.figure.data)
    drawn = np.concatenate([np.array(trace.y, dtype=float) for trace in decay.figure.data])
    np.testing.assert_allclose([drawn.min(), drawn.max()], [expected.min(), expected.max()], rtol=1e-4)
    spread = max(max(one) - min(one) for one in both)
    assert f"at the same distance is {spread:.2g}." in bare.words
    assert "band around the curve" in bare.words


def test_one_vector_is_turned_to_queries_as_rows_and_keys_as_columns(bare: Bare, look: Look):
    products.show(look("en-fr", "rotary_interleaved", "products", n=3, width=4))
    drawn = bare.figures[OF("products")]
    distances = np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    np.testing.assert_allclose(drawn.arrays["products"], (np.cos(distances) + np.cos(distances / 100)) / 2, atol=1e-5)
    titles = [drawn.layout[axis]["title"] for axis in ("yaxis", "xaxis")]
    assert ["query position" in titles[0]["text"], "key position" in titles[1]["text"]] == [True, True]
    assert [QUERY in str(titles[0]), KEY in str(titles[1])] == [True, True]
    assert "one vector, rotated" in bare.words


@pytest.mark.parametrize(("n", "has_numbers"), [(12, True), (13, False)])
def test_a_small_matrix_has_its_numbers_in_its_cells(bare: Bare, look: Look, n: int, has_numbers: bool):
    products.show(look("en-fr", "sinusoidal_halves", "products", n=n, width=4))
    assert (len(bare.figures[OF("products")].figure.data) > 1) == has_numbers


def test_a_shift_turns_each_row_to_the_row_k_places_on(bare: Bare, look: Look):
    products.show_shift(look("en-fr", "sinusoidal_interleaved", "shift", n=6, width=4, shift=2))
    angles = np.arange(6)[:, None] / np.array([1.0, 100.0])
    rows = np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(6, 4)
    drawn = bare.figures[OF("shift")]
    np.testing.assert_allclose(rows[2:], rows[:-2] @ drawn.arrays["matrix"].T, atol=1e-6)
    assert drawn.title == "R for k = 2: a rotation of each pair" and drawn.rows[0] == "to,from,value"
    assert drawn.figure.data[0].customdata[0][1].startswith("dimension 0 → dimension 1: 0.91"), "sin 2: from the cosine"
    assert "at pos + k" in drawn.layout["yaxis"]["title"]["text"]
    left = bare.figures[OF("residual")]
    unturned = np.abs(rows[2:] - rows[:-2]).max(axis=1)
    np.testing.assert_allclose(left.arrays["unturned"], unturned, atol=1e-6)
    assert (left.arrays["turned"] < 1e-6).all() and left.arrays["turned"].shape == (4,) and left.arrays["k"] == 2
    assert [row.split(",")[:2] for row in left.rows[1:3]] == [["0", "turned"], ["0", "unturned"]]
    curves = {trace.name: np.array(trace.y) for trace in left.figure.data if trace.name}
    np.testing.assert_allclose(curves["without rotation"], unturned, atol=1e-6)
    assert (curves["after rotation"] > 0).all(), "an exact 0 has no place on an axis of powers"
    assert "depends on the shift, not on the position" in bare.words
    told = f"|PE(pos + 2) − R PE(pos)| is at most {left.arrays['turned'].max():.1e} at all 4 positions"
    assert told in bare.words and f"without R it is up to {unturned.max():.2f}." in bare.words


def test_the_slider_of_a_shift_goes_up_to_the_last_row_and_is_there_from_three_rows_on(bare: Bare, look: Look):
    products.show_shift(look("en-fr", "sinusoidal_halves", "shift", n=3, width=4, shift=9))
    assert bare.widgets["positions-shift-box"].how["limits"] == (1, 2) and bare.session["positions-shift-box"] == 2
    products.show_shift(look("en-fr", "sinusoidal_halves", "shift", n=2, width=4))
    assert not bare.widgets


@pytest.mark.parametrize(
    ("encoding", "width", "drawn"),
    [
        ("sinusoidal_halves", 32, [*range(32)]),
        ("sinusoidal_halves", 40, [*range(16), *range(20, 36)]),
        ("sinusoidal_interleaved", 40, [*range(32)]),
    ],
)
def test_of_a_wide_shift_the_fastest_pairs_are_drawn_and_all_is_taken_away(
    bare: Bare, look: Look, encoding: str, width: int, drawn: list[int]
):
    products.show_shift(look("en-fr", encoding, "shift", n=6, width=width, shift=1))
    figure = bare.figures[OF("shift")]
    whole = figure.arrays["matrix"]
    assert whole.shape == (width, width) and len(figure.rows) == 1 + width**2
    np.testing.assert_allclose(np.array(figure.figure.data[0].z), whole[np.ix_(drawn, drawn)], atol=1e-7)
    assert ("the fastest 16 of 20 pairs" in figure.title) == (width > 32)
    assert figure.layout["xaxis"]["ticktext"][-1] in {str(place) for place in drawn}
