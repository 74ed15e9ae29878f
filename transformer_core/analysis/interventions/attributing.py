"""Attribution patching: what replacing each component would change, estimated from one forward and one backward pass.

A sieve, not a result: the estimate is the slope at the base run, so that it misses what is saturated (a head that
attends to one key with all of its weight) and what cancels between layers, and it can be far off for the residual
stream of early layers. Take the largest ones, and replace them exactly (`exact_top`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import torch

from transformer_core.analysis.interventions.comparison import Base
from transformer_core.analysis.interventions.context import prepare
from transformer_core.analysis.interventions.metric import Metric
from transformer_core.analysis.interventions.records import Ablation, Component, Patch, Stack
from transformer_core.analysis.interventions.source_runs import SourceRuns, stepwise_attention
from transformer_core.analysis.interventions.sweeping import EMPTY, SweepResult, keep_sources, sources_like, sweep
from transformer_core.analysis.trace.traced_forward import tensor_of
from transformer_core.instrument.capture import capture
from transformer_core.instrument.intervene import intervene
from transformer_core.instrument.sites import Site
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The change of the metric that a component's replacement would make, to first order."""

    component: Component
    change: float  # nats: gradient of the metric times (replacement - activation), summed


def attribution(
    model: Transformer,
    tokenizer: Tokenizer,
    base: Base,
    components: Iterable[Component],
    *,
    template: Ablation | Patch,
    metric: Metric | None = None,
    given: Stack = EMPTY,
    sources: SourceRuns | None = None,
) -> tuple[Estimate, ...]:
    """Estimate what `sweep` would measure; the arguments and errors are the same.

    Returns:
        one estimate for each component, in their order; exactly 0 where the replacement is the activation itself.

    Source: Nanda 2023, "Attribution patching"; Kramár et al. 2024, "AtP*", sec. 3, for where it misleads.
    """
    metric, components = metric or base.metric(), tuple(components)
    sources = sources or sources_like(model, tokenizer, base)
    keep_sources(base, components, template, sources)
    changes = []
    for component in components:
        entry = replace(template, component=component, enabled=True)
        ready = prepare(model, tokenizer, Stack(entries=(entry,)), run=base.run, sources=sources)
        ((name, (edit,)),) = ready.hooks.items()
        changes.append((component, name, edit))
    always = prepare(model, tokenizer, given, run=base.run, sources=sources)
    inputs = [tensor_of(ids, model) for ids in always.inputs(base.run.inputs)]
    sites = tuple(dict.fromkeys(name for _, name, _ in changes))
    if not sites:
        return ()
    with torch.inference_mode(False), torch.enable_grad():
        with (
            stepwise_attention(model),
            intervene(model, {"*.hook_embed": lambda value, _: value.detach().requires_grad_()}),
            always.active(),
            capture(model, *sites, detach=False) as acts,
        ):
            states = model.final_states(*inputs)[:, [metric.position]]
            measured = metric.of_tensor(model.logits_of(states)[0, 0].float())
        slopes = torch.autograd.grad(measured, [acts[name] for name in sites], allow_unused=True)
    slope_of = dict(zip(sites, slopes, strict=True))
    estimates = []
    with torch.no_grad():
        for component, name, edit in changes:
            slope, value = slope_of[name], acts[name].detach()
            change = edit(value, Site(name=name, n_heads=model.config.n_heads)) - value
            estimates.append(
                Estimate(component=component, change=0.0 if slope is None else float((slope * change).sum()))
            )
    return tuple(estimates)


def exact_top(
    model: Transformer,
    tokenizer: Tokenizer,
    base: Base,
    estimates: Iterable[Estimate],
    k: int,
    *,
    template: Ablation | Patch,
    metric: Metric | None = None,
    given: Stack = EMPTY,
    sources: SourceRuns | None = None,
) -> Iterator[SweepResult]:
    """Replace the `k` components with the largest estimates exactly, the largest first; else as `sweep`."""
    ordered = sorted(estimates, key=lambda estimate: -abs(estimate.change))
    components = [estimate.component for estimate in ordered[: max(0, k)]]
    return sweep(model, tokenizer, base, components, template=template, metric=metric, given=given, sources=sources)
