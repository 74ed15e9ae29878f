"""The module around the formula against plain loops and torch.nn.MultiheadAttention."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import transformer_core as tc
from tests.model.building import odd_config, shaken
from transformer_core.model.attention import MultiHeadAttention, attention_scores
from transformer_core.model.masks import AttentionMask
from transformer_core.model.rotary import RotaryPositions


def torch_twin(attention: MultiHeadAttention) -> nn.MultiheadAttention:
    """Torch's own, with the same weights."""
    twin = nn.MultiheadAttention(
        attention.n_heads * attention.d_head, attention.n_heads, bias=attention.q.bias is not None, batch_first=True
    )
    parts = (attention.q, attention.k, attention.v)
    state = {"in_proj_weight": torch.cat([part.weight for part in parts]), "out_proj.weight": attention.out.weight}
    if attention.q.bias is not None:
        state |= {"in_proj_bias": torch.cat([part.bias for part in parts]), "out_proj.bias": attention.out.bias}
    twin.load_state_dict(state)
    return twin


@pytest.mark.parametrize("has_hooks", [False, True])
@pytest.mark.parametrize("attention_bias", ["none", "all"])
@pytest.mark.parametrize("n_queries, n_keys, n_real", [(7, 11, (11, 4)), (9, 5, (1, 5)), (1, 13, (13, 2))])
def test_torch_s_multi_head_attention(
    n_queries: int, n_keys: int, n_real: tuple[int, int], attention_bias: str, has_hooks: bool
):
    attention = shaken(MultiHeadAttention(odd_config(attention_bias=attention_bias)))
    query_input, key_value_input = torch.randn(2, n_queries, 48), torch.randn(2, n_keys, 48)
    is_real = torch.arange(n_keys) < torch.tensor(n_real)[:, None]  # [batch, key]
    expected, pattern = torch_twin(attention)(
        query_input, key_value_input, key_value_input, key_padding_mask=~is_real, average_attn_weights=False
    )
    mask = is_real[:, None, None, :]
    if has_hooks:
        with tc.capture(attention, "*") as acts:
            attn_out = attention(query_input, key_value_input, mask)
        torch.testing.assert_close(acts["hook_pattern"], pattern, rtol=1e-5, atol=1e-5)
    else:
        attn_out = attention(query_input, key_value_input, mask)
    torch.testing.assert_close(attn_out, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("part", ["q", "k", "v", "out"])
def test_what_is_not_finite_is_seen_by_both_ways_alike(part: str):
    attention = shaken(MultiHeadAttention(odd_config()))
    attention.get_parameter(f"{part}.weight").data[0, 0] = math.nan
    for n in (1, 5, 20):  # the kernel alone makes 0 of it where it has few keys
        x, mask = torch.randn(1, n, 48), torch.ones(1, 1, n, n, dtype=torch.bool)
        is_of_row = torch.arange(48) > 0 if part == "out" else torch.zeros(48, dtype=torch.bool)
        with tc.capture(attention, "*"):
            assert torch.equal(attention(x, x).isfinite()[0, 0], is_of_row)
        assert torch.equal(attention(x, x).isfinite()[0, 0], is_of_row)
    hidden = mask.clone()
    hidden[..., 3] = False  # a key that is not finite, and that nobody may see
    with tc.intervene(attention, {"hook_k": lambda k, _: k.nan_to_num().index_fill(2, torch.tensor(3), math.nan)}):
        with tc.capture(attention, "*"):
            written_out = attention(x, x, hidden)
        torch.testing.assert_close(attention(x, x, hidden), written_out, equal_nan=True)


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e38, 1.0])
@torch.no_grad()
def test_a_pattern_alone_is_that_beside_its_scores(value: float):
    """With a rule as the mask, the last of three texts all padding, and a key that later queries alone may see."""
    attention, x = shaken(MultiHeadAttention(odd_config())), torch.randn(3, 20, 48)
    is_real = torch.arange(20) < torch.tensor([[20], [16], [0]])
    mask = AttentionMask(n_queries=20, n_keys=20, device=x.device, is_causal=True, is_real=is_real)
    with tc.intervene(attention, {"hook_k": lambda k, _: k.index_fill(2, torch.tensor(15), value)}):
        with tc.capture(attention, "hook_pattern") as alone:
            z = attention(x, x, mask)
        with tc.capture(attention, "hook_pattern", "hook_attn_scores") as both:
            torch.testing.assert_close(attention(x, x, mask), z, equal_nan=True)
    torch.testing.assert_close(alone["hook_pattern"], both["hook_pattern"], equal_nan=True)
    assert torch.equal(both["hook_attn_scores"] == -math.inf, ~mask.write_out().expand(3, 3, 20, 20))
    assert alone["hook_pattern"][:2, :, :15].isfinite().all() and not alone["hook_pattern"][2].any()


def test_dropout_on_the_pattern_falls_after_the_pattern_is_seen():
    """A published mistake: attention kept after dropout, so that rows do not sum to 1."""
    attention = shaken(MultiHeadAttention(odd_config(dropout=0.0, dropout_pattern=0.5))).train()
    x = torch.randn(2, 6, 48)
    with tc.capture(attention, "*") as acts:
        attention(x, x)
    torch.testing.assert_close(acts["hook_pattern"].sum(dim=-1), torch.ones(2, 3, 6))
    assert not torch.allclose(acts["hook_z"], acts["hook_pattern"] @ acts["hook_v"], atol=1e-3)
    assert not torch.equal(attention(x, x), attention(x, x))


def repeated(attention: MultiHeadAttention, config: tc.ModelConfig) -> MultiHeadAttention:
    """The same with a head of keys and values for each head of queries: copies, side by side for each group."""
    group, d_head = config.n_heads // config.n_kv_heads, config.d_head
    twin = MultiHeadAttention(replace(config, n_kv_heads=config.n_heads))
    state = attention.state_dict()
    for name in ("k.weight", "v.weight", "k.bias", "v.bias"):
        if name in state:
            of_heads = state[name].unflatten(0, (-1, d_head))  # [kv_head, d_head, ...]
            state[name] = of_heads.repeat_interleave(group, dim=0).flatten(0, 1)
    twin.load_state_dict(state)
    return twin.eval()


@pytest.mark.parametrize("n_kv_heads", [1, 2, 3])
@pytest.mark.parametrize("parts", [{}, {"attention_bias": "qkv"}, {"qk_norm": True, "attention_bias": "none"}])
@torch.no_grad()
def test_grouped_heads_are_heads_with_the_same_keys_and_values(n_kv_heads: int, parts: dict[str, Any]):
    """Source: Ainslie et al. 2023, sec. 2.2."""
    config = odd_config(n_heads=6, n_kv_heads=n_kv_heads, d_head=10, **parts)
    grouped = shaken(MultiHeadAttention(config))
    twin = repeated(grouped, config)
    x, memory, mask = torch.randn(2, 5, 48), torch.randn(2, 7, 48), torch.rand(2, 1, 5, 7) < 0.7
    torch.testing.assert_close(grouped(x, x), twin(x, x), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(grouped(x, memory, mask), twin(x, memory, mask), rtol=1e-5, atol=1e-6)
    with tc.capture(grouped, "*") as acts, tc.capture(twin, "*") as of_twin:
        grouped(x, memory, mask)
        twin(x, memory, mask)
    assert acts["hook_k"].shape == acts["hook_v"].shape == (2, n_kv_heads, 7, 10)
    for site in ("hook_q", "hook_attn_scores", "hook_pattern", "hook_z", "hook_result", "hook_attn_out"):
        torch.testing.assert_close(acts[site], of_twin[site], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("norm, scope", [("layer", "per_head"), ("layer_without_bias", "per_head"), ("rms", "joint")])
@torch.no_grad()
def test_queries_and_keys_are_normalized_with_gains_for_each_head(norm: str, scope: str):
    """As in the code of Cohere and StableLM; or as one vector (OLMo et al. 2025, sec. 2.1)."""
    config = odd_config(qk_norm=True, qk_norm_scope=scope, norm=norm, n_heads=6, n_kv_heads=2)
    attention, x = shaken(MultiHeadAttention(config)).double(), torch.randn(2, 5, 48, dtype=torch.float64)
    with tc.capture(attention, "*") as acts:
        attention(x, x)
    weights = dict(attention.named_parameters())
    for stem, n in (("q", 6), ("k", 2)):
        weight = weights[f"{stem}_norm.weight"].view(n, 8)
        projected = attention.get_submodule(stem)(x)
        if scope == "joint":
            expected = nn.functional.rms_norm(projected, (n * 8,), weight.flatten(), 1e-5).unflatten(-1, (n, 8))
        else:
            bias = weights.get(f"{stem}_norm.bias", torch.zeros(n * 8).double()).view(n, 8)
            heads = projected.unflatten(-1, (n, 8)).unbind(dim=2)
            expected = torch.stack(
                [nn.functional.layer_norm(head, (8,), weight[i], bias[i], 1e-5) for i, head in enumerate(heads)], dim=2
            )
        torch.testing.assert_close(acts[f"hook_{stem}"], expected.transpose(1, 2))


def test_capped_scores_are_the_formula():
    """Before the mask. Source: Gemma Team 2024, sec. 2."""
    q, k, mask = torch.randn(1, 1, 5, 8) * 4, torch.randn(1, 1, 5, 8) * 4, torch.ones(5, 5, dtype=torch.bool).tril()
    scores = (q @ k.transpose(-2, -1))[0, 0].double().numpy() / 8**0.5
    capped = attention_scores(q, k, mask[None, None], cap=2.0)[0, 0]
    expected = np.where(mask, 2 * np.tanh(scores / 2), -np.inf)
    torch.testing.assert_close(capped, torch.from_numpy(expected).float())
    assert np.abs(scores).max() > 4


def test_queries_and_keys_are_normalized_head_by_head_before_they_are_turned():
    """Source: Henry et al. 2020, sec. 2.2; the order with rotation is that of Qwen3's code."""
    config = odd_config(positions="rotary_halves", qk_norm=True, norm="rms", layer_norm_eps=0.1, n_kv_heads=1)
    attention, x = shaken(MultiHeadAttention(config)), torch.randn(2, 5, 48)
    rotation = RotaryPositions(config)(3, 5, torch.device("cpu"))
    with tc.capture(attention, "*") as acts:
        attention(x, x, rotation=rotation)
    assert attention.q_norm is not None and attention.k_norm is not None
    for stem, projection, norm in (("q", attention.q, attention.q_norm), ("k", attention.k, attention.k_norm)):
        heads = projection(x).unflatten(-1, (-1, 16)).transpose(1, 2)
        normalized = heads / (heads.square().mean(dim=-1, keepdim=True) + 0.1).sqrt() * norm.weight
        torch.testing.assert_close(acts[f"{stem}_norm.hook_normalized"], normalized.detach())
        torch.testing.assert_close(acts[f"hook_{stem}"], rotation.rotate(normalized).detach())
