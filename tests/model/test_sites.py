"""The sites: their names, written out by hand from the design's table; their shapes; and what must add up."""

import math

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import PAD, random_tokens, shaken_model, small_config

ATTENTION = {"hook_q", "hook_k", "hook_v", "hook_mask", "hook_attn_scores", "hook_pattern", "hook_z", "hook_result"}
ATTENTION |= {"hook_attn_out"}
ENCODER_BLOCK = {
    "hook_resid_pre",
    *(f"self_attn.{stem}" for stem in ATTENTION),
    "hook_resid_mid",
    "ln1.hook_normalized",
    "mlp.hook_pre",
    "mlp.hook_post",
    "hook_mlp_out",
    "hook_resid_post",
    "ln2.hook_normalized",
}
DECODER_BLOCK = ENCODER_BLOCK | {
    *(f"cross_attn.{stem}" for stem in ATTENTION),
    "hook_resid_mid_cross",
    "ln_cross.hook_normalized",
}
POST_NORM = {
    "encoder.hook_embed",
    "encoder.hook_pos_embed",
    *(f"encoder.blocks.0.{site}" for site in ENCODER_BLOCK),
    "decoder.hook_embed",
    "decoder.hook_pos_embed",
    *(f"decoder.blocks.0.{site}" for site in DECODER_BLOCK),
    "hook_logits",
}
PRE_NORM = POST_NORM | {"encoder.ln_final.hook_normalized", "decoder.ln_final.hook_normalized"}

SRC_LENGTHS, TGT_LENGTHS = [7, 4, 0], [5, 2, 3]  # the last source is padding only
LAYERS = pytest.mark.parametrize("stack", ["encoder", "decoder"])
ATTENTIONS = [
    f"{attention}_attn"
    for i in (0, 1)
    for attention in (f"encoder.blocks.{i}.self", f"decoder.blocks.{i}.self", f"decoder.blocks.{i}.cross")
]


@pytest.fixture(scope="module", params=["post", "pre"])
def model(request: pytest.FixtureRequest) -> tc.Transformer:
    return shaken_model(small_config(norm_position=request.param, n_encoder_layers=2, n_decoder_layers=2))


@pytest.fixture(scope="module")
def tokens() -> tuple[Tensor, Tensor]:
    return random_tokens(SRC_LENGTHS, vocab_size=13), random_tokens(TGT_LENGTHS, vocab_size=13, seed=1)


@pytest.fixture(scope="module")
def acts(model: tc.Transformer, tokens: tuple[Tensor, Tensor]) -> tc.Activations:
    with torch.no_grad(), tc.capture(model) as acts:
        model(*tokens)
    return acts


@pytest.mark.parametrize("norm_position, expected", [("post", POST_NORM), ("pre", PRE_NORM)])
def test_names_are_the_table_s(norm_position: str, expected: set[str]):
    model = shaken_model(small_config(norm_position=norm_position))
    names = tc.site_names(model)
    assert set(names) == expected and len(names) == len(expected)
    with tc.capture(model) as acts:
        model(random_tokens([3], vocab_size=13), random_tokens([2], vocab_size=13))
    assert set(acts) == expected  # each is passed by a forward


def test_names_are_module_paths(model: tc.Transformer):
    for name in tc.site_names(model):
        assert model.get_submodule(name) is dict(model.named_modules())[name]


def test_shapes(acts: tc.Activations):
    """Batch 3, source 7, target 5, d_model 6, 2 heads of 3, d_ff 10, vocabulary 13."""
    queries = {"encoder": 7, "decoder": 5}
    for name, value in acts.items():
        stack, stem = name.split(".")[0], name.split(".")[-1]
        if stem == "hook_logits":
            expected: tuple[int, ...] = (3, 5, 13)
        elif "_attn." in name:
            n_queries, n_keys = queries[stack], 7 if "cross_attn" in name else queries[stack]
            expected = {
                "hook_q": (3, 2, n_queries, 3),
                "hook_k": (3, 2, n_keys, 3),
                "hook_v": (3, 2, n_keys, 3),
                "hook_mask": (3, 1, n_queries, n_keys),
                "hook_attn_scores": (3, 2, n_queries, n_keys),
                "hook_pattern": (3, 2, n_queries, n_keys),
                "hook_z": (3, 2, n_queries, 3),
                "hook_result": (3, 2, n_queries, 6),
                "hook_attn_out": (3, n_queries, 6),
            }[stem]
        else:
            expected = (3, queries[stack], 10 if ".mlp." in name else 6)
        assert value.shape == expected, name


@pytest.mark.parametrize("layer", [0, 1])
@LAYERS
def test_the_residual_stream_adds_up(model: tc.Transformer, acts: tc.Activations, stack: str, layer: int):
    """`resid_mid == resid_pre + attn_out` and so on; in post-norm the normalized value is what is handed on."""
    block = f"{stack}.blocks.{layer}."
    is_post_norm = model.config.norm_position == "post"
    parts = [("hook_resid_mid", "self_attn.hook_attn_out", "ln1"), ("hook_resid_post", "hook_mlp_out", "ln2")]
    if stack == "decoder":
        parts.insert(1, ("hook_resid_mid_cross", "cross_attn.hook_attn_out", "ln_cross"))
    handed_on = acts[block + "hook_resid_pre"]
    for resid, added, norm in parts:
        assert torch.equal(acts[block + resid], handed_on + acts[block + added]), resid
        handed_on = acts[f"{block}{norm}.hook_normalized"] if is_post_norm else acts[block + resid]
    if layer == 0:
        assert torch.equal(acts[f"{stack}.blocks.1.hook_resid_pre"], handed_on)


@pytest.mark.parametrize("attn", ATTENTIONS)
def test_an_attention_s_sites_fit_each_other(model: tc.Transformer, acts: tc.Activations, attn: str):
    q, k, v, mask, scores, pattern, z, result, attn_out = (
        acts[f"{attn}.hook_{stem}"]
        for stem in ("q", "k", "v", "mask", "attn_scores", "pattern", "z", "result", "attn_out")
    )
    assert mask.dtype == torch.bool
    assert torch.equal(scores == -math.inf, ~mask.expand_as(scores))
    products = q @ k.transpose(-2, -1) / math.sqrt(3)
    torch.testing.assert_close(scores[mask.expand_as(scores)], products[mask.expand_as(scores)])
    assert torch.equal(pattern == 0, ~mask.expand_as(pattern))
    torch.testing.assert_close(pattern.sum(dim=-1), mask.any(dim=-1).expand(3, 2, -1).float())
    torch.testing.assert_close(z, pattern @ v)
    out = model.get_submodule(f"{attn}.out")
    assert isinstance(out, torch.nn.Linear)
    for head in range(2):
        torch.testing.assert_close(result[:, head], z[:, head] @ out.weight.detach()[:, 3 * head : 3 * head + 3].T)
    torch.testing.assert_close(result.sum(dim=1) + out.bias.detach(), attn_out)


def test_rows_with_nothing_to_attend_to_are_zero(acts: tc.Activations):
    """The last source is padding only: all rows over it are 0, not NaN."""
    for attn in ATTENTIONS:
        pattern = acts[f"{attn}.hook_pattern"]
        assert (pattern.sum(dim=-1)[2] == 0).all() == ("decoder.blocks" not in attn or "cross" in attn), attn
    for name, value in acts.items():
        assert value.isfinite().all() or name.endswith("hook_attn_scores"), name


@LAYERS
def test_the_mlp_s_sites_fit_each_other(model: tc.Transformer, acts: tc.Activations, stack: str):
    pre, post = acts[f"{stack}.blocks.1.mlp.hook_pre"], acts[f"{stack}.blocks.1.mlp.hook_post"]
    down = model.get_submodule(f"{stack}.blocks.1.mlp.down")
    assert torch.equal(post, pre.clamp(min=0)) and (pre < 0).any()
    torch.testing.assert_close(down(post).detach(), acts[f"{stack}.blocks.1.hook_mlp_out"])


def test_the_logits_are_what_the_model_returns(
    model: tc.Transformer, acts: tc.Activations, tokens: tuple[Tensor, Tensor]
):
    with torch.no_grad():
        torch.testing.assert_close(acts["hook_logits"], model(*tokens), rtol=0, atol=1e-6)


@pytest.mark.parametrize("norm_position", ["post", "pre"])
def test_whatever_is_watched_the_numbers_are_the_same(norm_position: str):
    """Each site alone decides how attention is computed; the logits agree to 1e-6."""
    model = shaken_model(small_config(norm_position=norm_position))
    src, tgt = torch.tensor([[5, 6, 7, PAD]]), torch.tensor([[1, 8, 3]])
    unwatched = model(src, tgt)
    for site in tc.site_names(model):
        with tc.capture(model, site) as acts:
            torch.testing.assert_close(model(src, tgt), unwatched, rtol=0, atol=1e-6)
        assert list(acts) == [site]


def test_gradients_are_the_same_watched_or_not(model: tc.Transformer, tokens: tuple[Tensor, Tensor]):
    model.zero_grad()
    model(*tokens).square().mean().backward()
    unwatched = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    with tc.capture(model):
        model(*tokens).square().mean().backward()
    for name, p in model.named_parameters():
        assert p.grad is not None
        torch.testing.assert_close(p.grad, unwatched[name], rtol=1e-5, atol=1e-6)
    model.zero_grad()
