"""Consequences of a stack, against whole forwards, decodings and plain loops."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.flow.divergence import js_divergence
from headlight.analysis.interventions.base import read_base, relative_changes
from headlight.analysis.interventions.comparison import consequences, free_output
from headlight.analysis.interventions.effect import effect
from headlight.analysis.interventions.records import Ablation, CellEdit, Component, InterventionStack
from headlight.analysis.trace.attentions import attentions_of
from headlight.analysis.trace.model_run import run_text
from tests.headlight.analysis.conftest import TEXT_OF, Made
from tests.headlight.analysis.interventions.small_models import model_of
from transformer_core.config import Architecture
from transformer_core.errors import ConfigError

TEXT = "The cat sees the dog."
ROOM: dict[str, Any] = {"max_tokens": 16, "max_new_tokens": 4}


def stack_for(config: tc.ModelConfig) -> InterventionStack:
    """A head off in the last attention of layer 0, and a knocked-out column."""
    name: Any = [*attentions_of(config)][-1]
    head = Component(kind="head", attention=name, layer=0, heads=(1,))
    knock_out = CellEdit(attention=name, layer=1, operation="knock_out", cells=((None, 1),))
    return InterventionStack(entries=(Ablation(component=head, method="zero"), knock_out))


def hooks_for(config: tc.ModelConfig) -> dict[str, Any]:
    """The same by the instrument's own means."""
    attention = attentions_of(config)[[*attentions_of(config)][-1]]
    return {
        attention.site(0, "hook_z"): tc.zero_heads([1]),
        attention.site(1, "hook_attn_scores"): tc.knock_out([(None, None, 1)]),
    }


@pytest.mark.parametrize("architecture", TEXT_OF)
def test_every_number_is_that_of_whole_forwards(architecture: Architecture, make: Callable[..., Made]):
    model, tokenizer = make(architecture)
    base = read_base(model, tokenizer, TEXT_OF[architecture], **ROOM)
    stack, hooks = stack_for(model.config), hooks_for(model.config)
    actual = consequences(model, tokenizer, base, stack)

    inputs = [torch.tensor([ids]) for ids in base.run.inputs]
    stems = ("*.hook_pattern", "*.hook_resid_pre", "*.hook_resid_post", "*.hook_mask")
    with torch.no_grad(), tc.capture(model, *stems) as before:
        logits_before = model(*inputs)[0, list(base.outputs.positions)].double()
    with torch.no_grad(), tc.intervene(model, hooks), tc.capture(model, *stems) as after:
        logits_after = model(*inputs)[0, list(base.outputs.positions)].double()
    with tc.intervene(model, hooks):
        free = run_text(model, tokenizer, TEXT_OF[architecture], **ROOM)

    assert len(actual.labels) == len(base.tokens) == len(actual.pairs) > 0
    assert (base.free_output, free_output(model, tokenizer, base, actual)) == (base.run.output, free.output)
    for i, token in enumerate(base.tokens):
        p, q = (each[i].softmax(dim=-1).numpy() for each in (logits_before, logits_after))
        assert actual.effect.before[i] == pytest.approx(np.log(p[token]), abs=1e-5)
        assert actual.effect.change[i] == pytest.approx(np.log(q[token] / p[token]), abs=1e-5)
        assert actual.effect.kl[i] == pytest.approx(sum(p * np.log(p / q)), abs=1e-5)
        one, other = actual.pairs[i]
        writable = [each for each in range(len(p)) if each not in (token, model.config.suppressed_token_id)]
        assert (one, other) == (token, max(writable, key=lambda each: p[each]))
        differences = [float(each[i, one] - each[i, other]) for each in (logits_before, logits_after)]
        assert actual.logit_differences[:, i] == pytest.approx(differences, abs=1e-4)
        assert actual.ranks[:, i].tolist() == [int((each > each[token]).sum()) for each in (p, q)]
        for candidates, each in zip(actual.candidates[:, i], (p, q), strict=True):
            writable = [token for token in range(len(each)) if token != model.config.suppressed_token_id]
            assert candidates.tolist() == sorted(writable, key=lambda token: -each[token])[:10]
    for name, attention in attentions_of(model.config).items():
        for layer in range(attention.n_layers(model.config)):
            site, mask = attention.site(layer), before[attention.site(layer, "hook_mask")][0, 0].numpy()
            for head in range(model.config.n_heads):
                distances = [
                    np.sqrt(js_divergence(before[site][0, head, query].numpy(), after[site][0, head, query].numpy()))
                    for query in range(len(mask))
                    if mask[query].sum() >= 2
                ]
                expected = np.mean(distances) if distances else 0.0
                assert actual.head_changes[name][layer, head] == pytest.approx(expected, abs=1e-4)
    for stack_name in actual.residual_changes:
        blocks = [site for site in before if site.startswith(stack_name) and site.endswith(("resid_pre", "resid_post"))]
        for depth, site in enumerate([blocks[0], *(each for each in blocks if each.endswith("resid_post"))]):
            change = (after[site] - before[site])[0].norm(dim=-1) / before[site][0].norm(dim=-1)
            np.testing.assert_allclose(actual.residual_changes[stack_name][depth], change.numpy(), atol=1e-5)
    assert actual.effect.kl.max() > 1e-4


def test_where_nothing_is_written_the_next_token_is_an_output_token(make: Callable[..., Made]):
    model, tokenizer = make("decoder_only")
    ids = tokenizer.encode_for(TEXT, "decoder_only")
    stack, logits = stack_for(model.config), []
    for edits in ({}, hooks_for(model.config)):
        with torch.no_grad(), tc.intervene(model, edits):
            logits.append(model(torch.tensor([ids]))[0].double())
    written = [each[:, 1:].argmax(-1) + 1 for each in logits]  # never <pad>, which is 0
    base = read_base(model, tokenizer, TEXT, max_new_tokens=0)
    assert base.run.inputs == (tuple(ids),) and base.outputs.positions == tuple(range(len(ids)))
    assert base.tokens == base.outputs.tokens == (*ids[1:], int(written[0][-1]))
    typed = tokenizer.labels_for(TEXT, "decoder_only")
    assert base.outputs.labels == (*typed[1:], *tokenizer.labels(base.tokens[-1:])) and base.free_output == ""
    actual = consequences(model, tokenizer, base, stack)
    assert (
        actual.best.tolist() == [each.tolist() for each in written]
        and free_output(model, tokenizer, base, actual) == ""
    )
    token, other = actual.pairs[-1]
    differences = [float(each[-1, token] - each[-1, other]) for each in logits]
    assert actual.logit_differences[:, -1] == pytest.approx(differences, abs=1e-4)
    assert base.metric().position == len(ids) - 1


def test_chosen_tokens_take_the_place_of_the_runner_up(make: Callable[..., Made]):
    model, tokenizer = make("encoder_decoder")
    base = read_base(model, tokenizer, TEXT, **ROOM)
    actual = consequences(model, tokenizer, base, InterventionStack(), pairs={1: (5, 7)})
    assert actual.pairs[1] == (5, 7) and actual.pairs[0] == (base.tokens[0], base.runners_up[0])
    log_probs = base.forced.log_probs[1]
    assert actual.logit_differences[0, 1] == pytest.approx(float(log_probs[5] - log_probs[7]), abs=1e-5)
    with pytest.raises(ConfigError, match="token id 999 is not in the vocabulary"):
        consequences(model, tokenizer, base, InterventionStack(), pairs={0: (5, 999)})
    with pytest.raises(ConfigError, match="there is no output token 40; there are"):
        consequences(model, tokenizer, base, InterventionStack(), pairs={40: (5, 6)})
    with pytest.raises(ConfigError, match="needs two different tokens"):
        consequences(model, tokenizer, base, InterventionStack(), pairs={0: (5, 5)})
    assert base.metric(0, token=base.runners_up[0]).other == base.tokens[0]


def test_a_typed_target_is_forced_and_what_the_model_writes_stands_beside_it(make: Callable[..., Made]):
    model, tokenizer = make("encoder_decoder")
    base = read_base(model, tokenizer, TEXT, target="The dog sees.", **ROOM)
    assert base.tokens == tuple(tokenizer.encode("The dog sees.", eos=True))
    actual = consequences(model, tokenizer, base, InterventionStack())
    alone = run_text(model, tokenizer, TEXT, **ROOM).output
    assert alone == base.free_output == free_output(model, tokenizer, base, actual)


def test_a_model_without_a_last_layer_is_refused():
    model, tokenizer = model_of("encoder")
    config = model.config.changed(unembed=False, tie_embeddings="none", unembed_bias=False, unembed_transform=False)
    with pytest.raises(ConfigError, match="no language-modeling head"):
        read_base(tc.build(config).eval(), tokenizer, "5 6")


def test_what_stays_the_same_has_no_effect():
    log_probs = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]).log()  # one token is impossible in both
    actual = effect(log_probs, log_probs, [0, 2])
    assert actual.change.tolist() == [0, 0] and actual.kl.tolist() == [0, 0]
    assert actual.before == pytest.approx(np.log([0.5, 0.5]))


def test_relative_changes():
    before = np.array([[3.0, 4.0], [3.0, 4.0], [0.0, 0.0], [0.0, 0.0]])
    after = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    assert relative_changes(before, after).tolist() == [0, 1, 0, np.inf]
