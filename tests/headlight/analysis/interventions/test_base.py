"""A source run beside the base run: differences at paired positions, as computed from two captures by hand."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.interventions.base import compare_with_source, read_base
from headlight.analysis.interventions.records import ComponentKind
from headlight.analysis.trace.attentions import ATTENTIONS
from tests.headlight.analysis.interventions.small_models import base_of, model_of, text_of
from transformer_core.instrument.capture import capture

KINDS: dict[ComponentKind, str] = {
    "head": "self_attn.hook_z",
    "attention": "self_attn.hook_attn_out",
    "feed_forward": "hook_mlp_out",
    "resid_pre": "hook_resid_pre",
    "resid_post": "hook_resid_post",
}


def captured(variation: str, inputs: tuple[tuple[int, ...], ...], name: str) -> np.ndarray:
    """What passes at a site, [..., pos, width], from a plain forward pass."""
    model, _ = model_of(variation)
    with torch.inference_mode(), capture(model, name) as acts:
        model(*(torch.tensor([ids]) for ids in inputs))
    return acts[name][0].numpy().astype(np.float64)


@pytest.mark.parametrize("kind", [*KINDS])
@pytest.mark.parametrize("variation", ["the paper's", "decoder", "encoder", "decoder, alibi, window"])
def test_differences_are_those_of_two_plain_runs(variation: str, kind: ComponentKind):
    base, other = base_of(variation), text_of(7, seed=1)
    compared = compare_with_source(*model_of(variation), base, other, kind=kind)
    for name, changes in compared.differences.items():
        if name == "cross":
            continue
        side = ATTENTIONS[name].queries_from
        pairs = compared.pairings[side]
        assert len(getattr(compared.run, side)) == changes.shape[-1]
        for layer in range(len(changes)):
            place = f"{name}.blocks.{layer}.{KINDS[kind]}"
            here, there = captured(variation, base.run.inputs, place), captured(variation, compared.run.inputs, place)
            by_hand = np.full(there.shape[:-1], np.nan)
            for ours, theirs in pairs.items():
                a, b = here[..., ours, :], there[..., theirs, :]
                by_hand[..., theirs] = np.linalg.norm(b - a, axis=-1) / np.linalg.norm(a, axis=-1)
            np.testing.assert_allclose(changes[layer], by_hand.reshape(changes[layer].shape), rtol=1e-3, atol=1e-5)


def test_a_token_without_a_counterpart_has_none_and_no_difference():
    model, tokenizer = tc.load("checkpoints/en-fr")
    base = read_base(model, tokenizer, "The dog sees the cat.")
    compared = compare_with_source(model, tokenizer, base, "The big dog sees the cat.")
    labels = compared.run.source
    big, dog = labels.index("big"), labels.index("dog")
    assert compared.here("source", big) is None
    assert compared.here("source", dog) == base.run.source.index("dog")
    is_missing = np.isnan(compared.differences["encoder"]).all(axis=(0, 1))
    assert is_missing.tolist() == [label == "big" for label in labels]
