"""Attribution patching: exact where the model is linear, 0 for equal inputs, and far off where a head is saturated."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.interventions.attributing import attribution, exact_top
from headlight.analysis.interventions.effect import Metric
from headlight.analysis.interventions.records import Ablation, Component, InterventionStack, Patch
from headlight.analysis.interventions.sweeping import Sweep, sweep_components
from headlight.analysis.trace.attentions import attentions_of
from tests.headlight.analysis.interventions.small_models import base_of, model_of, text_of
from transformer_core.errors import ConfigError

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
    return [*sweep_components(model.config, base), *sweep_components(model.config, base, "resid_pre")]


def frozen_patterns(variation: str) -> InterventionStack:
    """Every pattern as it is on the base text."""
    (model, _), base = model_of(variation), base_of(variation)
    return InterventionStack(
        entries=tuple(
            Patch(
                component=Component(kind="pattern", attention=name, layer=layer),  # type: ignore[arg-type]
                text=str(base.text),
                direction="denoising",
            )
            for name, attention in attentions_of(model.config).items()
            for layer in range(attention.n_layers(model.config))
        )
    )


def test_it_is_exact_for_a_linear_model():
    """Without norms and feed-forward networks, and with its patterns frozen, a model is linear in its activations."""
    (model, tokenizer), base = model_of(LINEAR), base_of(LINEAR)
    given = frozen_patterns(LINEAR)
    templates = [
        patch_from(OTHER),
        Ablation(component=patch_from(OTHER).component, method="zero"),
        Ablation(component=patch_from(OTHER).component, method="mean", texts=(OTHER,)),
    ]
    for template in templates:
        options = {"template": template, "given": given}
        estimates = attribution(Sweep(model, tokenizer, base, **options), components(LINEAR))
        exact = [*Sweep(model, tokenizer, base, **options).exact(components(LINEAR))]
        changes = np.array([[a.change, b.change] for a, b in zip(estimates, exact, strict=True)])
        np.testing.assert_allclose(changes[:, 0], changes[:, 1], rtol=1e-3, atol=1e-6)
        assert np.abs(changes).max() > 0.005


@pytest.mark.parametrize("variation", ["the paper's", "buckets", "decoder, rotary", "decoder, parallel"])
def test_it_is_the_slope_towards_the_source(variation: str):
    """A hundredth of the way, where every smooth model is linear, the exact change is a hundredth of the estimate."""
    (model, tokenizer), base = model_of(variation), base_of(variation)
    metric = base.metric(1)
    some = [*sweep_components(model.config, base, metric=metric)][::7]
    estimates = attribution(Sweep(model, tokenizer, base, patch_from(OTHER), metric=metric), some)
    double = tc.build(model.config).eval().double()
    double.load_state_dict(model.state_dict())
    inputs = [torch.tensor([ids]) for ids in base.run.inputs]
    other = [torch.tensor([ids]) for ids in base.sources.run(model, OTHER, "same", here=base.run).inputs]
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


@pytest.mark.parametrize(
    ("variation", "kind"), [("attention only", "key"), ("decoder", "head"), ("decoder, rotary", "resid_post")]
)
def test_integrated_gradients_of_a_site_sum_to_the_exact_change_of_replacing_it(variation: str, kind: Any):
    """f(x) - f(x'), within 1e-3; the slope at one end alone is off. Kinks of ReLU would take more steps."""
    (model, tokenizer), base = model_of(variation), base_of(variation)
    metric = Metric(position=1, token=5, other=7)
    options: dict[str, Any] = {"template": patch_from(OTHER), "metric": metric}
    attention: Any = next(iter(attentions_of(model.config)))
    whole = Component(kind=kind, attention=attention, layer=0)
    parts = [replace(whole, positions=(position,)) for position in range(len(base.run.inputs[0]))]
    sweep = Sweep(model, tokenizer, base, **options)
    (exact,) = sweep.exact([whole])

    def total(steps: int) -> float:
        return sum(each.change for each in attribution(sweep, parts, steps=steps))

    assert total(60) == pytest.approx(exact.change, abs=1e-3)
    assert abs(total(0) - exact.change) > 1e-3


def test_the_largest_estimates_are_replaced_exactly():
    (model, tokenizer), base = model_of("decoder"), base_of("decoder")
    sweep = Sweep(model, tokenizer, base, patch_from(OTHER))
    estimates = attribution(sweep, components("decoder"))
    top = [*exact_top(sweep, estimates, 3)]
    order = np.argsort([-abs(estimate.change) for estimate in estimates], kind="stable")[:3]
    assert [each.component for each in top] == [estimates[i].component for i in order]
    exact = {each.component: each for each in sweep.exact(components("decoder"))}
    assert all(exact[each.component] == each for each in top)
    assert attribution(sweep, []) == ()
    with pytest.raises(ConfigError, match="steps must be from 0 to 1000; got -1"):
        attribution(sweep, components("decoder"), steps=-1)
