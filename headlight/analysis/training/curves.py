"""The numbers of a training over its steps: read from its log, smoothed, and thinned to what can be seen."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

SMOOTHED_FROM = 40  # points; a fortieth of a curve is taken to either side, so a shorter one is not smoothed


class Curve(NamedTuple):
    """One number over the steps at which it was taken."""

    steps: Int[np.ndarray, " point"]  # ascending
    values: Float[np.ndarray, " point"]


def curves_of(records: Iterable[Mapping[str, Any]]) -> dict[str, Curve]:
    """Return the curves of a training's log, by the name of the field; a number that is not finite is left out.

    Args:
        records: the lines of metrics.jsonl: each with `step`, and with some other numbers.
    """
    points: dict[str, dict[int, float]] = {}
    for record in records:
        for name, value in record.items():
            if name != "step" and isinstance(value, int | float) and np.isfinite(value):
                points.setdefault(name, {})[int(record["step"])] = float(value)
    return {
        name: Curve(np.array(sorted(of_step), dtype=np.int64), np.array([of_step[step] for step in sorted(of_step)]))
        for name, of_step in points.items()
    }


def curve_arrays(curves: Mapping[str, Curve], *, last_step: int | None = None) -> dict[str, np.ndarray]:
    """Return curves for `numpy.savez`: the values by name, and under `{name}_step` the steps.

    Args:
        curves: by name.
        last_step: later points are left out; None: none.
    """
    arrays: dict[str, np.ndarray] = {}
    for name, curve in curves.items():
        is_meant = curve.steps <= (np.inf if last_step is None else last_step)
        arrays |= {name: curve.values[is_meant], f"{name}_step": curve.steps[is_meant]}
    return arrays


def smoothed(curve: Curve, *, n_neighbours: int | None = None) -> Curve:
    """Return the mean of each value and its neighbours, which lags after neither at the beginning nor in the middle.

    At the beginning, where a loss falls fast, a value has only as many neighbours on its right as it has on its left.
    At the end it has all of its left ones, so that the last value stands still while others come.

    Args:
        curve: what to smooth.
        n_neighbours: on either side; None: a fortieth of all values.
    """
    n = len(curve.values)
    reach = n // SMOOTHED_FROM if n_neighbours is None else n_neighbours
    place = np.arange(n)
    before = np.minimum(place, reach)
    after = np.minimum(before, n - 1 - place)
    sums = np.concatenate([[0.0], np.cumsum(curve.values)])
    return Curve(curve.steps, (sums[place + after + 1] - sums[place - before]) / (before + after + 1))


def thinned(curve: Curve, *, n_points: int) -> Curve:
    """Return a curve that looks the same with fewer points: of each short stretch, its lowest and its highest value.

    Args:
        curve: what to thin; the first and the last point stay, and so do all extremes.
        n_points: about this many are left; a curve of fewer is left unchanged.
    """
    if len(curve.steps) <= n_points:
        return curve
    place = curve.steps.astype(np.float64)
    n_stretches = max(1, n_points // 2)
    stretch = ((place - place[0]) / (place[-1] - place[0]) * n_stretches).astype(np.int64).clip(0, n_stretches - 1)
    in_order = np.lexsort((curve.values, stretch))  # within a stretch, the lowest value first
    firsts = np.flatnonzero(np.diff(stretch[in_order], prepend=-1))
    lasts = np.append(firsts[1:], len(place)) - 1
    chosen = np.unique(np.concatenate([[0, len(place) - 1], in_order[firsts], in_order[lasts]]))
    return Curve(curve.steps[chosen], curve.values[chosen])
