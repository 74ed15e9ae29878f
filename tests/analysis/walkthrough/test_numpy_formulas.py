"""The formulas of the second opinion, one by one."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import transformer_core as tc
from tests.analysis.walkthrough.numpy_formulas import (
    ACTIVATIONS,
    Weights,
    alibi_slope,
    allowed_cells,
    relative_buckets,
    rotary_angles,
    rotary_pairs,
    softmax,
    turn,
)
from tests.model.building import DECODER, odd_config
from transformer_core.model.distance_bias import relative_bucket


def test_activations_are_torchs():
    x = torch.linspace(-6, 6, 101, dtype=torch.float64)
    torchs = {"relu": F.relu(x), "gelu": F.gelu(x), "gelu_tanh": F.gelu(x, approximate="tanh"), "silu": F.silu(x)}
    for name, activation in ACTIVATIONS.items():
        assert activation(x.numpy()) == pytest.approx(torchs[name].numpy(), abs=1e-14), name


@pytest.mark.parametrize("norm", ["layer", "layer_without_bias", "rms"])
def test_norms_are_torchs(norm: Any):
    rng = np.random.default_rng(0)
    x, weight, bias = rng.normal(2, 3, (4, 6)), rng.normal(size=6), rng.normal(size=6)
    arrays = {"ln.weight": weight} | ({"ln.bias": bias} if norm == "layer" else {})
    found = Weights(arrays).norm("ln", x, odd_config(norm=norm, layer_norm_eps=0.3))
    given = torch.tensor(x), (6,), torch.tensor(weight)
    if norm == "rms":
        expected = F.rms_norm(*given, 0.3)
    else:
        expected = F.layer_norm(*given, torch.tensor(bias) if norm == "layer" else None, 0.3)
    assert found == pytest.approx(expected.numpy(), abs=1e-12)


def test_a_row_of_nothing_has_no_shares():
    shares = softmax(np.array([[[1.0, -np.inf, 1.0 + math.log(3)], [-np.inf] * 3]]))
    assert shares == pytest.approx(np.array([[[0.25, 0, 0.75], [0, 0, 0]]]))


def test_slopes_are_the_published_ones():
    assert [alibi_slope(head, 8) for head in range(8)] == [2.0**-i for i in range(1, 9)]  # 1/2, 1/4, ... 1/256
    assert [alibi_slope(head, 16) for head in (0, 15)] == pytest.approx([2**-0.5, 2**-8])
    assert [alibi_slope(head, 3) for head in range(3)] == pytest.approx([2**-4, 2**-8, 2**-2])


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(("n_buckets", "farthest"), [(32, 128), (7, 9), (4, 8), (64, 200), (16, 100)])
def test_each_distance_has_the_bucket_that_the_model_gives_it(n_buckets: int, farthest: int, is_causal: bool):
    config = odd_config(positions="relative_buckets", n_relative_buckets=n_buckets, relative_max_distance=farthest)
    distance = torch.arange(300)[None, :] - torch.arange(300)[:, None]
    expected = relative_bucket(distance, n_buckets=n_buckets, max_distance=farthest, is_causal=is_causal)
    assert (relative_buckets(config, 300, 300, is_causal=is_causal) == expected.numpy()).all()


def test_a_turn_by_hand():
    """Dimensions 0 and 1 turn by 1 radian a position, 2 and 3 by a hundredth; the last two stay."""
    config = odd_config(**DECODER, positions="rotary_interleaved", d_head=6, rotary_fraction=0.7)
    assert rotary_angles(config, 3) == pytest.approx(np.outer(range(3), [1.0, 0.01]))
    x = np.array([[[1.0, 2, 3, 4, 5, 6]] * 3])
    cos, sin = math.cos(2), math.sin(2)
    expected = [cos - 2 * sin, sin + 2 * cos]
    expected += [3 * math.cos(0.02) - 4 * math.sin(0.02), 3 * math.sin(0.02) + 4 * math.cos(0.02), 5, 6]
    assert turn(x, config)[0, 2] == pytest.approx(expected)
    halves = odd_config(**DECODER, positions="rotary_halves", d_head=6, rotary_fraction=0.7)
    assert [side.tolist() for side in rotary_pairs(halves)] == [[0, 1], [2, 3]]


def test_llama3_slows_the_slow_turns_only():
    """Wavelengths below original_len / high are left, those above original_len / low are stretched whole."""
    scaling = {"rotary_scaling": "llama3", "rotary_scaling_factor": 8.0, "rotary_original_len": 100}
    plain = odd_config(**DECODER, positions="rotary_halves")
    scaled = odd_config(**DECODER, positions="rotary_halves", **scaling)
    before, after = rotary_angles(plain, 2)[1], rotary_angles(scaled, 2)[1]
    wavelengths = 2 * np.pi / before
    fast, slow = wavelengths < 100 / 4, wavelengths > 100 / 1
    assert fast.sum() >= 2 and slow.sum() >= 2
    assert after[fast] == pytest.approx(before[fast])
    assert after[slow] == pytest.approx(before[slow] / 8)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("window", [None, 2])
@pytest.mark.parametrize("bos_id", [1, 0])
def test_who_may_look_where_cell_by_cell(is_causal: bool, window: int | None, bos_id: int):
    config = odd_config(sliding_window=window, bos_id=bos_id)
    keys = (0, 5, 0, 6)
    for is_cross in (False, True) if not is_causal else (False,):
        cells = allowed_cells(config, keys, 4, is_causal=is_causal, is_cross=is_cross)
        for i in range(4):
            for j in range(4):
                is_real = keys[j] != 0 or (is_causal and bos_id == 0 and j == 0)
                is_near = window is None or is_cross or abs(i - j) < window
                assert cells[i, j] == (is_real and is_near and (not is_causal or j <= i))


def test_without_padding_all_tokens_are_real():
    config = tc.ModelConfig(vocab_size=9, pad_id=None)
    assert allowed_cells(config, (0, 0), 3, is_causal=False, is_cross=True).all()
