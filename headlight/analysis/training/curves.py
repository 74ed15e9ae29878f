"""The numbers of a training, or of an experiment, over its steps: read from its log, smoothed, and thinned."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from transformer_core.errors import Message

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
    """Return the mean of each value and its neighbours, without a lag at the beginning or in the middle.

    At the beginning, where a loss falls fast, a value has only as many neighbours on its right as it has on its left.
    At the end it keeps all of its left ones, so that the end of the smoothed curve stays steady as points are added.

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
    """Return a curve with fewer points that looks the same: the minimum and the maximum of each short stretch.

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


@dataclass(frozen=True, kw_only=True)
class ExperimentReading:
    """What an experiment has shown so far; everything by variant."""

    losses: Mapping[str, Curve]  # on the training batches, nats per token
    held_out: Mapping[str, Mapping[str, Curve]]  # by measure: `loss` in nats per token, the others in [0, 1]
    lengths: Int[np.ndarray, " length"]  # tested lengths, in units of the task; some experiments have none
    by_length: Mapping[str, Float[np.ndarray, " length"]]  # share of correct tokens in [0, 1], as last measured
    samples: Sequence[tuple[str, str]]  # sources and their correct outputs
    outputs: Mapping[str, Sequence[str]]  # what each variant wrote of each sample, as last measured
    measured_at: int  # the step of that measurement
    ended: Mapping[str, Message] = field(default_factory=dict)  # variants that could go no further, and why
    seconds: float = 0.0  # from the first step to the last one that was logged

    @property
    def step(self) -> int:
        """The number of logged steps."""
        return max((int(curve.steps[-1]) for curve in self.losses.values()), default=0)

    def smoothed_losses(self) -> dict[str, Curve]:
        """Return the losses with each value as the mean of it and its neighbours: batches differ."""
        return {variant: smoothed(curve) for variant, curve in self.losses.items()}

    def last(self, measure: str) -> dict[str, float]:
        """Return the last measurement of each variant that has one."""
        return {variant: float(curve.values[-1]) for variant, curve in self.held_out.get(measure, {}).items()}


def read_experiment(records: Iterable[Mapping[str, Any]], variants: Sequence[str]) -> ExperimentReading:
    """Return the curves of an experiment's variants from its metrics.jsonl, in order."""
    lines = [*records]
    measurements = [line for line in lines if "held_out" in line]
    losses = curves_of({"step": line["step"]} | line["loss"] for line in lines if "loss" in line)
    names = dict.fromkeys(
        name for line in measurements for of_variant in line["held_out"].values() for name in of_variant
    )
    last: Mapping[str, Any] = measurements[-1] if measurements else {}
    return ExperimentReading(
        losses={variant: losses[variant] for variant in variants if variant in losses},
        held_out={name: _measured(measurements, name, variants) for name in names},
        lengths=np.array(last.get("lengths", []), dtype=np.int64),
        by_length={variant: np.array(shares) for variant, shares in _of(variants, last.get("by_length", {})).items()},
        samples=[(source, target) for source, target in last.get("samples", [])],
        outputs=_of(variants, last.get("outputs", {})),
        measured_at=last.get("step", 0),
        ended={variant: Message.from_json(why) for line in lines for variant, why in line.get("ended", {}).items()},
        seconds=max((line["seconds"] for line in lines if "seconds" in line), default=0.0),
    )


def _measured(measurements: Sequence[Mapping[str, Any]], name: str, variants: Sequence[str]) -> dict[str, Curve]:
    values = (
        {"step": line["step"]}
        | {variant: of_variant[name] for variant, of_variant in line["held_out"].items() if name in of_variant}
        for line in measurements
    )
    return _of(variants, curves_of(values))


def _of(variants: Sequence[str], by_variant: Mapping[str, Any]) -> dict[str, Any]:
    return {variant: by_variant[variant] for variant in variants if variant in by_variant}
