"""A model in which a stack always acts computes what a context does, and leaves the model that it was made of alone."""

import pytest
import torch

import transformer_core as tc
from headlight.analysis.interventions.context import prepare, with_interventions
from headlight.analysis.interventions.records import Ablation, CellEdit, Component, InterventionStack, Patch, TokenSwap
from headlight.analysis.trace.model_run import run_text

TEXT, OTHER = "The animal didn't cross the street because it was too tired.", "The dog sees the cat."
STACK = InterventionStack(
    entries=(
        Ablation(component=Component(kind="head", attention="cross", layer=1, heads=(0,)), texts=(OTHER,)),
        Patch(component=Component(kind="resid_post", attention="encoder", layer=0), text=OTHER, direction="noising"),
        CellEdit(attention="encoder", layer=1, heads=(0,), cells=((6, None),), operation="knock_out"),
        CellEdit(attention="decoder", layer=0, operation="scale", cells=((2, 1),), number=0.3, renormalize=True),
        TokenSwap(side="source", positions=(1,), tokens=(40,)),
    )
)


@pytest.fixture(scope="module")
def loaded() -> tuple[torch.nn.Module, object]:
    return tc.load("checkpoints/en-fr")


@pytest.mark.parametrize("n_entries", [1, 2, 5])
def test_it_computes_the_same_bits_as_the_context_and_the_model_stays(loaded, n_entries):
    model, tokenizer = loaded
    stack = InterventionStack(entries=STACK.entries[-n_entries:])
    before = run_text(model, tokenizer, TEXT)
    changed = with_interventions(model, tokenizer, stack, TEXT)
    actual = run_text(changed, tokenizer, TEXT)
    with prepare(model, tokenizer, stack, run=before).active():
        expected = run_text(model, tokenizer, TEXT)
    after = run_text(model, tokenizer, TEXT)
    assert actual.output == expected.output and before.output == after.output
    for name in before.patterns:
        assert (actual.patterns[name] == expected.patterns[name]).all()
        assert (before.patterns[name] == after.patterns[name]).all()
    pairs = [(actual.patterns[name], of) for name, of in before.patterns.items()]
    assert any(one.shape != other.shape or (one != other).any() for one, other in pairs)


def test_parameters_are_shared_and_captures_see_the_changed_value(loaded):
    model, tokenizer = loaded
    stack = InterventionStack(
        entries=(Ablation(component=Component(kind="head", attention="encoder", layer=0, heads=(1,)), method="zero"),)
    )
    changed = with_interventions(model, tokenizer, stack, TEXT)
    assert all(a is b for a, b in zip(model.parameters(), changed.parameters(), strict=True))
    src = torch.tensor([tokenizer.encode_for(TEXT, "encoder_decoder")])
    with tc.capture(changed, "encoder.blocks.0.self_attn.hook_z") as acts:
        changed.final_states(src, src[:, :1])
    z = acts["encoder.blocks.0.self_attn.hook_z"]
    assert not z[:, 1].any() and z[:, 0].any()
