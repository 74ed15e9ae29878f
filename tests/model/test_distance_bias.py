"""Biases by distance: ALiBi's published slopes, T5's rule for buckets in a naive loop, and windows of both."""

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import DECODER, odd_config, random_tokens, shaken_model
from transformer_core.model.distance_bias import (
    AlibiBias,
    PositionBias,
    RelativeBuckets,
    alibi_slopes,
    relative_bucket,
)


def rule_of(bias: AlibiBias | RelativeBuckets, *, n_queries: int, n_past: int = 0) -> PositionBias:
    """The rule of self-attention over `n_queries` positions after `n_past` others."""
    return PositionBias(
        of_distance=bias,
        n_queries=n_queries,
        n_keys=n_past + n_queries,
        n_past=n_past,
        device=torch.device("cpu"),
    )


def buckets(*, is_causal: bool, **changes: Any) -> RelativeBuckets:
    bias = RelativeBuckets(odd_config(positions="relative_buckets", **changes), is_causal=is_causal)
    torch.nn.init.normal_(bias.weight)
    return bias


def slopes_by_reference(n_heads: int) -> list[float]:
    """`get_slopes` of the code that was released with Press et al. 2022, in other words."""
    if math.log2(n_heads).is_integer():
        ratio = 2 ** -(2 ** -(math.log2(n_heads) - 3))
        return [ratio ** (i + 1) for i in range(n_heads)]
    below = 2 ** math.floor(math.log2(n_heads))
    return slopes_by_reference(below) + slopes_by_reference(2 * below)[0::2][: n_heads - below]


@pytest.mark.parametrize("n_heads", range(1, 34))
def test_slopes_for_any_number_of_heads(n_heads: int):
    assert alibi_slopes(n_heads).tolist() == pytest.approx(slopes_by_reference(n_heads))


def test_alibi_by_hand():
    """2 heads: slopes 1/16 and 1/256. Without look-ahead both directions count alike."""
    bias = AlibiBias(odd_config(n_heads=2, positions="alibi"))
    distances = torch.tensor([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    expected = torch.stack([-distances / 16, -distances / 256])[None]
    assert torch.equal(rule_of(bias, n_queries=3).write_out(), expected)
    assert not list(bias.parameters()) and not bias.state_dict()


def bucket_by_hand(distance: int, *, n_buckets: int, max_distance: int, is_causal: bool) -> int:
    """One distance, key minus query. Source: Raffel et al. 2020, sec. 2.1, and its code."""
    first = 0
    if not is_causal:
        n_buckets = n_buckets // 2
        first, distance = (n_buckets if distance > 0 else 0), -abs(distance)
    back = max(0, -distance)
    n_near = n_buckets // 2
    if back < n_near:
        return first + back
    log_share = math.log(back / n_near) / math.log(max_distance / n_near)
    return first + min(n_near + math.floor(log_share * (n_buckets - n_near)), n_buckets - 1)


@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("n_buckets, max_distance", [(32, 128), (8, 9), (7, 20), (4, 3), (64, 1000)])
def test_buckets_by_hand(n_buckets: int, max_distance: int, is_causal: bool):
    shape: dict[str, Any] = {"n_buckets": n_buckets, "max_distance": max_distance, "is_causal": is_causal}
    distances = torch.arange(-2 * max_distance, 2 * max_distance + 1)
    expected = [bucket_by_hand(int(distance), **shape) for distance in distances]
    assert relative_bucket(distances[None], **shape)[0].tolist() == expected


def chunks(n: int) -> list[slice]:
    """Every slice of at least one of n neighbours."""
    return [slice(start, stop) for start in range(n) for stop in range(start + 1, n + 1)]


@pytest.mark.parametrize("n_queries, n_past", [(5, 0), (4, 2), (1, 6)])
@pytest.mark.parametrize("kind", ["alibi", "relative_buckets"])
def test_each_window_is_the_rule_at_each_cell(kind: str, n_queries: int, n_past: int):
    few_buckets = buckets(n_relative_buckets=5, relative_max_distance=4, is_causal=False)
    bias = few_buckets if kind == "relative_buckets" else AlibiBias(odd_config(positions="alibi"))
    rule, n_keys = rule_of(bias, n_queries=n_queries, n_past=n_past), n_past + n_queries
    distances = [[key - (n_past + query) for key in range(n_keys)] for query in range(n_queries)]
    whole = bias(torch.tensor(distances))[None]
    assert torch.equal(rule.write_out(), whole)
    for queries in chunks(n_queries):
        for keys in chunks(n_keys):
            assert torch.equal(rule.write_out(queries, keys), whole[:, :, queries, keys])


ROUNDED = DECODER | {"positions": "alibi", "alibi_rounding": True, "alibi_scale": 0.5, "n_heads": 12}


def test_rounded_products_of_slope_and_position():
    """The slopes of 12 heads are no powers of 2, and the bias depends on both positions."""
    rule = rule_of(AlibiBias(odd_config(**ROUNDED)), n_queries=9, n_past=70)
    slopes = alibi_slopes(12).bfloat16()
    whole = rule.write_out()
    for head, query, key in itertools.product(range(12), range(9), range(79)):
        of_query, of_key = (float((slopes[head] * place).float()) for place in (query + 70, key))
        assert whole[0, head, query, key] == 0.5 * (of_key - of_query)
    exact = AlibiBias(odd_config(**ROUNDED | {"alibi_rounding": False}))
    assert not torch.allclose(whole, rule_of(exact, n_queries=9, n_past=70).write_out(), atol=1e-2)
    assert torch.equal(rule.write_out(slice(2, 5), slice(60, 75)), whole[:, :, 2:5, 60:75])


def in_scores(model: tc.Transformer, acts: tc.Activations, attn: str) -> Tensor:
    """What was added to the products of queries and keys [batch, head, query, key]."""
    q, k, scores = (acts[f"{attn}.hook_{stem}"] for stem in ("q", "k", "attn_scores"))
    return scores - q @ k.transpose(-2, -1) / math.sqrt(model.config.d_head)


def test_in_a_model_self_attention_has_the_bias_of_its_stack_and_cross_attention_none():
    model = shaken_model(odd_config(positions="relative_buckets", n_relative_buckets=7, relative_max_distance=9))
    src, tgt = random_tokens([13], vocab_size=37), random_tokens([9], vocab_size=37)
    with torch.no_grad(), tc.capture(model, "*") as acts:
        model(src, tgt)
    assert model.encoder is not None and model.decoder is not None
    for stack, part, n in (("encoder", model.encoder, 13), ("decoder", model.decoder, 9)):
        weight, is_causal = part.position_bias.weight, stack == "decoder"
        places = [(query, key) for query in range(n) for key in range(query + 1 if is_causal else n)]
        bucket = [bucket_by_hand(k - q, n_buckets=7, max_distance=9, is_causal=is_causal) for q, k in places]
        for layer in (0, 1):
            added = in_scores(model, acts, f"{stack}.blocks.{layer}.self_attn")[0, :, *zip(*places, strict=True)]
            torch.testing.assert_close(added, weight.detach()[bucket].T, rtol=1e-5, atol=1e-5)
    for layer in (0, 1):
        added = in_scores(model, acts, f"decoder.blocks.{layer}.cross_attn")
        torch.testing.assert_close(added, torch.zeros(1, 3, 9, 13), rtol=1e-5, atol=1e-5)


def test_a_rule_goes_to_another_device():
    rule = rule_of(AlibiBias(odd_config(positions="alibi")), n_queries=3)
    assert rule.to("meta").device == torch.device("meta") and rule.device == torch.device("cpu")
    assert torch.equal(rule.to("cpu").write_out(), rule.write_out())
