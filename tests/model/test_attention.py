"""The module around the formula against plain loops and torch.nn.MultiheadAttention."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import transformer_core as tc
from tests.model import by_hand
from tests.model.building import odd_config, shaken
from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.rotary import RotaryPositions


def test_the_scale_is_that_of_one_head():
    """A published mistake: dividing by sqrt(d_model)."""
    attention, x = shaken(MultiHeadAttention(odd_config())), torch.randn(1, 4, 48)
    with tc.capture(attention, "*") as acts:
        attention(x, x)
    products = acts["hook_q"] @ acts["hook_k"].transpose(-2, -1)
    torch.testing.assert_close(acts["hook_attn_scores"], products / 16**0.5)
    assert not torch.allclose(acts["hook_attn_scores"], products / 48**0.5, atol=1e-3)


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


@settings(max_examples=25)
@given(
    st.integers(1, 4), st.integers(1, 5), st.integers(1, 2), st.integers(1, 4), st.integers(1, 4), st.integers(0, 999)
)
def test_the_module_over_sizes(n_heads: int, d_head: int, batch: int, n_queries: int, n_keys: int, seed: int):
    torch.manual_seed(seed)
    d_model = n_heads * d_head
    config = odd_config(d_model=d_model, n_heads=n_heads, positions="learned")
    attention = shaken(MultiHeadAttention(config), seed).double()
    query_input, key_value_input = torch.randn(batch, n_queries, d_model), torch.randn(batch, n_keys, d_model)
    mask = torch.rand(batch, 1, n_queries, n_keys) < 0.7
    expected = by_hand.multi_head_attention(
        by_hand.Weights.of(attention),
        query_input.double().numpy(),
        key_value_input.double().numpy(),
        n_heads,
        by_hand.where(mask[:, 0]),
    )
    attn_out = attention(query_input.double(), key_value_input.double(), mask)
    torch.testing.assert_close(attn_out.detach(), torch.from_numpy(expected), rtol=0, atol=1e-12)


def test_queries_come_from_one_input_and_keys_and_values_from_the_other():
    """A published mistake: the query taken from the encoder, keys and values from the decoder."""
    attention = shaken(MultiHeadAttention(odd_config()))
    decoder_states, memory = torch.randn(2, 3, 48), torch.randn(2, 8, 48)
    with tc.capture(attention, "*") as acts:
        assert attention(decoder_states, memory).shape == (2, 3, 48)
    for site, projection, source in (
        ("hook_q", attention.q, decoder_states),
        ("hook_k", attention.k, memory),
        ("hook_v", attention.v, memory),
    ):
        merged = acts[site].transpose(1, 2).reshape(2, -1, 48)
        torch.testing.assert_close(merged, projection(source).detach())
    assert acts["hook_pattern"].shape == (2, 3, 3, 8)


def test_a_head_owns_a_block_of_each_projection():
    """Head 1 of 3 with 16 features: rows 16 to 31 of q, k and v, columns 16 to 31 of out."""
    attention, x = shaken(MultiHeadAttention(odd_config())), torch.randn(1, 4, 48)
    with tc.capture(attention, "*") as acts:
        attention(x, x)
    head = slice(16, 32)
    torch.testing.assert_close(acts["hook_v"][0, 1], x[0] @ attention.v.weight[head].T + attention.v.bias[head])
    torch.testing.assert_close(acts["hook_result"][0, 1], acts["hook_z"][0, 1] @ attention.out.weight[:, head].T)


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
        torch.testing.assert_close(acts[f"hook_{stem}"], rotation.turn(normalized).detach())


@pytest.mark.parametrize(
    "attention_bias, expected", [("all", {"q", "k", "v", "out"}), ("qkv", {"q", "k", "v"}), ("none", set())]
)
def test_which_projections_have_a_bias(attention_bias: str, expected: set[str]):
    state = MultiHeadAttention(odd_config(attention_bias=attention_bias)).state_dict()
    assert {name.removesuffix(".bias") for name in state if name.endswith("bias")} == expected
    assert {name.removesuffix(".weight") for name in state if name.endswith("weight")} == {"q", "k", "v", "out"}
