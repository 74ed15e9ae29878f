"""Attribution patching: exact where the model is linear, 0 for equal inputs, and far off where a head is saturated."""

import numpy as np
import pytest
import torch

import transformer_core as tc
from tests.analysis.interventions.small_models import base_of, model_of, sources_of, text_of
from tests.model.building import each_variation
from transformer_core.analysis.interventions import (
    Ablation,
    Component,
    Patch,
    Stack,
    attribution,
    exact_top,
    head_components,
    residual_components,
    sweep,
)
from transformer_core.analysis.trace.attentions import attentions_of

OTHER = text_of(7, seed=5)
LINEAR = "decoder, no norm, attention only"


def patch_from(text: str) -> Patch:
    return Patch(
        component=Component(kind="head", attention="decoder", layer=0),
        text=text,
        direction="denoising",
        continuation="same",
    )


def components(variation: str) -> list[Component]:
    (model, _), base = model_of(variation), base_of(variation)
    if not base.tokens:  # an encoder's text without blanks
        return []
    return [*head_components(model.config, base), *residual_components(model.config, base)]


@each_variation
def test_equal_inputs_give_exactly_0(variation: str):
    (model, tokenizer), base = model_of(variation), base_of(variation)
    estimates = (
        attribution(
            model, tokenizer, base, components(variation), template=patch_from(base.text), sources=sources_of(variation)
        )
        if base.tokens
        else ()
    )
    assert all(estimate.change == 0 for estimate in estimates)


def frozen_patterns(variation: str) -> Stack:
    """Every pattern as it is on the base text."""
    (model, _), base = model_of(variation), base_of(variation)
    return Stack(
        entries=tuple(
            Patch(
                component=Component(kind="pattern", attention=name, layer=layer),  # type: ignore[arg-type]
                text=base.text,
                direction="denoising",
            )
            for name, attention in attentions_of(model.config).items()
            for layer in range(attention.n_layers(model.config))
        )
    )


def test_it_is_exact_for_a_linear_model():
    """Without norms and feed-forward networks, and with its patterns frozen, a model is linear in its activations."""
    (model, tokenizer), base = model_of(LINEAR), base_of(LINEAR)
    given, sources = frozen_patterns(LINEAR), sources_of(LINEAR)
    templates = [
        patch_from(OTHER),
        Ablation(component=patch_from(OTHER).component, method="zero"),
        Ablation(component=patch_from(OTHER).component, method="mean", texts=(OTHER,)),
    ]
    for template in templates:
        options = {"template": template, "given": given, "sources": sources}
        estimates = attribution(model, tokenizer, base, components(LINEAR), **options)
        exact = [*sweep(model, tokenizer, base, components(LINEAR), **options)]
        changes = np.array([[a.change, b.change] for a, b in zip(estimates, exact, strict=True)])
        np.testing.assert_allclose(changes[:, 0], changes[:, 1], rtol=1e-3, atol=1e-6)
        assert np.abs(changes).max() > 0.005


@pytest.mark.parametrize("variation", ["the paper's", "buckets", "decoder, rotary", "decoder, parallel"])
def test_it_is_the_slope_towards_the_source(variation: str):
    """A hundredth of the way, where every smooth model is linear, the exact change is a hundredth of the estimate."""
    (model, tokenizer), base = model_of(variation), base_of(variation)
    metric, sources = base.metric(1), sources_of(variation)
    some = [*head_components(model.config, base, metric)][::7]
    estimates = attribution(model, tokenizer, base, some, template=patch_from(OTHER), metric=metric, sources=sources)
    double = tc.build(model.config).eval().double()
    double.load_state_dict(model.state_dict())
    inputs = [torch.tensor([ids]) for ids in base.run.inputs]
    other = [torch.tensor([ids]) for ids in sources.run(OTHER, "same", here=base.run).inputs]
    with torch.no_grad(), tc.capture(double, "*.hook_z") as here:
        plain = double(*inputs)[0, metric.position]
    with torch.no_grad(), tc.capture(double, "*.hook_z") as there:
        double(*other)
    for estimate in estimates:
        where = estimate.component
        name = tc.site("z", layer=where.layer, attention=where.attention)
        mixed = here[name] + 1e-4 * (there[name] - here[name])
        edit = tc.patch({name: mixed}, heads=where.heads, positions=where.positions)
        with torch.no_grad(), tc.intervene(double, {name: edit}):
            changed = double(*inputs)[0, metric.position]
        slope = (metric.of(changed) - metric.of(plain)) / 1e-4
        assert estimate.change == pytest.approx(slope, abs=2e-3 * max(1, abs(slope)))


def test_the_largest_estimates_are_replaced_exactly():
    (model, tokenizer), base = model_of("decoder"), base_of("decoder")
    options = {"template": patch_from(OTHER), "sources": sources_of("decoder")}
    estimates = attribution(model, tokenizer, base, components("decoder"), **options)
    top = [*exact_top(model, tokenizer, base, estimates, 3, **options)]
    order = np.argsort([-abs(estimate.change) for estimate in estimates], kind="stable")[:3]
    assert [each.component for each in top] == [estimates[i].component for i in order]
    exact = {each.component: each for each in sweep(model, tokenizer, base, components("decoder"), **options)}
    assert all(exact[each.component] == each for each in top)


def test_no_component_gives_no_estimate():
    (model, tokenizer), base = model_of("decoder"), base_of("decoder")
    assert attribution(model, tokenizer, base, [], template=patch_from(OTHER)) == ()
