"""The sites: their names, written out by hand from the design's table; their shapes; and what must add up."""

import math
import re

import pytest
import torch
from torch import Tensor

import transformer_core as tc
from tests.model.building import (
    VARIATIONS,
    random_inputs,
    varied_model,
)
from transformer_core.model.feed_forward import FeedForward

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
THE_PAPER_S = {
    "encoder.hook_embed",
    "encoder.hook_pos_embed",
    *(f"encoder.blocks.0.{site}" for site in ENCODER_BLOCK),
    "decoder.hook_embed",
    "decoder.hook_pos_embed",
    *(f"decoder.blocks.0.{site}" for site in DECODER_BLOCK),
}
NO_POSITIONS, LAST_NORM, GATE = "hook_pos_embed", "ln_final.hook_normalized", "blocks.0.mlp.hook_pre_linear"
HEAD_NORMS = "blocks.0.self_attn.q_norm.hook_normalized blocks.0.self_attn.k_norm.hook_normalized"
OUTPUT_NORMS = "blocks.0.self_attn.out_norm.hook_normalized blocks.0.mlp.out_norm.hook_normalized"
DIFFERENCES = {  # variation: which of the paper's sites are not there (a pattern), and which are there beside them
    "the paper's": ("", ""),
    "pre-norm, no biases of norms": ("", LAST_NORM),
    "buckets": (NO_POSITIONS, f"{LAST_NORM} {OUTPUT_NORMS}"),
    "alibi": (NO_POSITIONS, ""),
    "rotary, groups": (NO_POSITIONS, ""),
    "window": ("", GATE),
    "attention only": (r"mlp|ln2|hook_resid_mid_cross|encoder.*hook_resid_mid", LAST_NORM),
    "decoder": ("", LAST_NORM),
    "decoder, rotary": (NO_POSITIONS, f"{LAST_NORM} {GATE}"),
    "decoder, q/k norm": (NO_POSITIONS, f"{LAST_NORM} {HEAD_NORMS}"),
    "decoder, alibi, window": (NO_POSITIONS, ""),
    "decoder, buckets": (NO_POSITIONS, "embedding_norm.hook_normalized"),
    "decoder, attention only": (rf"{NO_POSITIONS}|mlp|ln2|hook_resid_mid", ""),
    "decoder, output norms": (NO_POSITIONS, f"{LAST_NORM} {HEAD_NORMS} {OUTPUT_NORMS}"),
    "decoder, no final norm": ("", "embedding_norm.hook_normalized"),
    "final norm, two vocabularies": ("", LAST_NORM),
    "no norm": ("", LAST_NORM),
    "decoder, no norm, attention only": (rf"{NO_POSITIONS}|mlp|ln2|hook_resid_mid", LAST_NORM),
    "decoder, parallel": (NO_POSITIONS, LAST_NORM),
    "encoder": (
        "",
        "hook_segment_embed embedding_norm.hook_normalized unembed_transform.norm.hook_normalized",
    ),
    "encoder, narrow embeddings, buckets too": (
        "",
        "embedding_norm.hook_normalized unembed_transform.norm.hook_normalized",
    ),
    "encoder, buckets, groups": (NO_POSITIONS, f"{LAST_NORM} {HEAD_NORMS}"),
    "encoder, rotary, window": (NO_POSITIONS, ""),
    "encoder, windows and none": (NO_POSITIONS, f"{LAST_NORM} {GATE} embedding_norm.hook_normalized"),
}


def stacks_of(model: tc.Transformer) -> tuple[str, ...]:
    return {
        "encoder_decoder": ("encoder", "decoder"),
        "decoder_only": ("decoder",),
        "encoder_only": ("encoder",),
    }[model.config.architecture]


def attentions_of(model: tc.Transformer) -> list[str]:
    """The names of all attentions."""
    names = [f"{stack}.blocks.{i}.self_attn" for stack in stacks_of(model) for i in (0, 1)]
    return names + ([f"decoder.blocks.{i}.cross_attn" for i in (0, 1)] if len(stacks_of(model)) == 2 else [])


@pytest.fixture(scope="module", params=VARIATIONS)
def variation(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def model(variation: str) -> tc.Transformer:
    return varied_model(variation)


@pytest.fixture(scope="module")
def inputs(model: tc.Transformer) -> tuple[Tensor, ...]:
    """Three texts; the last source, or the last text, is padding only."""
    return random_inputs(model, (7, 4, 0), (5, 2, 3))


@pytest.fixture(scope="module")
def acts(model: tc.Transformer, inputs: tuple[Tensor, ...]) -> tc.Activations:
    with torch.no_grad(), tc.capture(model, "*") as acts:
        model(*inputs)
    return acts


def test_names_are_the_table_s(variation: str, model: tc.Transformer, acts: tc.Activations):
    stacks, (less, more) = stacks_of(model), DIFFERENCES[variation]
    names = {name for name in THE_PAPER_S if name.split(".")[0] in stacks and not (less and re.search(less, name))}
    if len(stacks) == 1:
        names = {name for name in names if "cross" not in name}
    names |= {site if "unembed" in site else f"{stack}.{site}" for stack in stacks for site in more.split()}
    if variation == "buckets":
        names.add("decoder.blocks.0.cross_attn.out_norm.hook_normalized")
    expected = {name.replace("blocks.0", f"blocks.{i}") for name in names for i in (0, 1)} | {"hook_logits"}
    assert set(tc.site_names(model)) == expected and len(tc.site_names(model)) == len(expected)
    assert set(acts) == expected  # each is passed by a forward


def test_shapes(model: tc.Transformer, acts: tc.Activations):
    """Batch 3, text or source 7, target 5, d_model 48, d_ff 80, vocabulary 37."""
    first = stacks_of(model)[0]
    n_positions = {"encoder": 7, "decoder": 7 if first == "decoder" else 5}
    n_heads, n_kv_heads, d_head = model.config.n_heads, model.config.n_kv_heads, model.config.d_head
    for name, value in acts.items():
        stack, stem = name.split(".")[0], name.split(".")[-1]
        width = model.config.embedding_width if "embed" in name else 48
        if stack not in n_positions:
            expected: tuple[int, ...] = (3, n_positions[stacks_of(model)[-1]], 37 if stem == "hook_logits" else width)
        elif "_attn." in name and "out_norm" not in name:
            n_queries, n_keys = n_positions[stack], 7 if "cross_attn" in name else n_positions[stack]
            expected = {
                "hook_q": (3, n_heads, n_queries, d_head),
                "hook_k": (3, n_kv_heads, n_keys, d_head),
                "hook_v": (3, n_kv_heads, n_keys, d_head),
                "hook_mask": (3, 1, n_queries, n_keys),
                "hook_attn_scores": (3, n_heads, n_queries, n_keys),
                "hook_pattern": (3, n_heads, n_queries, n_keys),
                "hook_z": (3, n_heads, n_queries, d_head),
                "hook_result": (3, n_heads, n_queries, 48),
                "hook_attn_out": (3, n_queries, 48),
                "hook_normalized": (3, n_kv_heads if ".k_norm." in name else n_heads, n_queries, d_head),
            }[stem]
        else:
            expected = (3, n_positions[stack], 80 if ".mlp.hook" in name else width)
        assert value.shape == expected, name


def test_the_residual_stream_adds_up(model: tc.Transformer, acts: tc.Activations):
    """`resid_mid == resid_pre + attn_out` and so on; in post-norm the normalized value is passed on."""
    for stack in stacks_of(model):
        for layer in (0, 1):
            block = f"{stack}.blocks.{layer}."
            parts = [("hook_resid_mid", "self_attn.hook_attn_out", "ln1")]
            if stack == "decoder" and len(stacks_of(model)) == 2:
                parts.append(("hook_resid_mid_cross", "cross_attn.hook_attn_out", "ln_cross"))
            if model.config.d_ff:
                parts.append(("hook_resid_post", "hook_mlp_out", "ln2"))
            parts[-1] = ("hook_resid_post", *parts[-1][1:])
            handed_on = acts[block + "hook_resid_pre"]
            for resid, added, norm in parts:
                assert torch.equal(acts[block + resid], handed_on + acts[block + added]), block + resid
                is_post_norm = model.config.norm_position == "post"
                handed_on = acts[f"{block}{norm}.hook_normalized"] if is_post_norm else acts[block + resid]
            if layer == 0:
                assert torch.equal(acts[f"{stack}.blocks.1.hook_resid_pre"], handed_on)


def out_norm(model: tc.Transformer, sublayer: str) -> torch.nn.Module:
    """The normalization of what a sub-layer adds."""
    return model.get_submodule(f"{sublayer}.out_norm") if model.config.output_norm else torch.nn.Identity()


@torch.no_grad()
def test_an_attention_s_sites_fit_each_other(model: tc.Transformer, acts: tc.Activations):
    n_heads = model.config.n_heads
    group = n_heads // model.config.n_kv_heads
    for attn in attentions_of(model):
        q, k, v, mask, scores, pattern, z, result, attn_out = (
            acts[f"{attn}.hook_{stem}"]
            for stem in ("q", "k", "v", "mask", "attn_scores", "pattern", "z", "result", "attn_out")
        )
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        allowed = mask.expand_as(scores)
        assert mask.dtype == torch.bool
        assert torch.equal(scores == -math.inf, ~allowed)
        if "cross" in attn or not model.config.has_position_bias:
            products = q @ k.transpose(-2, -1) / (math.sqrt(q.shape[-1]) if model.config.scale_scores else 1)
            if model.config.score_cap is not None:
                products = model.config.score_cap * torch.tanh(products / model.config.score_cap)
            torch.testing.assert_close(scores[allowed], products[allowed])
        exps = scores.exp()  # scores are small, so this needs no care
        torch.testing.assert_close(pattern, exps / exps.sum(dim=-1, keepdim=True).clamp(min=1e-30))
        assert torch.equal(pattern == 0, ~allowed)
        torch.testing.assert_close(pattern.sum(dim=-1), mask.any(dim=-1).expand(scores.shape[:3]).float())
        torch.testing.assert_close(z, pattern @ v)
        out = model.get_submodule(f"{attn}.out")
        assert isinstance(out, torch.nn.Linear)
        for head, w_out in enumerate(out.weight.detach().chunk(n_heads, dim=1)):
            torch.testing.assert_close(result[:, head], z[:, head] @ w_out.T)
        bias = 0 if out.bias is None else out.bias.detach()
        torch.testing.assert_close(out_norm(model, attn)(result.sum(dim=1) + bias), attn_out)


def test_rows_with_nothing_to_attend_to_are_zero(model: tc.Transformer, acts: tc.Activations):
    """The last source is padding only: all rows over it are 0, not NaN."""
    for attn in attentions_of(model):
        is_over_the_source = "cross" in attn or attn.startswith(stacks_of(model)[0])
        assert (acts[f"{attn}.hook_pattern"].sum(dim=-1)[2] == 0).all() == is_over_the_source, attn
    for name, value in acts.items():
        assert value.isfinite().all() or name.endswith("hook_attn_scores"), name


def test_the_mlp_s_sites_fit_each_other(model: tc.Transformer, acts: tc.Activations):
    for stack in stacks_of(model) if model.config.d_ff else ():
        mlp = model.get_submodule(f"{stack}.blocks.1.mlp")
        assert isinstance(mlp, FeedForward)
        pre, post = (acts[f"{stack}.blocks.1.mlp.hook_{stem}"] for stem in ("pre", "post"))
        assert (pre < 0).any()
        activated = mlp.activation(pre)
        if model.config.gated:
            activated = activated * acts[f"{stack}.blocks.1.mlp.hook_pre_linear"]
        assert torch.equal(post, activated)
        out = out_norm(model, f"{stack}.blocks.1.mlp")(mlp.down(post))
        torch.testing.assert_close(out.detach(), acts[f"{stack}.blocks.1.hook_mlp_out"])


@torch.no_grad()
def test_watched_or_not_the_logits_are_the_same(
    model: tc.Transformer, inputs: tuple[Tensor, ...], acts: tc.Activations
):
    """Written out, fused, and fused with the mask written out."""
    unwatched = model(*inputs)
    torch.testing.assert_close(acts["hook_logits"], unwatched, rtol=0, atol=5e-6)
    with tc.capture(model, "*.hook_mask"):
        torch.testing.assert_close(model(*inputs), unwatched, rtol=0, atol=5e-6)


def test_gradients_are_the_same_watched_or_not(model: tc.Transformer, inputs: tuple[Tensor, ...]):
    parameters = dict(model.named_parameters())
    unwatched = torch.autograd.grad(model(*inputs).square().mean(), [*parameters.values()])
    with tc.capture(model, "*"):
        watched = torch.autograd.grad(model(*inputs).square().mean(), [*parameters.values()])
    for name, one, other in zip(parameters, watched, unwatched, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5, msg=f"{name} differs")
