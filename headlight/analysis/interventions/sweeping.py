"""Sweeps: one component after the other is replaced, exactly, and the metric is measured each time.

>>> base = read_base(model, tokenizer, corrupted)
>>> heads = [*sweep_components(model.config, base, by_position=False)]
>>> template = Patch(component=heads[0], text=clean, direction="denoising", continuation="same")
>>> for result in sweep(model, tokenizer, base, heads, template=template):
...     table[result.component.layer, result.component.heads[0]] = result.change
>>> fractions = table / source_difference(model, tokenizer, base, template=template)
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from headlight.analysis.flow.effect import output_log_probs
from headlight.analysis.interventions.checking import head_count, side_of
from headlight.analysis.interventions.comparison import Base, sources_like
from headlight.analysis.interventions.context import prepare
from headlight.analysis.interventions.metric import Metric
from headlight.analysis.interventions.records import (
    OF_HEADS,
    OF_STACK,
    STEMS,
    Ablation,
    AttentionName,
    Component,
    ComponentKind,
    Patch,
    Stack,
)
from headlight.analysis.interventions.source_runs import (
    SourceRun,
    SourceRuns,
    pair_positions,
    stepwise_attention,
)
from headlight.analysis.trace.attentions import attentions_of, sides_of
from transformer_core.config import ModelConfig
from transformer_core.instrument.sites import site
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Tokenizer

EMPTY = Stack()
LEAST_DIFFERENCE = 1e-4  # nats between the metrics of two runs; below it may all be rounding


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


def sweep_components(
    config: ModelConfig,
    base: Base,
    kind: ComponentKind = "head",
    metric: Metric | None = None,
    *,
    attentions: Sequence[AttentionName] | None = None,
    by_position: bool = True,
) -> Iterator[Component]:
    """Yield every component of a kind, at each position or at all positions together, in the order of the forward pass.

    Of a head there is one for each head ("key" and "value" count their own), of "attention" one for each attention
    sub-layer, of the other kinds one for each layer of a stack. Positions of a decoder after the one of the metric
    cannot reach it and are left out: their effect is exactly 0.

    Args:
        config: of the model.
        base: whose positions they are; those of "key" and "value" are the keys', so the source's in cross-attention.
        kind: "resid_pre" of layer 0 is the sum of the embeddings.
        metric: None: `base.metric()`.
        attentions: of which, or of which stacks; None: all that the model has.
        by_position: one component for each position, and not one for all of them.
    """
    metric = metric or base.metric()
    places = [
        (attention.queries_from, layer, name)
        for name, attention in attentions_of(config).items()
        if (attentions is None or name in attentions) and (kind not in OF_STACK or name != "cross")
        for layer in range(attention.n_layers(config))
    ]
    for _, layer, name in sorted(places, key=lambda place: place[:2]):  # self-attention stays before cross-attention
        whole = Component(kind=kind, attention=name, layer=layer)  # type: ignore[arg-type]  # the names of ATTENTIONS
        n_positions = len(base.run.source) if side_of(whole) == "source" else metric.position + 1
        for head in range(head_count(config, whole)) if kind in OF_HEADS else [None]:
            for position in range(n_positions) if by_position else [None]:
                yield replace(
                    whole,
                    heads=None if head is None else (head,),
                    positions=None if position is None else (position,),
                )


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
        InterventionError: a pattern of a source text with another number of tokens.
        TextError: a source text that the model cannot read.
    """
    metric, components = metric or base.metric(), tuple(components)
    sources = sources or sources_like(model, tokenizer, base)
    keep_sources(base, components, template, sources)
    stacks = [given, *(Stack(entries=(replace(template, component=each, enabled=True),)) for each in components)]
    always, *ready = [prepare(model, tokenizer, stack, run=base.run, sources=sources) for stack in stacks]
    inputs = always.inputs(base.run.inputs)
    with always.active():
        before = _measured(model, inputs, metric)
    for component, replaced in zip(components, ready, strict=True):
        with always.active(), replaced.active():
            after = _measured(model, inputs, metric)
        yield SweepResult(component=component, before=before, after=after)


def source_difference(
    model: Transformer,
    tokenizer: Tokenizer,
    base: Base,
    *,
    template: Patch,
    metric: Metric | None = None,
    given: Stack = EMPTY,
    sources: SourceRuns | None = None,
) -> float | None:
    """Return what the whole source run changes: the metric of the source run minus that of the base run, in nats.

    A change divided by it is the *fraction recovered*, the normalised metric of activation patching:

        (patched - base) / (source - base)

    It is 0 where replacing a component changes nothing, and 1 where it makes all of the difference between both texts;
    it is negative where it moves the metric away from the source run, and above 1 where it overshoots. The metric of
    the source run is read at the position that is paired with the metric's own (`pair_positions`), of the same two
    tokens, and without `given`, as the values are that are taken from that run.

    Returns:
        None where no fraction is defined: no position of the source run is paired with the metric's, or the metrics of
        both runs are less than 0.0001 nats apart, which rounding alone may be.

    Args:
        model: as for `sweep`, and so are the other arguments and the errors.
        tokenizer: as for `sweep`.
        base: as for `sweep`.
        template: whose text and continuation the source run has.
        metric: as for `sweep`.
        given: as for `sweep`: acts in the base run.
        sources: as for `sweep`.

    Source: Wang et al. 2023, "Interpretability in the wild", sec. 3; Zhang and Nanda 2024, "Towards best practices of
        activation patching", sec. 2: the normalised logit difference, where 0 is the corrupted run and 1 the clean one.
    """
    metric = metric or base.metric()
    sources = sources or sources_like(model, tokenizer, base)
    source = sources.run(template.text, template.continuation, here=base.run)
    side = sides_of(model.config.architecture)[-1]  # whose positions make predictions
    position = pair_positions(SourceRun.of(base.run), source, side).positions.get(metric.position)
    if position is None:
        return None
    always = prepare(model, tokenizer, given, run=base.run, sources=sources)
    with always.active():
        of_base = _measured(model, always.inputs(base.run.inputs), metric)
    difference = _measured(model, source.inputs, replace(metric, position=position)) - of_base
    return difference if abs(difference) >= LEAST_DIFFERENCE else None


def keep_sources(base: Base, components: Iterable[Component], template: Ablation | Patch, sources: SourceRuns) -> None:
    """Capture what some components have in the source runs of a template, in one forward pass for each text."""
    sites = [site(STEMS[each.kind], layer=each.layer, attention=each.attention) for each in components]
    if isinstance(template, Patch):
        sources.activations(sources.run(template.text, template.continuation, here=base.run), sites)
    else:
        for text in template.texts:
            sources.activations(sources.run(text), sites)


def _measured(model: Transformer, inputs: Sequence[Sequence[int]], metric: Metric) -> float:
    """Return the metric of some tokens, with whatever is changed in the model at the moment."""
    with stepwise_attention(model):
        return metric.of(output_log_probs(model, inputs, [metric.position])[0])
