"""Sweeps: one component after the other is replaced, exactly, and the metric is measured each time.

>>> base = read_base(model, tokenizer, corrupted)
>>> heads = [*head_components(model.config, base)]
>>> template = Patch(component=heads[0], text=clean, direction="denoising", continuation="same")
>>> for result in sweep(model, tokenizer, base, heads, template=template):
...     table[result.component.layer, result.component.heads[0]] = result.change
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from transformer_core.analysis.flow.effect import output_log_probs
from transformer_core.analysis.interventions.comparison import Base, sources_like
from transformer_core.analysis.interventions.context import applied, prepare
from transformer_core.analysis.interventions.metric import Metric
from transformer_core.analysis.interventions.records import STEMS, Ablation, AttentionName, Component, Patch, Stack
from transformer_core.analysis.interventions.source_runs import SourceRuns, stepwise_attention
from transformer_core.analysis.trace.attentions import ATTENTIONS, attentions_of
from transformer_core.config import ModelConfig
from transformer_core.instrument.sites import site
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Tokenizer

EMPTY = Stack()


@dataclass(frozen=True, kw_only=True)
class SweepResult:
    """The metric with one component replaced, exactly."""

    component: Component
    before: float  # nats; the metric of the base text, with `given` acting
    after: float  # nats; with the component replaced besides

    @property
    def change(self) -> float:
        """After minus before, in nats."""
        return self.after - self.before


def head_components(
    config: ModelConfig,
    base: Base,
    metric: Metric | None = None,
    *,
    attentions: Sequence[AttentionName] | None = None,
    by_position: bool = True,
) -> Iterator[Component]:
    """Yield every head's output, at each position or at all positions together, in the order of the forward pass.

    Positions of a decoder after the one of the metric cannot reach it and are left out: their effect is exactly 0.

    Args:
        config: of the model.
        base: whose positions they are.
        metric: None: `base.metric()`.
        attentions: of which; None: all that the model has.
        by_position: one component for each position, and not one for each head.
    """
    metric = metric or base.metric()
    for name, attention in attentions_of(config).items():
        if attentions is not None and name not in attentions:
            continue
        positions = _positions(base, metric, name)
        for layer in range(attention.n_layers(config)):
            for head in range(config.n_heads):
                for position in positions if by_position else [None]:
                    yield Component(
                        kind="head",
                        attention=name,  # type: ignore[arg-type]  # the names of ATTENTIONS
                        layer=layer,
                        heads=(head,),
                        positions=None if position is None else (position,),
                    )


def residual_components(
    config: ModelConfig,
    base: Base,
    metric: Metric | None = None,
    *,
    stacks: Sequence[Literal["encoder", "decoder"]] | None = None,
    kind: Literal["resid_pre", "resid_mid", "resid_post"] = "resid_pre",
) -> Iterator[Component]:
    """Yield the residual stream of every layer at each position, in the order of the forward pass.

    Args:
        config: of the model.
        base: whose positions they are.
        metric: None: `base.metric()`. Positions of a decoder after its own cannot reach it and are left out.
        stacks: "encoder", "decoder" or both; None: those that the model has.
        kind: where in a layer; "resid_pre" of layer 0 is the sum of the embeddings.
    """
    metric = metric or base.metric()
    for name in ("encoder", "decoder"):
        if name in attentions_of(config) and (stacks is None or name in stacks):
            for layer in range(ATTENTIONS[name].n_layers(config)):
                for position in _positions(base, metric, name):
                    yield Component(kind=kind, attention=name, layer=layer, positions=(position,))


def sweep(
    model: Transformer,
    tokenizer: Tokenizer,
    base: Base,
    components: Iterable[Component],
    *,
    template: Ablation | Patch,
    metric: Metric | None = None,
    given: Stack = EMPTY,
    sources: SourceRuns | None = None,
) -> Iterator[SweepResult]:
    """Replace one component after the other, each by itself, and yield the metric: one forward pass each.

    Nothing stays active between two results, so a page may stop at any time.

    Args:
        model: that `base` was read with.
        tokenizer: the model's own.
        base: the run that is changed, over its output (teacher-forced).
        components: which, one after the other.
        template: how each of them is replaced; its own component is not looked at.
        metric: what is measured; None: `base.metric()`.
        given: what is changed all the time, before and after: the effect of one head while another one is off, say.
        sources: keeps source runs from one call to the next; None: they are made anew.

    Raises:
        ConfigError: a component that the model does not have.
        TextError: a source text that the model cannot read.
    """
    metric, components = metric or base.metric(), tuple(components)
    sources = sources or sources_like(model, tokenizer, base)
    inputs = prepare(model, tokenizer, given, run=base.run, sources=sources).inputs(base.run.inputs)
    keep_sources(base, components, template, sources)

    def measured(*stacks: Stack) -> float:
        entries = tuple(entry for stack in stacks for entry in stack.enabled)
        with (
            stepwise_attention(model),
            applied(model, tokenizer, Stack(entries=entries), run=base.run, sources=sources),
        ):
            return metric.of(output_log_probs(model, inputs, [metric.position])[0])

    before = measured(given)
    for component in components:
        entry = replace(template, component=component, enabled=True)
        yield SweepResult(component=component, before=before, after=measured(given, Stack(entries=(entry,))))


def keep_sources(base: Base, components: Iterable[Component], template: Ablation | Patch, sources: SourceRuns) -> None:
    """Capture what some components have in the source runs of a template, in one forward pass for each text."""
    sites = [site(STEMS[each.kind], layer=each.layer, attention=each.attention) for each in components]
    if isinstance(template, Patch):
        sources.activations(sources.run(template.text, template.continuation, here=base.run), sites)
    else:
        for text in template.texts:
            sources.activations(sources.run(text), sites)


def _positions(base: Base, metric: Metric, attention: str) -> range:
    """Return the positions of an attention's queries that can reach the place of a metric."""
    side = ATTENTIONS[attention].queries_from
    return range(len(base.run.source)) if side == "source" else range(metric.position + 1)
