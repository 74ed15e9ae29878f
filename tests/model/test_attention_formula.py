"""The formula in both its ways, written out and fused, against plain loops; masks and biases may be rules."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import forward_ad

from tests.model import by_hand
from transformer_core.model.attention import attention_pattern, attention_scores
from transformer_core.model.sdpa import scaled_dot_product_attention


def written_out(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    return attention_pattern(attention_scores(q, k, mask)) @ v


WAYS = pytest.mark.parametrize("way", [written_out, scaled_dot_product_attention], ids=["written out", "fused"])


def random_qkv(
    *, n_queries: int, n_keys: int, batch: int = 2, head: int = 3, d_head: int = 5, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor, Tensor]:
    """Normal q, k, v that ask for gradients."""
    sizes = (n_queries, n_keys, n_keys)
    q, k, v = (torch.randn(batch, head, n, d_head, dtype=dtype, requires_grad=True) for n in sizes)
    return q, k, v


@settings(max_examples=15)
@given(st.tuples(*[st.integers(1, 4)] * 5), st.integers(0, 2**32 - 1))
def test_each_cell_is_the_formula_s(sizes: tuple[int, ...], seed: int):
    torch.manual_seed(seed)
    batch, head, n_queries, n_keys, d_head = sizes
    q, k, v = random_qkv(batch=batch, head=head, n_queries=n_queries, n_keys=n_keys, d_head=d_head, dtype=torch.float64)
    mask = torch.rand(batch, head, n_queries, n_keys) < 0.7  # some rows have nothing to attend to
    pattern = attention_pattern(attention_scores(q, k, mask))
    for h in range(head):
        q_h, k_h, v_h = (x[:, h].detach().numpy() for x in (q, k, v))
        expected_pattern, expected_z = by_hand.attention(q_h, k_h, v_h, by_hand.where(mask[:, h]))
        torch.testing.assert_close(pattern[:, h], torch.from_numpy(expected_pattern), rtol=0, atol=1e-12)
        for way in (written_out, scaled_dot_product_attention):
            z = way(q, k, v, mask)[:, h]
            torch.testing.assert_close(z, torch.from_numpy(expected_z), rtol=0, atol=1e-12)


@WAYS
def test_with_nothing_to_attend_to_there_are_zeros(way):
    q, k, v = random_qkv(n_queries=4, n_keys=6)
    mask = torch.ones(2, 1, 4, 6, dtype=torch.bool)
    mask[0, :, 1] = False  # one row
    mask[1] = False  # every row of a sequence
    z = way(q, k, v, mask)
    assert torch.equal(z[0, :, 1], torch.zeros(3, 5))
    assert torch.equal(z[1], torch.zeros(3, 4, 5))
    assert z[0, :, 0].abs().min() > 0
    z.square().sum().backward()
    for x in (q, k, v):
        assert x.grad is not None and x.grad.isfinite().all()
        assert torch.equal(x.grad[1], torch.zeros_like(x.grad[1]))
        assert x.grad[0].abs().sum() > 0


def test_a_pattern_s_rows_sum_to_one_or_are_zero():
    scores = torch.tensor([[[[0.0, math.log(3.0)], [-math.inf, 5.0], [-math.inf, -math.inf], [1e4, -1e4]]]])
    expected = torch.tensor([[[[0.25, 0.75], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]]])
    torch.testing.assert_close(attention_pattern(scores), expected)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("n_keys", [1, 3, 41])
def test_rows_of_nothing_are_zero_and_rows_of_nan_stay_nan(n_keys: int, dtype: torch.dtype):
    """Side by side, where an edit of the scores, not the mask, forbids every key."""
    scores = torch.randn(1, 2, 5, n_keys, dtype=dtype, requires_grad=True)
    edited = scores.index_fill(2, torch.tensor([1, 4]), -math.inf)
    zero_row = torch.zeros(n_keys, dtype=dtype)
    pattern = attention_pattern(edited)
    assert torch.equal(pattern[:, :, [1, 4]], zero_row.expand(1, 2, 2, -1))
    torch.testing.assert_close(pattern[:, :, [0, 2, 3]], scores[:, :, [0, 2, 3]].softmax(dim=-1))
    pattern.square().sum().backward()
    assert scores.grad is not None and scores.grad.isfinite().all()
    broken = edited.detach().index_fill(2, torch.tensor([3]), math.nan)
    broken[:, :, 1, -1] = math.nan  # a key that is not a number, beside keys that are forbidden
    for row, is_nan in enumerate([False, True, False, True, False]):
        assert bool(attention_pattern(broken)[:, :, row].isnan().all()) == is_nan
    assert torch.equal(attention_pattern(broken)[:, :, 4], zero_row.expand(1, 2, -1))


@pytest.mark.parametrize(
    "n_keys, dtype",
    [(1, torch.float64), (7, torch.float32), (1023, torch.float32), (64, torch.bfloat16), (41, torch.float16)],
)
def test_a_pattern_may_overwrite_its_scores(n_keys: int, dtype: torch.dtype):
    """That softmax reads a row before it writes it is how torch does it, not what its documentation promises."""
    scores = torch.randn(2, 3, 257, n_keys, dtype=dtype)
    for broken in (
        scores,
        scores.index_fill(2, torch.tensor([1, 40]), -math.inf),
        scores.index_fill(2, torch.tensor(3), math.nan),
    ):
        overwritten = broken.clone()
        pattern = attention_pattern(overwritten, again=broken.clone)
        torch.testing.assert_close(pattern, attention_pattern(broken), rtol=0, atol=0, equal_nan=True)
        assert (pattern.data_ptr() == overwritten.data_ptr()) == (broken is scores)
    scores.requires_grad_()
    assert attention_pattern(scores, again=scores.clone).requires_grad


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torch itself, at its first forward mode
def test_scores_with_a_tangent_are_not_overwritten():
    """In forward mode, whose derivative of the softmax p along t is p * (t - sum(p * t))."""
    scores, along = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 3, 4)
    with forward_ad.dual_level():
        p, tangent = forward_ad.unpack_dual(attention_pattern(forward_ad.make_dual(scores, along), again=scores.clone))
    assert tangent is not None
    torch.testing.assert_close(tangent, p * (along - (p * along).sum(dim=-1, keepdim=True)))


def test_scores_by_hand():
    """q . k is 3 * 1 + 4 * 2 = 11 and 3 * 5 + 4 * 0 = 15, over sqrt(2)."""
    q, k = torch.tensor([[[[3.0, 4.0]]]]), torch.tensor([[[[1.0, 2.0], [5.0, 0.0]]]])
    expected = torch.tensor([[[[11 / math.sqrt(2), 15 / math.sqrt(2)]]]])
    torch.testing.assert_close(attention_scores(q, k), expected)
    mask = torch.tensor([[[[True, False]]]])
    torch.testing.assert_close(attention_scores(q, k, mask), torch.tensor([[[[11 / math.sqrt(2), -math.inf]]]]))
    bias = torch.tensor([[[[0.5, -1.0]]]])
    assert attention_scores(q, k, bias=bias, scale=1.0).tolist() == [[[[11.5, 14.0]]]]
    assert attention_scores(q, k, mask, bias=bias, scale=1.0).tolist() == [[[[11.5, -math.inf]]]]
