"""Attribution patching: what replacing each component would change, estimated from one forward and one backward pass.

A filter, not a result: the estimate is the slope at the base run. It misses saturated components (a head that attends
to one key with all of its weight) and effects that cancel between layers, and it can be far off for the residual
stream of early layers. Patch the components with the largest estimates exactly (`exact_top`). Integrated gradients
(`steps`) average the slope between the activation and its replacement: saturation matters less, at more passes.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from headlight.analysis.interventions.context import Applied
from headlight.analysis.interventions.records import Component
from headlight.analysis.interventions.source_runs import stepwise_attention
from headlight.analysis.interventions.sweeping import Estimate, Sweep, SweepResult
from transformer_core.decoding.inputs import final_states
from transformer_core.errors import ConfigError
from transformer_core.instrument.capture import capture
from transformer_core.instrument.intervene import Intervention, apply_interventions, intervene
from transformer_core.instrument.sites import Site

MOST_STEPS = 1000


def attribution(sweep: Sweep, components: Iterable[Component], *, steps: int = 0) -> tuple[Estimate, ...]:
    """Estimate what `sweep.exact` would measure.

    Args:
        sweep: what is replaced, and what is measured.
        components: as for `sweep.exact`.
        steps: 0: the slope at the base run, in one pass. Above 0, integrated gradients: the mean slope at this many
            points on the straight line from the activations to their replacements, in as many passes per site, for
            the components of a site together. The estimates of a site then add up to the exact change of replacing
            all of its components at once, up to the error of the midpoint rule.

    Returns:
        one estimate for each component, in their order; exactly 0 where the replacement is the activation itself.

    Raises:
        ConfigError: steps out of range; and the errors of `Sweep`.

    Source: Nanda 2023, "Attribution patching"; Kramár et al. 2024, "AtP*", sec. 3, for where it misleads; Sundararajan
        et al. 2017, "Axiomatic attribution for deep networks", sec. 3, for integrated gradients, which Marks et al.
        2024, "Sparse feature circuits", take over activations.
    """
    components = tuple(components)
    if not 0 <= steps <= MOST_STEPS:
        raise ConfigError("steps must be from 0 to {most}; got {steps}", most=MOST_STEPS, steps=steps)
    changes: list[tuple[Component, str, Intervention]] = []
    for component, replacement in zip(components, sweep.replacements(components), strict=True):
        ((name, (edit,)),) = replacement.hooks.items()
        changes.append((component, name, edit))
    always = sweep.prepared(sweep.given)
    sites = tuple(dict.fromkeys(name for _, name, _ in changes))
    if not sites:
        return ()
    values, slopes = _at(sweep, always, sites)
    for name in sites if steps else ():
        edits = [edit for _, there, edit in changes if there == name]
        points = [(step + 0.5) / steps for step in range(steps)]
        at_points = [_at(sweep, always, [name], _towards(edits, point))[1][name] for point in points]
        slopes[name] = torch.stack(at_points).mean(dim=0)
    estimates = []
    with torch.no_grad():
        for component, name, edit in changes:
            change = edit(values[name], Site(name=name, n_heads=sweep.model.config.n_heads)) - values[name]
            estimates.append(Estimate(component=component, change=float((slopes[name] * change).sum())))
    return tuple(estimates)


def exact_top(sweep: Sweep, estimates: Iterable[Estimate], k: int) -> Iterator[SweepResult]:
    """Replace the `k` components with the largest estimates exactly, the largest first."""
    ordered = sorted(estimates, key=lambda estimate: -abs(estimate.change))
    return sweep.exact([estimate.component for estimate in ordered[: max(0, k)]])


def sieve_numbers(
    labels: Sequence[str],
    estimates: Iterable[Estimate],
    results: Iterable[SweepResult],
    *,
    difference: float | None = None,
) -> dict[str, np.ndarray]:
    """Return the estimates of the components that were checked, and their exact changes.

    Args:
        labels: one component label for each result.
        estimates: the estimates of all components, as `attribution` returns them.
        results: the exact results of the checked components, as `exact_top` yields them.
        difference: as for `sweep_maps`.

    Returns:
        `component`, the labels; `estimate` and `exact`, [component].
    """
    estimate_of, results = {estimate.component: estimate.change for estimate in estimates}, [*results]
    scale = difference or 1.0
    return {
        "component": np.array(labels, dtype=np.str_),
        "estimate": np.array([estimate_of[result.component] for result in results]) / scale,
        "exact": np.array([result.change for result in results]) / scale,
    }


def _at(
    sweep: Sweep, always: Applied, sites: Sequence[str], moved: Intervention | None = None
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return activations and gradients of the metric at some sites, by site; `moved` edits the activations first."""
    model, metric = sweep.model, sweep.measured_metric
    with torch.inference_mode(False), torch.enable_grad():
        with (
            stepwise_attention(model),
            intervene(model, {"*.hook_embed": lambda value, _: value.detach().requires_grad_()}),
            always.active(),
            intervene(model, dict.fromkeys(sites, moved) if moved else {}),
            capture(model, *sites, detach=False) as acts,
        ):
            states = final_states(model, sweep.base.run.inputs)[:, [metric.position]]
            value = metric.of_tensor(model.logits_of(states)[0, 0].float())
        slopes = torch.autograd.grad(value, [acts[name] for name in sites], allow_unused=True)
    values = {name: acts[name].detach() for name in sites}
    return values, {
        name: torch.zeros_like(values[name]) if slope is None else slope
        for name, slope in zip(sites, slopes, strict=True)
    }


def _towards(edits: Sequence[Intervention], share: float) -> Intervention:
    """Return an intervention that moves an activation a fraction of the way to its edited value."""
    return lambda value, site: value + share * (apply_interventions(value, site, edits) - value)
