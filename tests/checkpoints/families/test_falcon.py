"""Falcon-RW, which has ALiBi, against the default attention of `transformers`; its eager attention adds ALiBi twice."""

import torch

import transformer_core as tc
from tests.checkpoints import foreign
from tests.checkpoints.small_decoders import FALCON
from transformer_core.checkpoints.convert import convert

RW = {"alibi": True, "parallel_attn": False, "multi_query": False, "bias": True}
OF_10_HEADS = {"num_attention_heads": 10, "hidden_size": 60}  # whose slopes bfloat16 rounds


def test_logits_and_states_with_alibi():
    transformers = foreign.library()
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        theirs = transformers.FalconForCausalLM(transformers.FalconConfig(**{**FALCON, **RW, **OF_10_HEADS})).eval()
        for parameter in theirs.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.2)
    ours = convert(theirs.config.to_dict(), theirs.state_dict(), where="falcon-rw")
    (tokens,) = foreign.batch("falcon")
    real = foreign.is_real(tokens)
    with torch.inference_mode(), tc.capture(ours, "*.hook_resid_pre") as acts:
        expected = theirs(tokens, attention_mask=real.long(), output_hidden_states=True)
        logits = ours(tokens)
    torch.testing.assert_close(logits[real], expected.logits[real], rtol=1e-5, atol=2e-5)
    for i, states in enumerate(expected.hidden_states[:-1]):
        torch.testing.assert_close(acts[f"decoder.blocks.{i}.hook_resid_pre"][real], states[real], rtol=1e-5, atol=2e-5)
