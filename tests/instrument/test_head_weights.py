"""The matrices of a head against what the model computes with them."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

import transformer_core as tc
from tests.model.building import DECODER, random_tokens, shaken_model, small_config
from transformer_core.errors import SiteError

SRC, TGT = random_tokens([7, 7], vocab_size=13), random_tokens([5, 5], vocab_size=13, seed=1)


def run(model: tc.Transformer, *inputs: Tensor) -> tc.Activations:
    with torch.no_grad(), tc.capture(model, "*") as acts:
        model(*inputs)
    return acts


@pytest.mark.parametrize(
    "changes",
    [{}, {"n_kv_heads": 1}, {"d_model": 12, "n_heads": 4, "n_kv_heads": 2}],
    ids=["each its own keys", "shared keys", "keys shared by two"],
)
@pytest.mark.parametrize("attention", ["encoder", "decoder", "cross"])
def test_scores_and_results_are_made_of_them(attention: str, changes: dict[str, Any]):
    model = shaken_model(small_config(norm_position="pre", attention_bias="none", **changes))
    acts = run(model, SRC, TGT)
    stack = "encoder" if attention == "encoder" else "decoder"
    norm = "ln_cross" if attention == "cross" else "ln1"
    x = acts[f"{stack}.blocks.0.{norm}.hook_normalized"]
    read = acts["encoder.ln_final.hook_normalized"] if attention == "cross" else x
    for head in range(model.config.n_heads):
        matrices = tc.weights(model, layer=0, head=head, attention=attention)
        scores = acts[tc.site("attn_scores", layer=0, attention=attention)][:, head]
        expected = x @ matrices.qk @ read.mT / math.sqrt(matrices.w_q.shape[1])
        allowed = scores > -math.inf
        torch.testing.assert_close(expected[allowed], scores[allowed])
        pattern = acts[tc.site("pattern", layer=0, attention=attention)][:, head]
        result = acts[tc.site("result", layer=0, attention=attention)][:, head]
        torch.testing.assert_close(pattern @ read @ matrices.ov, result)


def test_biases_are_not_in_them_and_changed_modules_are():
    model = shaken_model(small_config(**DECODER))
    attention = model.decoder.blocks[0].self_attn
    d_head = model.config.d_model // model.config.n_heads
    before = tc.weights(model, layer=0, head=1, attention="decoder")
    torch.testing.assert_close(before.w_q, attention.q.weight[d_head : 2 * d_head].T)
    torch.testing.assert_close(before.w_o, attention.out.weight[:, d_head : 2 * d_head].T)

    class Doubled(nn.Module):
        def forward(self, weight: Tensor) -> Tensor:
            return 2 * weight

    parametrize.register_parametrization(attention.v, "weight", Doubled())
    attention.out = nn.Sequential(attention.out, nn.Linear(model.config.d_model, model.config.d_model))
    after = tc.weights(model, layer=0, head=1, attention="decoder")
    torch.testing.assert_close(after.w_v, 2 * before.w_v)
    torch.testing.assert_close(after.w_o, before.w_o @ attention.out[1].weight.T)


@pytest.mark.parametrize(
    "layer, head, attention", [(1, 0, "decoder"), (0, 2, "decoder"), (0, 0, "cross"), (0, -1, "decoder")]
)
def test_a_head_that_is_not_there_is_named(layer: int, head: int, attention: str):
    with pytest.raises(SiteError, match=f"no head {head} at decoder.blocks.{layer}"):
        tc.weights(shaken_model(small_config(**DECODER)), layer=layer, head=head, attention=attention)
