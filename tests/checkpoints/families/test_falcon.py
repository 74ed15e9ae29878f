"""Falcon-RW, which has ALiBi, against the default attention of `transformers`; its eager attention adds ALiBi twice."""

import torch

import transformer_core as tc
from tests.checkpoints import foreign
from tests.checkpoints.small_decoders import FALCON
from transformer_core.checkpoints.convert import convert
from transformer_core.errors import Message

RW = {"alibi": True, "parallel_attn": False, "multi_query": False, "bias": True}
OF_4_HEADS = {"num_attention_heads": 4, "hidden_size": 40}  # bfloat16 has their slopes, which are powers of 2


def test_logits_and_states_with_alibi():
    transformers = foreign.library()
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        theirs = transformers.FalconForCausalLM(transformers.FalconConfig(**{**FALCON, **RW, **OF_4_HEADS})).eval()
        for parameter in theirs.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.2)
    notes: list[Message] = []
    ours = convert(theirs.config.to_dict(), theirs.state_dict(), where="falcon-rw", on_note=notes.append)
    (tokens,) = foreign.batch("falcon")
    real = foreign.is_real(tokens)
    with torch.inference_mode(), tc.capture(ours, "*.hook_resid_pre") as acts:
        expected = theirs(tokens, attention_mask=real.long(), output_hidden_states=True)
        logits = ours(tokens)
    torch.testing.assert_close(logits[real], expected.logits[real], rtol=1e-5, atol=2e-5)
    for i, states in enumerate(expected.hidden_states[:-1]):
        torch.testing.assert_close(acts[f"decoder.blocks.{i}.hook_resid_pre"][real], states[real], rtol=1e-5, atol=2e-5)
    assert "bfloat16" in str(notes[0])
