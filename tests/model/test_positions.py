"""Position encodings against the formula, cell by cell."""

import pytest
import torch

from tests.model import by_hand
from tests.model.building import odd_config
from transformer_core.model.positions import (
    LearnedPositions,
    SinusoidalPositions,
    build_positions,
    sinusoidal_table,
)

SIZES = pytest.mark.parametrize("n_positions, d_model", [(10, 6), (20, 512), (100, 2), (64, 48)])


@SIZES
def test_each_cell_is_the_formula_s_to_the_last_bit(n_positions: int, d_model: int):
    """Computed in float64, so that float32 holds the nearest value, or its neighbour where libraries differ."""
    expected = torch.tensor(
        [[by_hand.sinusoid(pos, column, d_model) for column in range(d_model)] for pos in range(n_positions)],
        dtype=torch.float64,
    )
    table = sinusoidal_table(n_positions, d_model)
    assert table.dtype == torch.float32
    torch.testing.assert_close(table.double(), expected, rtol=2**-24 * 1.001, atol=1e-15)


def test_far_positions_are_exact_too():
    """In float32 throughout, position 100,000 would be off by some thousandths."""
    table = sinusoidal_table(100_001, 4)
    expected = [by_hand.sinusoid(100_000, column, 4) for column in range(4)]
    torch.testing.assert_close(table[-1].double(), torch.tensor(expected, dtype=torch.float64), rtol=1e-7, atol=1e-9)


@SIZES
def test_halves_are_the_same_columns_sines_left_cosines_right(n_positions: int, d_model: int):
    interleaved = sinusoidal_table(n_positions, d_model, "interleaved")
    halves = sinusoidal_table(n_positions, d_model, "halves")
    assert torch.equal(halves[:, : d_model // 2], interleaved[:, 0::2])
    assert torch.equal(halves[:, d_model // 2 :], interleaved[:, 1::2])


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_the_sinusoidal_module_gives_rows_of_the_table(layout: str):
    positions = build_positions(odd_config(positions=f"sinusoidal_{layout}"))
    assert isinstance(positions, SinusoidalPositions)
    table = sinusoidal_table(24, 48, "halves" if layout == "halves" else "interleaved")
    assert torch.equal(positions(0, 24), table)
    assert torch.equal(positions(5, 3), table[5:8])
    assert not list(positions.parameters()) and not positions.state_dict()


def test_learned_positions_are_trained_rows():
    positions = build_positions(odd_config(positions="learned"))
    assert isinstance(positions, LearnedPositions)
    torch.nn.init.normal_(positions.table)
    assert torch.equal(positions(5, 3), positions.table[5:8])
    positions(5, 3).sum().backward()
    expected = torch.zeros(24, 48)
    expected[5:8] = 1.0
    assert positions.table.grad is not None and torch.equal(positions.table.grad, expected)
