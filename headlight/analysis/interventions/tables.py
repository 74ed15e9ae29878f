"""Results of a sweep as tables: maps of components, and estimates beside exact changes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headlight.analysis.interventions.base import Base
from headlight.analysis.interventions.checking import side_of
from headlight.analysis.interventions.records import Component
from headlight.analysis.interventions.sweeping import Estimate, SweepResult


@dataclass(frozen=True, kw_only=True, eq=False)
class SweepMap:
    """The changes of the metric that one attention's, or stack's, components make."""

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
        components: all of the sweep, as `sweep_components` yields them; of one kind, by position or not.
        results: exact or estimated, those so far.
        difference: nats that every change is divided by, as `Sweep.difference` returns them; None: changes in nats.

    Returns:
        by attention: by position a row for each layer and head, else a row for each layer and a column for each head.
        Positions after the metric's, which no component is at, are 0.
    """
    changes = {result.component: result.change / (difference or 1.0) for result in results}
    maps = {}
    for attention in dict.fromkeys(component.attention for component in components):
        own = [component for component in components if component.attention == attention]
        is_by_position = own[0].positions is not None
        places = [(each.layer, each.heads if is_by_position else None) for each in own]
        rows = [*dict.fromkeys(places)]
        columns = getattr(base.run, side_of(own[0])) if is_by_position else _heads(len(own) // len(rows))
        values = np.zeros((len(rows), len(columns)))
        for component, place in zip(own, places, strict=True):
            (column,) = (component.positions if is_by_position else component.heads) or (0,)
            values[rows.index(place), column] = changes.get(component, np.nan)
        names = tuple(f"L{layer}.H{heads[0]}" if heads else f"L{layer}" for layer, heads in rows)
        maps[str(attention)] = SweepMap(rows=names, columns=tuple(columns), values=values)
    return maps


def sieve_numbers(
    labels: Sequence[str],
    estimates: Iterable[Estimate],
    results: Iterable[SweepResult],
    *,
    difference: float | None = None,
) -> dict[str, np.ndarray]:
    """Return the estimates of the components that were checked, and their exact changes.

    Args:
        labels: of the components, one for each result.
        estimates: of all components, as `attribution` returns them.
        results: of those that were checked, as `exact_top` yields them.
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


def _heads(n: int) -> list[str]:
    return [f"H{head}" for head in range(n)]
