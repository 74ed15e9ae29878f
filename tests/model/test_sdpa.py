"""The fused kernel gives what the formula written out gives."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import odd_config, shaken_model
from transformer_core.model import sdpa
from transformer_core.model.attention import attention_pattern, attention_scores
from transformer_core.model.distance_bias import AlibiBias, PositionBias
from transformer_core.model.masks import AttentionMask

N_QUERIES, N_KEYS, N_HEADS = 7, 7, 3
CPU = torch.device("cpu")
IS_REAL = torch.tensor([[True] * N_KEYS, [True, True, False, True, False, False, False], [False] * N_KEYS])
MASKS: dict[str, Any] = {
    "none": None,
    "written": torch.rand(3, 1, N_QUERIES, N_KEYS, generator=torch.Generator().manual_seed(1)) < 0.5,
    "everything": AttentionMask(n_queries=N_QUERIES, n_keys=N_KEYS, device=CPU),
    "causal": AttentionMask(n_queries=N_QUERIES, n_keys=N_KEYS, device=CPU, is_causal=True),
    "causal, padding": AttentionMask(n_queries=N_QUERIES, n_keys=N_KEYS, device=CPU, is_causal=True, is_real=IS_REAL),
    "window": AttentionMask(n_queries=N_QUERIES, n_keys=N_KEYS, device=CPU, is_causal=True, window=2),
}
TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}


def drawn(n: int, seed: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(3, N_HEADS, n, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def alibi() -> PositionBias:
    of_distance = AlibiBias(odd_config(positions="alibi"))
    return PositionBias(of_distance=of_distance, n_queries=N_QUERIES, n_keys=N_KEYS, n_past=0, device=CPU)


@pytest.mark.parametrize("chunk", [1024, 3])
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_it_is_the_formula(monkeypatch: pytest.MonkeyPatch, mask: Any, has_bias: bool, dtype: torch.dtype, chunk: int):
    """Against Q K^T / sqrt(d_head), the mask and the softmax in float64."""
    monkeypatch.setattr(sdpa, "_CHUNK", chunk)  # rules are written out for so many queries at a time
    q, k, v = drawn(N_QUERIES, 2, dtype), drawn(N_KEYS, 3, dtype), drawn(N_KEYS, 4, dtype)
    bias = alibi() if has_bias else None
    found = sdpa.scaled_dot_product_attention(q, k, v, mask, bias=bias)
    scores = q.double() @ k.double().transpose(-2, -1) / math.sqrt(8)
    if bias is not None:
        scores = scores + bias.write_out().double()
    written = mask.write_out() if isinstance(mask, AttentionMask) else mask
    allowed = torch.ones_like(scores, dtype=torch.bool) if written is None else written.expand_as(scores)
    weights = torch.where(allowed, scores.exp(), 0.0)
    total = weights.sum(dim=-1, keepdim=True)
    expected = torch.where(total > 0, weights / total, 0.0) @ v.double()
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=TOLERANCES[dtype])
    if dtype == torch.float64:  # and what is computed where somebody looks
        rows = sdpa.rows_of(mask, slice(None))
        shown = attention_scores(q, k, rows, bias=None if bias is None else bias.write_out().to(dtype))
        torch.testing.assert_close(attention_pattern(shown) @ v, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("changes", [{}, {"n_kv_heads": 1}, {"scale_scores": False}, {"positions": "alibi"}])
def test_a_model_gives_the_same_watched_and_not(changes: dict[str, Any]):
    """Grouped heads and all that a model puts around the kernel included."""
    model = shaken_model(odd_config(**changes)).double()
    src, tgt = torch.tensor([[5, 9, 0, 17, 3, 9]]), torch.tensor([[1, 7, 9, 12]])
    with torch.inference_mode():
        unwatched = model(src, tgt)
        with tc.capture(model):
            watched = model(src, tgt)
    torch.testing.assert_close(watched, unwatched, rtol=0, atol=1e-12)
