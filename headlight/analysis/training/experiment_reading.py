"""The log of an experiment, read: the curve of each variant, how far each carries, and what each writes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from headlight.analysis.training.curves import Curve, curves_of, smoothed
from transformer_core.errors import Message


@dataclass(frozen=True, kw_only=True)
class ExperimentReading:
    """What an experiment has shown so far; everything by variant."""

    losses: Mapping[str, Curve]  # of the batches that were learnt from, nats per token
    held_out: Mapping[str, Mapping[str, Curve]]  # by measure: `loss` in nats per token, the others in [0, 1]
    lengths: Int[np.ndarray, " length"]  # that were tried, in units of the task; none in some experiments
    by_length: Mapping[str, Float[np.ndarray, " length"]]  # share of correct tokens in [0, 1], as last measured
    samples: Sequence[tuple[str, str]]  # sources, and what should become of them
    outputs: Mapping[str, Sequence[str]]  # what each variant wrote of each sample, as last measured
    measured_at: int  # the step of that measurement
    ended: Mapping[str, Message] = field(default_factory=dict)  # variants that could go no further, and why
    seconds: float = 0.0  # from the first step to the last one that was logged

    @property
    def step(self) -> int:
        """How many steps were logged."""
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
    """Return one measure of each variant over the steps."""
    values = (
        {"step": line["step"]}
        | {variant: of_variant[name] for variant, of_variant in line["held_out"].items() if name in of_variant}
        for line in measurements
    )
    return _of(variants, curves_of(values))


def _of(variants: Sequence[str], by_variant: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the variants, in order."""
    return {variant: by_variant[variant] for variant in variants if variant in by_variant}
