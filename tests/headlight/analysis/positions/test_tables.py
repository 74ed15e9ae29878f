"""Tables of positions against the published one, against sines and cosines one by one, and against the model's own."""

import math

import numpy as np
import pytest

from headlight.analysis.positions.tables import fixed_table, learned_table, rotary_config, spread_dimensions
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
