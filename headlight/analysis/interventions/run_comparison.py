"""A source run beside the base run: where their activations differ, token by token.

>>> base = read_base(model, tokenizer, "The animal didn't cross the street because it was too tired.")
>>> other = compare_with_source(model, tokenizer, base, "The animal didn't cross the street because it was too wide.")
>>> other.differences["encoder"][1, 0], other.here("source", 11)
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headlight.analysis.interventions.comparison import Base, relative_changes
from headlight.analysis.interventions.records import OF_STACK, STEMS, ComponentKind
from headlight.analysis.interventions.source_runs import Pairing, SourceRun, SourceRuns, pair_positions
from headlight.analysis.trace.attentions import attentions_of, sides_of
from transformer_core.instrument.sites import site
from transformer_core.model.transformer import Transformer
from transformer_core.text.interface import Given, Tokenizer


@dataclass(frozen=True, kw_only=True, eq=False)
class RunComparison:
    """What a source run does, and how it differs from the base run at paired positions."""

    run: SourceRun
    pairings: Mapping[str, Pairing]  # by side, "source" and "target"
    differences: Mapping[str, Float[np.ndarray, "depth part pos"]]  # by attention, or stack; NaN: no counterpart
    patterns: Mapping[str, Float[np.ndarray, "layer head query key"]]  # by attention; of the source run

    @property
    def n_bytes(self) -> int:
        """Memory that is kept, in bytes."""
        return sum(array.nbytes for array in (*self.differences.values(), *self.patterns.values()))

    def here(self, side: str, position: int) -> int | None:
        """Return the position of the base run that a position of the source run is paired with; None: none."""
        paired = self.pairings[side].positions
        return next((here for here, there in paired.items() if there == position), None)


def compare_with_source(
    model: Transformer, tokenizer: Tokenizer, base: Base, text: Given, *, kind: ComponentKind = "head"
) -> RunComparison:
    """Run a model on another text, and compare the activations of one kind of component with those of the base run.

    Args:
        model: that `base` was read with.
        tokenizer: the model's own.
        base: of `read_base`.
        text: that the source run reads.
        kind: of the components that are compared, with a row for each query: no "key", "value" or "pattern".

    Returns:
        `differences` are ‖there - here‖ / ‖here‖; a part is a head, or a layer of what has no heads.

    Raises:
        TextError: a text that the model cannot read.
    """
    config = model.config
    sources = SourceRuns(model, tokenizer, max_tokens=base.max_tokens, max_new_tokens=base.max_new_tokens)
    here, there = SourceRun.of(base.run), sources.run(text)
    pairings = {side: pair_positions(here, there, side) for side in sides_of(config.architecture)}
    attentions = attentions_of(config)
    names = [name for name in attentions if kind not in OF_STACK or name != "cross"]

    def activations(run: SourceRun, stem: str, name: str) -> Float[np.ndarray, "layer ..."]:
        sites = [site(stem, layer=layer, attention=name) for layer in range(attentions[name].n_layers(config))]
        kept = sources.activations(run, sites)
        return np.stack([kept[each][0].float().cpu().numpy() for each in sites])

    differences = {}
    for name in names:
        pairing = pairings[attentions[name].queries_from]
        before, after = (activations(run, STEMS[kind], name) for run in (here, there))
        if kind in OF_STACK or kind == "attention":
            before, after = before[:, None], after[:, None]  # [layer, part, pos, width]
        changes = np.full(after.shape[:-1], np.nan)
        ours, theirs = [*pairing.positions], [*pairing.positions.values()]
        changes[..., theirs] = relative_changes(before[..., ours, :], after[..., theirs, :])
        differences[name] = changes
    return RunComparison(
        run=there,
        pairings=pairings,
        differences=differences,
        patterns={name: activations(there, "pattern", name) for name in attentions},
    )
