"""The fused kernel gives what the formula written out gives."""

import math
from functools import partial

import pytest
import torch
from torch import Tensor

from tests.model.building import odd_config
from transformer_core.model import sdpa
from transformer_core.model.attention import attention_pattern, attention_scores
from transformer_core.model.distance_bias import AlibiBias, PositionBias
from transformer_core.model.masks import AttentionMask

N_KEYS, N_HEADS = 7, 3
CPU = torch.device("cpu")
MASKS = ("none", "written", "everything", "causal", "causal, padding", "window")
TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}


def mask_of(kind: str, n_queries: int) -> sdpa.Mask | None:
    """For the last queries of three texts of 7 keys, of which the second has padding and the third nothing else."""
    is_real = torch.tensor([[True] * N_KEYS, [True, True, False, True, False, False, False], [False] * N_KEYS])
    rule = partial(AttentionMask, n_queries=n_queries, n_keys=N_KEYS, n_past=N_KEYS - n_queries, device=CPU)
    return {
        "none": None,
        "written": torch.rand(3, 1, n_queries, N_KEYS, generator=torch.Generator().manual_seed(1)) < 0.5,
        "everything": rule(),
        "causal": rule(is_causal=True),
        "causal, padding": rule(is_causal=True, is_real=is_real),
        "window": rule(is_causal=True, window=2),
    }[kind]


def drawn(n: int, seed: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(3, N_HEADS, n, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def alibi(n_queries: int) -> PositionBias:
    bias, n_past = AlibiBias(odd_config(positions="alibi")), N_KEYS - n_queries
    return PositionBias(of_distance=bias, n_queries=n_queries, n_keys=N_KEYS, n_past=n_past, device=CPU)


@pytest.mark.parametrize("n_queries, chunk", [(7, 1024), (7, 3), (1, 1024), (4, 3)])
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("kind", MASKS)
def test_it_is_the_formula(
    monkeypatch: pytest.MonkeyPatch, kind: str, has_bias: bool, dtype: torch.dtype, n_queries: int, chunk: int
):
    """Against Q K^T / sqrt(d_head), the mask and the softmax in float64."""
    monkeypatch.setattr(sdpa, "_CHUNK", chunk)  # queries whose rules are materialized at a time
    q, k, v = drawn(n_queries, 2, dtype), drawn(N_KEYS, 3, dtype), drawn(N_KEYS, 4, dtype)
    mask, bias = mask_of(kind, n_queries), alibi(n_queries) if has_bias else None
    actual = sdpa.scaled_dot_product_attention(q, k, v, mask, bias=bias)
    scores = q.double() @ k.double().transpose(-2, -1) / math.sqrt(8)
    if bias is not None:
        scores = scores + bias.write_out().double()
    written = mask.write_out() if isinstance(mask, AttentionMask) else mask
    allowed = torch.ones_like(scores, dtype=torch.bool) if written is None else written.expand_as(scores)
    weights = torch.where(allowed, scores.exp(), 0.0)
    total = weights.sum(dim=-1, keepdim=True)
    expected = torch.where(total > 0, weights / total, 0.0) @ v.double()
    assert actual.dtype == dtype
    torch.testing.assert_close(actual.double(), expected, rtol=0, atol=TOLERANCES[dtype])
    if dtype == torch.float64:  # and what is computed where somebody looks
        rows = sdpa.rows_of(mask, slice(None))
        shown = attention_scores(q, k, rows, bias=None if bias is None else bias.write_out().to(dtype))
        torch.testing.assert_close(attention_pattern(shown) @ v, expected, rtol=0, atol=1e-12)
