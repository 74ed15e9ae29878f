"""What heads write and layers pass on, against the sites themselves, in every variation of the model."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.heads.outputs import head_outputs, layer_states
from headlight.analysis.trace.attentions import attentions_of
from tests.model.building import random_inputs, varied_model
from transformer_core.errors import ConfigError

VARIED = ("the paper's", "rotary, groups", "attention only", "decoder, q/k norm", "encoder, buckets, groups")


def one_text(model: tc.Transformer, n_tokens: int = 7) -> list[list[int]]:
    return [tokens[0].tolist() for tokens in random_inputs(model, (n_tokens,), (5,))]


@pytest.mark.parametrize("variation", VARIED)
def test_outputs_and_states_are_those_of_the_sites(variation: str):
    model = varied_model(variation)
    config, tokens = model.config, one_text(model)
    outputs, states = head_outputs(model, tokens), layer_states(model, tokens)
    with torch.no_grad(), tc.capture(model, "*.hook_result", "*.hook_attn_out", "*.hook_resid_*") as acts:
        model(*map(torch.tensor, [[ids] for ids in tokens]))
    assert list(outputs) == list(attentions_of(config))
    for name, attention in attentions_of(config).items():
        assert len(outputs[name]) == attention.n_layers(config) and outputs[name].dtype == np.float32
        for layer, written in enumerate(outputs[name]):
            np.testing.assert_allclose(written, acts[attention.site(layer, "hook_result")][0].numpy(), atol=1e-5)
            bias = model.state_dict().get(attention.site(layer, "out.bias"), torch.zeros(()))
            attn_out = acts[attention.site(layer, "hook_attn_out")][0].numpy()
            np.testing.assert_allclose(written.sum(axis=0) + bias.numpy(), attn_out, atol=1e-5)
    n_layers = {"encoder": config.n_encoder_layers, "decoder": config.n_decoder_layers}
    assert list(states) == [stack for stack, n in n_layers.items() if n]
    for stack, actual in states.items():
        sites = [
            f"{stack}.blocks.0.hook_resid_pre",
            *(f"{stack}.blocks.{i}.hook_resid_post" for i in range(n_layers[stack])),
        ]
        assert len(actual) == len(sites) and actual.dtype == np.float32
        for state, site in zip(actual, sites, strict=True):
            np.testing.assert_allclose(state, acts[site][0].numpy(), atol=1e-5)


def test_other_precisions_come_out_as_float32():
    model = varied_model("decoder").to(torch.bfloat16)
    tokens = one_text(model)
    assert head_outputs(model, tokens)["decoder"].dtype == np.float32
    assert layer_states(model, tokens)["decoder"].dtype == np.float32


def test_a_text_that_takes_too_much_memory_is_declined():
    model = varied_model("the paper's")
    src, tgt = one_text(model)
    assert head_outputs(model, [src, tgt], max_tokens=7)["cross"].shape[2] == 5
    for tokens in ([src, tgt], [tgt, src]):
        with pytest.raises(ConfigError, match=r"limited to 6 tokens, and this text has 7; shorten the text, or raise"):
            head_outputs(model, tokens, max_tokens=6)
