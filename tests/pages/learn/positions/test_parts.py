"""An encoding on its own, drawn bare: its table, waves, products and biases, against the formulas and the weights."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transformer_core as tc
from pages.learn.positions import bias, products, table, view_fields
from pages.learn.positions.data import PositionsData
from pages.shared import models
from pages.shared.models import ModelCard
from tests.model import by_hand
from tests.pages.conftest import EXAMPLES
from tests.pages.learn.bare import Bare, Drawn
from tests.pages.learn.positions.conftest import Look

OF = "positions-figure-{}".format


def drawn_table(bare: Bare, data: PositionsData) -> Drawn:
    table.show(data)
    return bare.figures["positions-figure-table"]


def test_the_published_table_is_in_the_cells_with_the_function_of_each_column(bare: Bare, look: Look):
    drawn = drawn_table(bare, look("en-fr", "sinusoidal_interleaved", n=10, width=6))
    shown = {
        (y, x): float(text.replace("\u2212", "-"))
        for trace in drawn.figure.data[1:]
        for y, x, text in zip(trace.y, trace.x, trace.text, strict=True)
    }
    assert shown == {(y, x): round(by_hand.sinusoid(y, x, 6), 4) for y, x in np.ndindex(10, 6)}
    over = ["1.00000", "21.5443", "464.159"]
    assert drawn.layout["xaxis"]["ticktext"] == [f"{name}<br>÷ {below}" for below in over for name in ("sin", "cos")]
    assert drawn.arrays["denominators"] == pytest.approx([float(below) for below in over for _ in range(2)], rel=1e-5)
    assert drawn.rows[0] == "position,dimension,value" and len(drawn.rows) == 61
    assert drawn.rows[-1].startswith("9,5,") and float(drawn.rows[-1][4:]) == pytest.approx(
        by_hand.sinusoid(9, 5, 6), abs=5e-5
    )
    assert drawn.title == "Sinusoidal, interleaved: 10 positions, 6 dimensions"
    words = drawn_table(bare, look("en-fr", "sinusoidal_halves", n=3, width=4)).figure.data[0].customdata
    assert words[2][1].startswith("position 2 → dimension 1, sin(position / 100.000): 0.0200")


def test_learned_rows_are_the_models_without_limits_or_functions(bare: Bare, look: Look):
    model, _ = tc.load("checkpoints/stories")
    rows = next(weights for name, weights in model.named_parameters() if "pos" in name).detach().numpy()[:5]
    drawn = drawn_table(bare, look("stories", "learned", n=5))
    np.testing.assert_allclose(drawn.arrays["table"], rows, atol=1e-7)
    assert drawn.arrays["denominators"].size == 0 and "shapes" not in drawn.layout
    bare.clear()
    table.waves(look("stories", "learned", "waves", n=5, dims=(7,)))
    assert [*bare.figures] == [OF("waves")], "there are no wavelengths"
    np.testing.assert_allclose(bare.figures[OF("waves")].arrays["values"][:, 0], rows[:, 7], atol=1e-7)


def test_the_chosen_waves_are_drawn_with_their_names_and_taken_away(bare: Bare, look: Look):
    table.waves(look("en-fr", "sinusoidal_interleaved", "waves", n=5, width=4, dims=(3, 0, 4)))
    drawn = bare.figures[OF("waves")]
    positions = np.arange(5)
    expected = np.stack([np.cos(positions / 100), np.sin(positions)], axis=1)
    np.testing.assert_allclose(drawn.arrays["values"], expected, atol=1e-6)
    assert drawn.arrays["dimensions"].tolist() == [3, 0], "there is no dimension 4"
    assert [trace.name for trace in drawn.figure.data if trace.name] == ["3: cos, λ 628.3", "0: sin, λ 6.3"]
    assert [row.split(",")[:2] for row in drawn.rows[1:3]] == [["0", "3"], ["0", "0"]] and len(drawn.rows) == 11
    widget = bare.widgets["positions-dims-box"]
    assert widget.options == [0, 1, 2, 3] and widget.names[2] == "2: sin, λ 628.3"
    for taken, value in (([2, 1], (2, 1)), ([], None)):
        bare.session["positions-dims-box"] = taken
        widget.how["on_change"]()
        assert view_fields.DIMENSIONS.value == value
    table.waves(look("en-fr", "sinusoidal_halves", "waves", n=5, width=8, dims=(8, 9)))
    assert bare.figures[OF("waves")].arrays["dimensions"].size > 1, "none of the chosen is there"


def test_wavelengths_rise_in_each_half_or_over_all_between_marked_ends(bare: Bare, look: Look):
    table.waves(look("en-fr", "sinusoidal_halves", "waves", n=5, width=6))
    drawn = bare.figures[OF("wavelengths")]
    lengths = 2 * np.pi * 10_000 ** (np.arange(3) / 3)
    np.testing.assert_allclose(drawn.arrays["wavelengths"], [*lengths, *lengths], rtol=1e-5)
    table.waves(look("en-fr", "sinusoidal_interleaved", "waves", n=5, width=6))
    np.testing.assert_allclose(bare.figures[OF("wavelengths")].arrays["wavelengths"], lengths.repeat(2), rtol=1e-5)


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
    curves = {trace.name: np.array(trace.y) for trace in left.figure.data if trace.name}
    np.testing.assert_allclose(curves["without rotation"], unturned, atol=1e-6)
    assert (curves["after rotation"] > 0).all(), "an exact 0 has no place on an axis of powers"
    assert "depends on the shift, not on the position" in bare.words
    text = f"|PE(pos + 2) − R PE(pos)| is at most {left.arrays['turned'].max():.1e} at all 4 positions"
    assert text in bare.words and f"without R it is up to {unturned.max():.2f}." in bare.words


def test_of_a_wide_shift_the_fastest_pairs_are_drawn_and_all_is_taken_away(bare: Bare, look: Look):
    products.show_shift(look("en-fr", "sinusoidal_halves", "shift", n=6, width=40, shift=1))
    drawn = [*range(16), *range(20, 36)]
    figure = bare.figures[OF("shift")]
    whole = figure.arrays["matrix"]
    assert whole.shape == (40, 40)
    np.testing.assert_allclose(np.array(figure.figure.data[0].z), whole[np.ix_(drawn, drawn)], atol=1e-7)


def in_legend(bare: Bare) -> list[str]:
    traces = bare.figures[OF("bias")].figure.data
    return [trace.name for trace in traces if trace.name and trace.showlegend is not False]


@pytest.mark.parametrize(
    ("model", "chosen", "n_heads"), [("induction", None, 4), ("en-fr", None, 8), ("induction", 2, 2)]
)
def test_alibi_has_the_published_slopes_of_as_many_heads_as_the_model_has_or_were_chosen(
    bare: Bare, look: Look, model: str, chosen: int | None, n_heads: int
):
    bias.show(look(model, "alibi", "bias", n=4, heads=chosen, slope=1))
    slopes = 2.0 ** (-8 * np.arange(1, n_heads + 1) / n_heads)
    lines, matrix = bare.figures[OF("bias")], bare.figures[OF("bias-matrix")]
    np.testing.assert_allclose(lines.arrays["bias"], -slopes[:, None] * np.arange(4), rtol=1e-6)
    assert lines.arrays["distance"].tolist() == [0, 1, 2, 3]
    assert lines.rows[0] == "head,distance,bias" and lines.rows[2].startswith("0,1,-")
    query, key = np.tril_indices(4)
    np.testing.assert_allclose(matrix.arrays["bias"][query, key], -slopes[1] * (query - key), rtol=1e-6, atol=1e-9)
    assert matrix.title == "Bias of head 1" and matrix.rows[0] == "query,key,bias"
    assert in_legend(bare) == [f"head {head}: slope {slope:.4g}" for head, slope in enumerate(slopes)]
    assert matrix.figure.data[0].customdata[3][1].startswith("query at 3 → key at 1: added −")
    assert bare.session["positions-heads-box"] == n_heads
    assert bare.widgets["positions-slope-box"].options == [*range(n_heads)]


@pytest.fixture(scope="module")
def of_buckets(tmp_path_factory: pytest.TempPathFactory) -> ModelCard:
    """A small model with biases in both stacks."""
    folder = tmp_path_factory.mktemp("models") / "buckets"
    tokenizer = tc.train_tokenizer(EXAMPLES, kind="word", vocab_size=60)
    sizes: dict[str, Any] = {"vocab_size": tokenizer.vocab_size, "d_model": 12, "d_ff": 8, "n_heads": 3}
    config = tc.ModelConfig(**sizes, n_encoder_layers=1, n_decoder_layers=1, positions="relative_buckets")
    tc.save(folder, tc.build(config, seed=1), tokenizer, {"title": "Buckets", "examples": [*EXAMPLES]})
    return models._card(Path(folder))


@pytest.mark.parametrize(("attention", "stack"), [("encoder", "encoder"), ("cross", "decoder")])
def test_learned_biases_are_of_the_chosen_stack_and_head(
    bare: Bare, look: Look, of_buckets: ModelCard, attention: str, stack: str
):
    model, _ = tc.load(of_buckets.path)
    weights = dict(model.named_parameters())
    (name,) = (name for name in weights if name.startswith(stack) and weights[name].shape == (32, 3))
    table = weights[name].detach().numpy()
    bias.show(look(of_buckets, "relative_buckets", "bias", n=4, attention=attention, slope=2))
    matrix = bare.figures[OF("bias-matrix")]
    query, key = np.tril_indices(4)
    np.testing.assert_allclose(matrix.arrays["bias"][query, key], table[query - key, 2], atol=1e-7)
    bias.show(look(of_buckets, "relative_buckets", "bias", n=2, slope=3))
    assert bare.figures[OF("bias-matrix")].title == "Bias of head 2", "a head beyond the last"


@pytest.mark.parametrize("sees", ["past", "all"])
def test_short_distances_have_a_bucket_each_and_what_a_query_cannot_see_has_none(bare: Bare, look: Look, sees: str):
    bias.show(look("en-fr", "relative_buckets", "bias", n=5, sees=sees))
    drawn, curve = bare.figures[OF("bucket-matrix")], bare.figures[OF("buckets")]
    later = np.nan if sees == "past" else 16
    expected = [[q - k if k <= q else later + k - q for k in range(5)] for q in range(5)]
    np.testing.assert_array_equal(drawn.arrays["bucket"], expected)
    by_distance = dict(zip(curve.arrays["distance"].tolist(), curve.arrays["bucket"].tolist(), strict=True))
    assert [by_distance[-distance] for distance in range(5)] == [0, 1, 2, 3, 4]
    assert (4 in by_distance) == (sees == "all") and by_distance.get(4, 20) == 20
    assert curve.rows[0] == "distance,of,number" and curve.rows[1].split(",")[1] == "bucket"
    assert drawn.rows[0] == "query,key,bucket" and drawn.rows[1] in ("0,0,0", "0,0,0.0")
    assert drawn.figure.data[0].customdata[3][1].startswith("query at 3 → key at 1: bucket 2")
    assert "English to French has no such biases" in bare.words
    assert bare.widgets["positions-sees-segments"].names == ["earlier tokens", "the whole text"]


def test_the_slider_of_a_shift_goes_up_to_the_last_row_and_is_there_from_three_rows_on(bare: Bare, look: Look):
    products.show_shift(look("en-fr", "sinusoidal_halves", "shift", n=3, width=4, shift=9))
    assert bare.session["positions-shift-box"] == 2
    products.show_shift(look("en-fr", "sinusoidal_halves", "shift", n=2, width=4))
    assert not bare.widgets
