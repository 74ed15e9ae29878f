"""Tables of positions, their products and shifts, against the formulas of the papers."""

import math

import numpy as np
import pytest

from headlight.analysis.positions.tables import (
    PositionTable,
    by_distance,
    fixed_table,
    learned_table,
    rotary_config,
    shift,
    spread_dimensions,
    table_products,
    turned_products,
)
from tests.model.building import both_stacks, odd_config, shaken_model, varied_model
from transformer_core.config import Positions
from transformer_core.errors import ConfigError


@pytest.mark.parametrize(
    ("encoding", "sine", "cosine"),
    [
        ("sinusoidal_halves", lambda pair: pair, lambda pair: 8 + pair),
        ("sinusoidal_interleaved", lambda pair: 2 * pair, lambda pair: 2 * pair + 1),
        ("rotary_halves", lambda pair: pair, lambda pair: 8 + pair),
        ("rotary_interleaved", lambda pair: 2 * pair, lambda pair: 2 * pair + 1),
    ],
)
def test_columns_are_what_they_are_said_to_be(encoding: Positions, sine, cosine):
    table = fixed_table(encoding, 30, 16)
    for pair in range(8):
        denominator = 10_000 ** (2 * pair / 16)
        for place, function, of in ((sine(pair), "sin", math.sin), (cosine(pair), "cos", math.cos)):
            column = table.columns[place]
            assert (column.function, column.pair) == (function, pair)
            assert column.denominator == pytest.approx(denominator, rel=1e-6)
            assert column.wavelength == pytest.approx(2 * math.pi * denominator, rel=1e-6)
            expected = [of(pos / denominator) for pos in range(30)]
            np.testing.assert_allclose(table.values[:, place], expected, atol=2e-7)


def test_a_rotary_models_base_and_scaling_are_taken():
    like = odd_config(positions="rotary_halves", rotary_base=500.0, rotary_scaling="linear", rotary_scaling_factor=4.0)
    table = fixed_table("rotary_halves", 5, 8, like)
    assert [column.denominator for column in table.columns[:4]] == pytest.approx(
        [4 * 500 ** (2 * pair / 8) for pair in range(4)]
    )
    assert rotary_config("rotary_interleaved", 8, odd_config()).rotary_base == 10_000
    factors = {"rotary_scaling": "longrope", "rotary_pair_factors": (1.0, 2.0), "rotary_fraction": 0.5}
    long = odd_config(positions="rotary_halves", d_head=8, **factors)
    for width, expected in ((4, (1.0, 2.0)), (8, ())):  # the rotated part of a head, and another width
        assert rotary_config("rotary_halves", width, long).rotary_pair_factors == expected


def test_a_learned_table_is_the_models_own():
    model = shaken_model(odd_config(positions="learned"))
    encoder, decoder = both_stacks(model)
    for name, stack in (("encoder", encoder), ("decoder", decoder)):
        actual = learned_table(model, name)
        np.testing.assert_array_equal(actual.values, stack.pos_embed.table.detach().numpy())
        assert actual.columns == ()
    assert spread_dimensions(actual) == (0, 12, 24, 36)


def test_what_cannot_be_is_said():
    with pytest.raises(ConfigError, match=r"width \(7\) must be even"):
        fixed_table("sinusoidal_halves", 4, 7)
    with pytest.raises(ConfigError, match="alibi has no sines and cosines"):
        fixed_table("alibi", 4, 8)
    with pytest.raises(ConfigError, match="no learned positions in its encoder"):
        learned_table(varied_model("decoder"), "encoder")
    with pytest.raises(ConfigError, match="shifted by 0 to 4"):
        shift(fixed_table("sinusoidal_halves", 5, 8), 5)
    with pytest.raises(ConfigError, match="a shift is not a rotation"):
        shift(PositionTable(values=np.zeros((3, 4), dtype=np.float32), columns=()), 1)


def test_sinusoidal_products_depend_on_the_distance_alone_and_begin_at_half_the_width():
    actual = by_distance(table_products(fixed_table("sinusoidal_halves", 40, 32).values))
    assert actual.spread < 1e-5
    assert actual.mean[0] == pytest.approx(16)
    assert actual.mean[0] == actual.mean.max()


@pytest.mark.parametrize("encoding", ["rotary_halves", "rotary_interleaved"])
def test_turned_products_are_the_mean_of_turned_unit_numbers(encoding):
    actual = turned_products(rotary_config(encoding, 8), 12)
    speeds = 10_000.0 ** (-np.arange(0, 8, 2) / 8)
    angles = speeds * (np.arange(12)[:, None] - np.arange(12))[..., None]
    np.testing.assert_allclose(actual, np.cos(angles).mean(axis=-1), atol=1e-6)
    assert by_distance(actual).spread < 1e-6


def test_by_distance_takes_each_pair_above_the_diagonal():
    products = np.array([[1.0, 2.0, 7.0], [2.0, 3.0, 6.0], [7.0, 6.0, 5.0]])
    actual = by_distance(products)
    np.testing.assert_array_equal(actual.mean, [3, 4, 7])
    np.testing.assert_array_equal(actual.least, [1, 2, 7])
    np.testing.assert_array_equal(actual.most, [5, 6, 7])
    assert actual.spread == 4


@pytest.mark.parametrize("encoding", ["sinusoidal_halves", "sinusoidal_interleaved"])
@pytest.mark.parametrize("k", [0, 1, 7, 40])
def test_every_row_is_turned_onto_the_row_k_places_on(encoding, k: int):
    table = fixed_table(encoding, 64, 16)
    actual = shift(table, k)
    assert actual.turned.max() < 5e-7 and len(actual.turned) == 64 - k
    np.testing.assert_allclose(actual.matrix @ actual.matrix.T, np.eye(16), atol=1e-6)
    np.testing.assert_allclose(
        actual.unturned, np.abs(table.values[k:] - table.values[: 64 - k]).max(axis=1), atol=1e-7
    )
    if k:
        assert actual.unturned.min() > 1000 * actual.turned.max()


def test_a_table_that_is_no_such_table_is_found_out():
    """The residual can fail: another number in one row is seen there, and in the row that is k places before."""
    table = fixed_table("sinusoidal_halves", 20, 8)
    values = table.values.copy()
    values[11, 3] += 0.25
    actual = shift(PositionTable(values=values, columns=table.columns), 3)
    assert set(np.flatnonzero(actual.turned > 0.1)) == {8, 11}
