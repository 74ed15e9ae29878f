"""Rollout and flow of a model run: against the activations of a watched forward, followed by hand."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.flow.rollout import Method, Part, flow, flow_to_source, follow, rollout, rollout_to_source
from headlight.analysis.trace.attentions import ATTENTIONS, attentions_of
from headlight.analysis.trace.model_run import ModelRun, run_text
from tests.headlight.analysis.conftest import TEXT_OF
from transformer_core.config import Architecture

ONE_STACK: dict[Architecture, str] = {"decoder_only": "decoder", "encoder_only": "encoder"}
Make = Callable[..., tuple[tc.Transformer, tc.Tokenizer]]


def seen(make: Make, architecture: Architecture) -> tuple[ModelRun, dict[str, np.ndarray]]:
    """A model run, and the patterns of all heads [layer, head, query, key] of a forward of the same tokens by hand."""
    model, tokenizer = make(architecture)
    model_run = run_text(model, tokenizer, TEXT_OF[architecture], max_tokens=9, max_new_tokens=3)
    with torch.inference_mode(), tc.capture(model, "*.hook_pattern") as acts:
        model(*(torch.tensor([ids]) for ids in model_run.inputs))
    patterns = {
        name: np.stack([acts[attention.site(layer)][0].numpy() for layer in range(attention.n_layers(model.config))])
        for name, attention in attentions_of(model.config).items()
    }
    return model_run, {name: pattern.astype(np.float64) for name, pattern in patterns.items()}


def parts_of(found: tuple[Part, ...]) -> dict[tuple[str, str], Part]:
    return {(part.of, part.side): part for part in found}


@pytest.mark.parametrize("method", ["rollout", "flow"])
@pytest.mark.parametrize("architecture", ONE_STACK)
def test_of_one_stack_there_is_one_part(make: Make, architecture: Architecture, method: Method):
    model_run, patterns = seen(make, architecture)
    (part,) = follow(model_run, method)
    kind = ATTENTIONS[ONE_STACK[architecture]]
    assert part.of == part.side == kind.queries_from
    (pattern,) = patterns.values()
    n = pattern.shape[-1]
    by_hand = rollout(pattern)[-1] if method == "rollout" else np.stack([flow(pattern, query) for query in range(n)])
    np.testing.assert_allclose(part.values, by_hand, atol=1e-6)
    can_see_all = architecture == "encoder_only"
    np.testing.assert_array_equal(part.mask, [[key <= query or can_see_all for key in range(n)] for query in range(n)])


@pytest.mark.parametrize("method", ["rollout", "flow"])
def test_an_encoder_decoder_has_three_parts(make: Make, method: Method):
    model_run, patterns = seen(make, "encoder_decoder")
    parts = parts_of(follow(model_run, method))
    assert [*parts] == [("source", "source"), ("target", "source"), ("target", "target")]
    encoder, stacks = patterns["encoder"], (patterns["encoder"], patterns["decoder"], patterns["cross"])
    n_source, n_target = len(model_run.source), len(model_run.target)
    assert n_source != n_target  # or sides that are mixed up would not be seen
    if method == "rollout":
        own, both = rollout(encoder)[-1], rollout_to_source(*stacks)
        source, target = both.source[-1], both.target[-1]
    else:
        own = np.stack([flow(encoder, query) for query in range(n_source)])
        rows = [flow_to_source(*stacks, query) for query in range(n_target)]
        source, target = np.stack([row.source for row in rows]), np.stack([row.target for row in rows])
    for place, by_hand in zip(parts, (own, source, target), strict=True):
        np.testing.assert_allclose(parts[place].values, by_hand, atol=1e-6)
    assert parts["source", "source"].mask.all() and parts["target", "source"].mask.all()
    np.testing.assert_array_equal(parts["target", "target"].mask, np.tri(n_target, dtype=bool))
