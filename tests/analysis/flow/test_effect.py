"""What a change does to an output, against whole forwards and plain sums."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.analysis.conftest import Made
from transformer_core.analysis.flow.effect import OutputTokens, effect, output_log_probs
from transformer_core.analysis.trace.model_run import run_text

TEXT = "The cat sees the dog."
SITES = {
    "encoder_decoder": "decoder.blocks.0.cross_attn.hook_z",
    "decoder_only": "decoder.blocks.0.self_attn.hook_z",
    "encoder_only": "encoder.blocks.0.self_attn.hook_z",
}


@pytest.mark.parametrize("architecture", SITES)
def test_a_head_switched_off(architecture: str, make: Callable[..., Made]):
    model, tokenizer = make(architecture)
    model_run = run_text(model, tokenizer, "The ____ sees the ____." if architecture == "encoder_only" else TEXT)
    output = OutputTokens.of(model_run, tokenizer.eos_id)
    edits = {SITES[architecture]: tc.zero_heads([1])}
    before = output_log_probs(model, model_run.inputs, output.positions)
    with tc.intervene(model, edits):
        after = output_log_probs(model, model_run.inputs, output.positions)
    found = effect(before, after, output.tokens)

    whole = []
    for changes in ({}, edits):
        with torch.inference_mode(), tc.intervene(model, changes):
            logits = model(*(torch.tensor([ids]) for ids in model_run.inputs))[0].double()
        whole.append(logits.softmax(dim=-1).numpy())
    assert len(output.labels) == len(output.positions) > 0
    for i, position in enumerate(output.positions):
        p, q = whole[0][position], whole[1][position]
        token = int(p.argmax()) if output.tokens is None else output.tokens[i]
        assert tokenizer.labels([token])[0] == output.labels[i]
        assert found.before[i] == pytest.approx(np.log(p[token]), abs=1e-5)
        assert found.change[i] == pytest.approx(np.log(q[token] / p[token]), abs=1e-5)
        assert found.kl[i] == pytest.approx(sum(a * np.log(a / b) for a, b in zip(p, q, strict=True)), abs=1e-5)
    assert found.kl.max() > 1e-3, "the head that is switched off has no effect here, so this shows nothing"
    assert found.losses == pytest.approx((-found.before.mean(), -found.after.mean()))


def test_what_stays_the_same_has_no_effect():
    log_probs = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]).log()  # one token is impossible in both
    found = effect(log_probs, log_probs, None)
    assert found.change.tolist() == [0, 0] and found.kl.tolist() == [0, 0]
    assert found.before == pytest.approx(np.log([0.5, 0.5]))
