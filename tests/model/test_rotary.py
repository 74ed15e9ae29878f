"""Rotary positions against complex numbers in float64, and the property that they are there for."""

import cmath
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import transformer_core as tc
from tests.model.building import DECODER, odd_config, random_tokens, shaken_model
from transformer_core.model.rotary import RotaryPositions, rotary_frequencies
from transformer_core.model.transformer import assemble

LAYOUTS = pytest.mark.parametrize("layout", ["halves", "interleaved"])
CPU = torch.device("cpu")


def rotary(layout: str = "halves", **changes: Any) -> RotaryPositions:
    return RotaryPositions(odd_config(positions=f"rotary_{layout}", **changes))


def turned_by_hand(x: list[float], pos: int, layout: str, frequencies: list[float]) -> list[float]:
    """One vector: each pair is a complex number, times e^(i pos frequency); what belongs to no pair stays."""
    n = len(frequencies)
    pairs = [(i, i + n) if layout == "halves" else (2 * i, 2 * i + 1) for i in range(n)]
    out = list(x)
    for (a, b), frequency in zip(pairs, frequencies, strict=True):
        z = complex(x[a], x[b]) * cmath.exp(1j * pos * frequency)
        out[a], out[b] = z.real, z.imag
    return out


def test_frequencies_by_hand():
    """base^(-2i / d_rotated)."""
    expected = torch.tensor([1.0, 0.1, 0.01], dtype=torch.float64)
    config = odd_config(positions="rotary_halves", d_head=6, rotary_base=1000.0)
    torch.testing.assert_close(rotary_frequencies(config), expected)
    of_base_10000 = [10000 ** (-2 * i / 16) for i in range(8)]
    assert rotary_frequencies(odd_config(positions="rotary_halves")).tolist() == pytest.approx(of_base_10000)


def test_only_the_rotated_part_counts():
    config = odd_config(positions="rotary_halves", d_head=12, rotary_fraction=0.5, rotary_base=1000.0)
    assert rotary_frequencies(config).tolist() == pytest.approx([1.0, 0.1, 0.01])


def test_linear_scaling_slows_every_turn():
    plain, scaled = (
        rotary_frequencies(odd_config(positions="rotary_halves", **changes))
        for changes in ({}, {"rotary_scaling": "linear", "rotary_scaling_factor": 2.5})
    )
    torch.testing.assert_close(scaled, plain / 2.5)


def llama3_by_hand(frequency: float, *, factor: float, low: float, high: float, original: int) -> float:
    """Three cases by the wavelength. Source: the code that was released with Llama 3.1 (`apply_scaling`)."""
    wavelength = 2 * math.pi / frequency
    if wavelength < original / high:
        return frequency
    if wavelength > original / low:
        return frequency / factor
    smooth = (original / wavelength - low) / (high - low)
    return (1 - smooth) * frequency / factor + smooth * frequency


@pytest.mark.parametrize(
    "factor, low, high, original", [(8.0, 1.0, 4.0, 8192), (32.0, 1.0, 4.0, 64), (3.0, 2.0, 9.0, 400)]
)
def test_llama3_s_scaling(factor: float, low: float, high: float, original: int):
    config = odd_config(
        positions="rotary_halves",
        d_head=64,
        rotary_scaling="llama3",
        rotary_scaling_factor=factor,
        rotary_low_freq_factor=low,
        rotary_high_freq_factor=high,
        rotary_original_len=original,
    )
    plain = [10000 ** (-2 * i / 64) for i in range(32)]
    expected = [llama3_by_hand(f, factor=factor, low=low, high=high, original=original) for f in plain]
    assert rotary_frequencies(config).tolist() == pytest.approx(expected, rel=1e-12)
    slower = {round(e / f, 9) for e, f in zip(expected, plain, strict=True)}
    assert {1.0, round(1 / factor, 9)} < slower  # all three cases are seen


@LAYOUTS
@pytest.mark.parametrize("rotary_fraction", [1.0, 0.5])
@pytest.mark.parametrize("first", [0, 9])
def test_pairs_are_complex_numbers_that_are_turned(layout: str, rotary_fraction: float, first: int):
    """In float64, from angles that are kept in float32."""
    positions = rotary(layout, rotary_fraction=rotary_fraction, rotary_base=50.0)
    x = torch.randn(2, 3, 5, 16, dtype=torch.float64)
    turned = positions(first, 5, CPU).rotate(x)
    n_pairs = int(8 * rotary_fraction)
    frequencies = [50.0 ** (-i / n_pairs) for i in range(n_pairs)]
    for pos in range(5):
        for b, h in ((0, 0), (1, 2)):
            expected = turned_by_hand(x[b, h, pos].tolist(), first + pos, layout, frequencies)
            assert turned[b, h, pos].tolist() == pytest.approx(expected, abs=1e-6)
    assert torch.equal(turned[..., 2 * n_pairs :], x[..., 2 * n_pairs :])


@LAYOUTS
def test_a_product_depends_on_the_distance_alone(layout: str):
    """q_m . k_n = g(q, k, m - n). Source: Su et al. 2021, sec. 3.2.1, eq. (11)."""
    positions, n = rotary(layout, rotary_fraction=0.75), 12
    q, k = torch.randn(16, dtype=torch.float64), torch.randn(16, dtype=torch.float64)

    def products(first: int) -> Tensor:
        rotation = positions(first, n, CPU)
        turned_q, turned_k = (rotation.rotate(x.expand(1, 1, n, 16))[0, 0] for x in (q, k))
        return turned_q @ turned_k.T  # [query, key]

    near = products(0)
    for distance in range(-n + 1, n):
        diagonal = near.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), rtol=0, atol=2e-6)
    torch.testing.assert_close(products(1000), near, rtol=0, atol=2e-5)
    assert near[0].std() > 0.1  # and it does depend on the distance


def test_far_positions_are_exact_too():
    """In float32 throughout, position 100,000 would be off by some thousandths."""
    rotation = rotary()(100_000, 1, CPU)
    for pair in range(8):
        angle = 100_000 * 10000 ** (-pair / 8)
        assert rotation.cos[0, pair].item() == pytest.approx(math.cos(angle), abs=1e-7)
        assert rotation.sin[0, pair].item() == pytest.approx(math.sin(angle), abs=1e-7)


def test_there_is_nothing_to_train_or_store_and_numbers_without_memory_for_weights():
    config = odd_config(**DECODER, positions="rotary_halves")
    model = assemble(config, device="meta")
    assert not any("rotary" in name for name in model.state_dict())
    rotary = None if model.decoder is None else model.decoder.rotary_in(0)
    assert rotary is not None and rotary.frequencies.device.type == "cpu"
    with torch.device("meta"):  # somebody assembles another model meanwhile
        assert rotary(0, 3, CPU).cos.device.type == "cpu"


def of_heads(projection: nn.Module, x: Tensor) -> Tensor:
    """[batch, pos, d_model] -> [batch, head, pos, d_head], not turned."""
    return projection(x).unflatten(-1, (-1, 16)).transpose(1, 2)


@LAYOUTS
@torch.no_grad()
def test_in_self_attention_queries_and_keys_are_turned_and_values_are_not(layout: str):
    model = shaken_model(odd_config(positions=f"rotary_{layout}", n_kv_heads=1))
    with tc.capture(model, "*.0.hook_resid_pre", "*.0.self_attn.hook_[qkv]") as acts:
        model(random_tokens([7], vocab_size=37), random_tokens([5], vocab_size=37))
    for stack, n in (("encoder", 7), ("decoder", 5)):
        self_attn, rotation = model.get_submodule(f"{stack}.blocks.0.self_attn"), rotary(layout)(0, n, CPU)
        for stem, turn in (("q", rotation.rotate), ("k", rotation.rotate), ("v", lambda x: x)):
            projected = of_heads(self_attn.get_submodule(stem), acts[f"{stack}.blocks.0.hook_resid_pre"])
            torch.testing.assert_close(acts[f"{stack}.blocks.0.self_attn.hook_{stem}"], turn(projected))


@torch.no_grad()
def test_in_cross_attention_nothing_is_turned():
    """A distance between a source and a target means nothing."""
    model = shaken_model(odd_config(positions="rotary_halves"))
    src, tgt = random_tokens([7], vocab_size=37), random_tokens([5], vocab_size=37)
    with tc.capture(model, "decoder.blocks.0.ln1.*", "decoder.blocks.0.cross_attn.hook_[qkv]") as acts:
        model(src, tgt)
    cross_attn, states = (
        model.get_submodule("decoder.blocks.0.cross_attn"),
        acts["decoder.blocks.0.ln1.hook_normalized"],
    )
    for stem, x in (("q", states), ("k", model.encode(src)), ("v", model.encode(src))):
        expected = of_heads(cross_attn.get_submodule(stem), x)
        torch.testing.assert_close(acts[f"decoder.blocks.0.cross_attn.hook_{stem}"], expected)
