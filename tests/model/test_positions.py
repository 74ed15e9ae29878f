"""Position encodings against the published table, the formula cell by cell, and their own geometry."""

import math

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

# As published: d_model = 6, positions 0 to 9, rounded to 4 decimals.
PUBLISHED = """
 0.0000  1.0000  0.0000  1.0000  0.0000  1.0000
 0.8415  0.5403  0.0464  0.9989  0.0022  1.0000
 0.9093 -0.4161  0.0927  0.9957  0.0043  1.0000
 0.1411 -0.9900  0.1388  0.9903  0.0065  1.0000
-0.7568 -0.6536  0.1846  0.9828  0.0086  1.0000
-0.9589  0.2837  0.2300  0.9732  0.0108  0.9999
-0.2794  0.9602  0.2749  0.9615  0.0129  0.9999
 0.6570  0.7539  0.3192  0.9477  0.0151  0.9999
 0.9894 -0.1455  0.3629  0.9318  0.0172  0.9999
 0.4121 -0.9111  0.4057  0.9140  0.0194  0.9998
"""
ROWS = [[float(cell) for cell in line.split()] for line in PUBLISHED.strip().splitlines()]
SIZES = pytest.mark.parametrize("n_positions, d_model", [(10, 6), (20, 512), (100, 2), (64, 48)])


@pytest.mark.parametrize("column", range(6))
@pytest.mark.parametrize("pos", range(10))
def test_published_cell(pos: int, column: int):
    value = sinusoidal_table(10, 6)[pos, column].item()
    assert round(value, 4) == ROWS[pos][column]


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


@pytest.mark.parametrize("k", [1, 2, 7, 31])
@pytest.mark.parametrize("d_model", [6, 48])
def test_a_step_of_k_is_one_rotation_a_frequency(d_model: int, k: int):
    """PE(pos + k) = R_k PE(pos) for all pos, with R_k block-diagonal and free of pos. Source: sec. 3.5."""
    rotation = torch.zeros(d_model, d_model, dtype=torch.float64)
    for pair in range(d_model // 2):
        angle = k / 10000 ** (2 * pair / d_model)
        cos, sin = math.cos(angle), math.sin(angle)
        block = slice(2 * pair, 2 * pair + 2)
        rotation[block, block] = torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)
    table = sinusoidal_table(64, d_model).double()
    torch.testing.assert_close(table[:-k] @ rotation.T, table[k:], rtol=0, atol=2e-7)
    torch.testing.assert_close(rotation @ rotation.T, torch.eye(d_model, dtype=torch.float64))


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
