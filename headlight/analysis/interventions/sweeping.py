"""Sweeps: one component after the other is replaced, exactly, and the metric is measured each time.

>>> base = read_base(model, tokenizer, corrupted)
>>> heads = [*sweep_components(model.config, base, by_position=False)]
>>> template = Patch(component=heads[0], text=clean, direction="denoising", continuation="same")
>>> sweep = Sweep(model, tokenizer, base, template)
>>> for result in sweep.exact(heads):
...     table[result.component.layer, result.component.heads[0]] = result.change
>>> fractions = table / sweep.difference()
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from headlight.analysis.interventions.base import Base, read_base
from headlight.analysis.interventions.context import Applied, prepare
from headlight.analysis.interventions.effect import Metric, output_log_probs
from headlight.analysis.interventions.records import (
    OF_HEADS,
    OF_STACK,
    Ablation,
    AttentionName,
    Component,
    ComponentKind,
    InterventionStack,
    Method,
    Patch,
)
from headlight.analysis.interventions.source_runs import pair_positions, site_of, stepwise_attention
from headlight.analysis.interventions.stacks import head_count, side_of
from headlight.analysis.trace.attentions import attentions_of, sides_of
from headlight.analysis.trace.traced_forward import FixedText
from transformer_core.config import ModelConfig
from transformer_core.errors import ConfigError
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Given, Tokenizer

EMPTY = InterventionStack()
LEAST_DIFFERENCE = 1e-4  # nats between the metrics of two runs; a smaller difference may be rounding


@dataclass(frozen=True, kw_only=True)
class SweepResult:
    """The metric with one component replaced, exactly."""

    component: Component
    before: float  # nats; the metric of the base text, with `given` acting
    after: float  # nats; with the component replaced as well

    @property
    def change(self) -> float:
        """After minus before, in nats."""
        return self.after - self.before


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The change of the metric that a component's replacement would make, to first order."""

    component: Component
    change: float  # nats: gradient of the metric (its mean, with `steps`) times (replacement - activation), summed


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

    Kinds with heads yield one for each head ("key" and "value" count their own), "attention" one for each attention
    sub-layer, other kinds one for each layer of a stack. Decoder positions after the metric's cannot reach it and are
    left out: their effect is exactly 0.

    Args:
        config: of the model.
        base: the run with the positions; for "key" and "value" those of the keys: the source's in cross-attention.
        kind: "resid_pre" of layer 0 is the sum of the embeddings.
        metric: None: `base.metric()`.
        attentions: the attentions or stacks to cover; None: all that the model has.
        by_position: yield one component for each position instead of one for all positions.
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


@dataclass(eq=False)
class Sweep:
    """A sweep over components of a base run: how each is replaced, and the metric to measure.

    Attributes:
        model: that `base` was read with.
        tokenizer: the model's own.
        base: the run that is changed, over its output (teacher-forced).
        template: how each component is replaced; its own component is not used.
        metric: what is measured; None: `base.metric()`.
        given: interventions active both before and after, for the effect of one head while another is off, say.

    All methods raise ConfigError for a component that the model does not have, InterventionError for a pattern of a
    source text with another number of tokens, and TextError for a source text that the model cannot read.
    """

    model: Transformer
    tokenizer: Tokenizer
    base: Base
    template: Ablation | Patch
    metric: Metric | None = None
    given: InterventionStack = EMPTY

    def __post_init__(self) -> None:
        """Set the default."""
        self.measured_metric = self.metric or self.base.metric()

    def exact(self, components: Iterable[Component]) -> Iterator[SweepResult]:
        """Replace each component alone and yield the metric before and after: one forward pass each.

        Nothing is active between two results, so a caller may stop at any time.
        """
        components = tuple(components)
        replacements = self.replacements(components)
        always = self.prepared(self.given)
        before = self._measured(always)
        for component, replacement in zip(components, replacements, strict=True):
            after = self._measured(always, replacement)
            yield SweepResult(component=component, before=before, after=after)

    def difference(self) -> float | None:
        """Return the effect of the whole source run of a patch: its metric minus that of the base run, in nats.

        A change divided by it is the *fraction recovered*, the normalised metric of activation patching:

            (patched - base) / (source - base)

        It is 0 where replacing a component changes nothing, and 1 where it accounts for the whole difference between
        the texts; it is negative if the metric moves away from the source run, and above 1 if it overshoots. The
        metric of the source run is read at the position that is paired with the metric's own (`pair_positions`), for
        the same two tokens, and without `given`, as the values that are taken from that run.

        Returns:
            None where no fraction is defined: no position of the source run is paired with the metric's, or the metrics
            of both runs are less than 0.0001 nats apart, which may be rounding.

        Source: Wang et al. 2023, "Interpretability in the wild", sec. 3; Zhang and Nanda 2024, "Towards best practices
            of activation patching", sec. 2: the normalised logit difference, where 0 is the corrupted run and 1 the
            clean one.
        """
        (source,) = self._sources()
        side = sides_of(self.model.config.architecture)[-1]  # whose positions make predictions
        metric = self.measured_metric
        position = pair_positions(self.base.run, source, side).get(metric.position)
        if position is None:
            return None
        there = measured(self.model, source.inputs, replace(metric, position=position))
        difference = there - self._measured(self.prepared(self.given))
        return difference if abs(difference) >= LEAST_DIFFERENCE else None

    def replacements(self, components: Sequence[Component]) -> list[Applied]:
        """Return the prepared replacement of each component; each source run is captured in one forward pass."""
        sites = [site_of(component) for component in components]
        for source in self._sources():
            self.base.sources.activations(self.model, source, sites)
        entries = [replace(self.template, component=component, enabled=True) for component in components]
        return [self.prepared(InterventionStack(entries=(entry,))) for entry in entries]

    def prepared(self, stack: InterventionStack) -> Applied:
        """Return a stack that is ready to act on the base run."""
        return prepare(self.model, self.tokenizer, stack, run=self.base.run, sources=self.base.sources)

    def _sources(self) -> list[FixedText]:
        runs, template = self.base.sources, self.template
        if isinstance(template, Patch):
            return [runs.run(self.model, template.text, template.continuation, here=self.base.run)]
        return [runs.run(self.model, text) for text in template.texts]

    def _measured(self, always: Applied, *replacements: Applied) -> float:
        """Return the metric of the base run with `given`, and with a component replaced after it."""
        with ExitStack() as active:
            for applied in (always, *replacements):
                active.enter_context(applied.active())
            return measured(self.model, self.base.run.inputs, self.measured_metric)


def sweep(
    model: Transformer,
    tokenizer: Tokenizer,
    base: Base | Given,
    *,
    kind: ComponentKind = "head",
    method: Method | Literal["patch"] = "zero",
    texts: Sequence[Given] = (),
    metric: Metric | None = None,
) -> list[SweepResult]:
    """Replace every component of a kind, each on its own at all positions, and measure the change of the output.

    Args:
        model: in evaluation mode.
        tokenizer: the model's own.
        base: a text, or what `read_base` returned for it; the model's output is teacher-forced.
        kind: such as "head", "attention", "feed_forward" or "resid_pre".
        method: of ablation; or "patch", with the activations of another text.
        texts: those that "resample", "mean" and "patch" take activations from.
        metric: such as `base.metric(9)`, for the tenth output token; None: `base.metric()`, the logit difference of
            the last output token and the most probable other one.

    Returns:
        In the order of the forward pass, the metric before and after, in nats.

    Raises:
        ConfigError: no other text where the method needs one.
        TextError: a text that the model cannot read.
    """
    base = base if isinstance(base, Base) else read_base(model, tokenizer, base)
    components = [*sweep_components(model.config, base, kind, metric, by_position=False)]
    if method == "patch":
        if len(texts) != 1:
            raise ConfigError("patching takes its values from one other text, got {n}; name one", n=len(texts))
        template = Patch(component=components[0], text=texts[0], direction="denoising", continuation="same")
        return [*Sweep(model, tokenizer, base, template, metric).exact(components)]
    ablation = Ablation(component=components[0], method=method, texts=tuple(texts))
    return [*Sweep(model, tokenizer, base, ablation, metric).exact(components)]


@dataclass(frozen=True, kw_only=True, eq=False)
class SweepMap:
    """Changes of the metric for the components of one attention or stack."""

    rows: tuple[str, ...]  # "L0.H1", or "L0"
    columns: tuple[str, ...]  # labels of the positions, or "H0"
    values: Float[np.ndarray, "row column"]  # nats, or fractions; NaN: not yet run

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the map by name, for `numpy.savez`."""
        return {"values": self.values, "rows": np.array(self.rows), "columns": np.array(self.columns)}


def sweep_maps(
    base: Base,
    components: Sequence[Component],
    results: Iterable[SweepResult | Estimate],
    *,
    difference: float | None = None,
) -> dict[str, SweepMap]:
    """Return the results of a sweep as one map for each attention or stack.

    Args:
        base: whose positions they are.
        components: all components of the sweep, as `sweep_components` yields them; of one kind, by position or not.
        results: the exact or estimated results so far.
        difference: nats that every change is divided by, as `Sweep.difference` returns them; None: changes in nats.

    Returns:
        by attention: by position a row for each layer and head, else a row for each layer and a column for each head.
        Positions after the metric's, which have no component, are 0.
    """
    changes = {result.component: result.change / (difference or 1.0) for result in results}
    maps = {}
    for attention in dict.fromkeys(component.attention for component in components):
        own = [component for component in components if component.attention == attention]
        is_by_position = own[0].positions is not None
        places = [(each.layer, each.heads if is_by_position else None) for each in own]
        rows = [*dict.fromkeys(places)]
        columns = (
            getattr(base.run, side_of(own[0]))
            if is_by_position
            else [f"H{head}" for head in range(len(own) // len(rows))]
        )
        values = np.zeros((len(rows), len(columns)))
        for component, place in zip(own, places, strict=True):
            (column,) = (component.positions if is_by_position else component.heads) or (0,)
            values[rows.index(place), column] = changes.get(component, np.nan)
        names = tuple(f"L{layer}.H{heads[0]}" if heads else f"L{layer}" for layer, heads in rows)
        maps[str(attention)] = SweepMap(rows=names, columns=tuple(columns), values=values)
    return maps


def measured(model: Transformer, inputs: Sequence[Sequence[int]], metric: Metric) -> float:
    """Return the metric of some tokens, with the interventions that are active."""
    with stepwise_attention(model):
        return metric.of(output_log_probs(model, inputs, [metric.position])[0])
