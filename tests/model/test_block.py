"""One block: which sub-layer sees what, and where the normalization stands."""

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import DECODER, odd_config, shaken
from transformer_core.model.block import Block

NORM_POSITIONS = pytest.mark.parametrize("norm_position", ["post", "pre"])


def a_block(norm_position: str, *, has_cross_attention: bool = True) -> Block:
    return shaken(Block(odd_config(norm_position=norm_position), has_cross_attention=has_cross_attention))


def test_post_norm_is_the_norm_of_the_sum():
    """LayerNorm(x + Sublayer(x)), three times. Source: Vaswani et al. 2017, sec. 3.1."""
    block, x, memory = a_block("post"), torch.randn(2, 5, 48), torch.randn(2, 7, 48)
    h = block.ln1(x + block.self_attn(x, x))
    h = block.ln_cross(h + block.cross_attn(h, memory))
    torch.testing.assert_close(block(x, None, memory), block.ln2(h + block.mlp(h)), rtol=1e-5, atol=1e-6)


def test_pre_norm_is_the_sum_with_the_norm_inside():
    """x + Sublayer(LayerNorm(x)), three times; the memory is normalized already. Source: Xiong et al. 2020."""
    block, x, memory = a_block("pre"), torch.randn(2, 5, 48), torch.randn(2, 7, 48)
    normalized = block.ln1(x)
    h = x + block.self_attn(normalized, normalized)
    h = h + block.cross_attn(block.ln_cross(h), memory)
    torch.testing.assert_close(block(x, None, memory), h + block.mlp(block.ln2(h)), rtol=1e-5, atol=1e-6)


def test_a_parallel_block_adds_both_to_the_same_vector():
    """x + Attn(LN1(x)) + FFN(LN2(x)). Source: Black et al. 2022, sec. 2.1."""
    config = odd_config(**DECODER, norm_position="pre", parallel_residual=True)
    block, x = shaken(Block(config, has_cross_attention=False)), torch.randn(2, 5, 48)
    normalized = block.ln1(x)
    attention_maps = block.self_attn(normalized, normalized)
    with tc.capture(block, "hook_resid_mid") as acts:
        torch.testing.assert_close(block(x, None), x + attention_maps + block.mlp(block.ln2(x)), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(acts["hook_resid_mid"], x + attention_maps, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("input_norm", [False, True])
@torch.no_grad()
def test_what_a_sub_layer_adds_is_normalized(input_norm: bool):
    """x + Norm(Sublayer(x)) (OLMo et al. 2025, sec. 2.1), or x + Norm(Sublayer(Norm(x))) (Gemma Team 2024, sec. 2)."""
    parts = {"norm": "rms", "norm_position": "pre", "input_norm": input_norm, "output_norm": True}
    block, x = shaken(Block(odd_config(**DECODER, **parts), has_cross_attention=False)), torch.randn(2, 5, 48)

    def normalized(x: Tensor, weight: Tensor) -> Tensor:
        return x / (x.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt() * weight

    weights = dict(block.named_parameters())
    with tc.capture(block, "*") as acts:
        out = block(x, None)
    h = normalized(x, weights["ln1.weight"]) if input_norm else x
    torch.testing.assert_close(acts["ln1.hook_normalized"], h)
    attended = acts["hook_resid_pre"] + normalized(
        acts["self_attn.hook_result"].sum(dim=1) + weights["self_attn.out.bias"], weights["self_attn.out_norm.weight"]
    )
    torch.testing.assert_close(acts["hook_resid_mid"], attended)
    h = normalized(attended, weights["ln2.weight"]) if input_norm else attended
    fed = block.mlp.down(block.mlp.up(h).relu())
    torch.testing.assert_close(out, attended + normalized(fed, weights["mlp.out_norm.weight"]))
    torch.testing.assert_close(out, attended + acts["hook_mlp_out"])


@pytest.mark.parametrize("has_cross_attention", [False, True])
@NORM_POSITIONS
def test_attention_only_is_the_same_without_the_last_sub_layer(norm_position: str, has_cross_attention: bool):
    """Source: Elhage et al. 2021, "attention-only"."""
    whole = a_block(norm_position, has_cross_attention=has_cross_attention)
    block = Block(odd_config(norm_position=norm_position, d_ff=0), has_cross_attention=has_cross_attention).eval()
    unused = block.load_state_dict(whole.state_dict(), strict=False)
    assert not unused.missing_keys and {name.split(".")[0] for name in unused.unexpected_keys} == {"mlp", "ln2"}
    x, memory = torch.randn(2, 5, 48), torch.randn(2, 7, 48)
    before_the_last = "hook_resid_mid_cross" if has_cross_attention else "hook_resid_mid"
    norm = whole.ln_cross if has_cross_attention else whole.ln1
    with tc.capture(whole, "*") as expected:
        whole(x, None, memory)
    with tc.capture(block, "*") as acts:
        out = block(x, None, memory)
    resid_post = acts["hook_resid_post"]
    assert torch.equal(resid_post, expected[before_the_last])
    assert torch.equal(out, norm(resid_post) if norm_position == "post" else resid_post)
    last = {"hook_resid_mid"} if has_cross_attention else set()
    assert {site for site in acts if "." not in site} == {"hook_resid_pre", "hook_resid_post"} | last


@NORM_POSITIONS
def test_dropout_falls_on_what_is_added(norm_position: str):
    """On each sub-layer's output, before it is added. Source: Vaswani et al. 2017, sec. 5.4."""
    block = shaken(Block(odd_config(norm_position=norm_position, dropout=0.5), has_cross_attention=True)).train()
    with tc.capture(block, "*hook_attn_out", "hook_mlp_out") as acts:
        block(torch.randn(2, 5, 48), None, torch.randn(2, 7, 48))
    assert len(acts) == 3
    for site, added in acts.items():
        assert 0.35 < (added == 0).double().mean().item() < 0.65, site
