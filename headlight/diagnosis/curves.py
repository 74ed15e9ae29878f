"""The lines of metrics.jsonl as curves of finite numbers by step, and the recent change of a curve."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any

_LARGEST = 1e30  # sums of numbers up to this size stay finite, and no real loss is that large
_MOST_LINES = 2000  # of steps; more take seconds and show no more
_FEWEST_TO_COMPARE = 4  # records in each of two intervals whose means are compared
_OF_NO_OUTPUT = ("loss", "perplexity", "pairs", "texts", "accuracy", "determined_accuracy", "antecedent")
_CLEARLY = 0.02  # of the loss: smaller changes do not count, however significant


@dataclass(frozen=True, kw_only=True)
class LoggedStep:
    """A logged step."""

    step: int
    loss: float  # nats, with the label smoothing of the training
    learning_rate: float | None


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """An evaluation on held-out data."""

    step: int
    loss: float  # nats per target, without label smoothing, with teacher forcing
    accuracy: float | None  # share of targets that are the most probable token, with teacher forcing
    determined_accuracy: float | None  # likewise, of the targets that other tokens determine
    outputs: Mapping[str, float]  # free-running outputs: the share that is correct, by measure
    probes: Mapping[str, float]  # direct tests, by name; see training/probes.py

    @property
    def judged(self) -> tuple[str, float] | None:
        """The most informative measure of the model's outputs, with the share that is correct; None: not measured."""
        if "exact_match" in self.outputs:
            return "exact_match", self.outputs["exact_match"]
        return min(self.outputs.items(), key=lambda item: item[1], default=None)


@dataclass(frozen=True, kw_only=True)
class Curves:
    """All logged records, ascending by step."""

    steps: tuple[LoggedStep, ...]
    held_out: tuple[HeldOut, ...]
    first_not_finite: int | None  # the first step whose loss or gradient is no finite number

    @property
    def steps_done(self) -> int:
        """The last step of which anything is known; 0 before the first."""
        return max([record.step for record in self.steps] + [record.step for record in self.held_out], default=0)

    def losses(self, after: int | float, until: int | float) -> list[float]:
        """Return the losses of the steps after `after`, up to and including `until`."""
        return [record.loss for record in self.steps if after < record.step <= until]


@dataclass(frozen=True, kw_only=True)
class LossChange:
    """A mean loss before and now, nats."""

    before: float
    now: float
    doubt: float  # two standard errors of the difference

    @property
    def is_fall(self) -> bool:
        """Whether the loss fell by a relevant and significant amount."""
        return self.before - self.now > max(self.doubt, _CLEARLY * self.before)

    @property
    def is_rise(self) -> bool:
        """Whether the loss rose by a relevant and significant amount."""
        return self.now - self.before > max(self.doubt, _CLEARLY * self.before)


def read_curves(records: Sequence[Mapping[str, Any]]) -> Curves:
    """Sort the lines of metrics.jsonl; lines without a step or without known fields are skipped.

    Of two lines for one step the later counts: a run that was resumed logs steps again. Of very many lines some are
    read, evenly, and the last.
    """
    steps: dict[int, LoggedStep] = {}
    held_out: dict[int, HeldOut] = {}
    not_finite: list[int] = []
    for record in _thinned(records):
        number = _finite(record.get("step"))
        if number is None or number < 0:
            continue
        step = int(number)
        loss, held_out_loss = _finite(record.get("loss")), _finite(record.get("held_out_loss"))
        values = [record.get(name, 0.0) for name in ("loss", "gradient_norm", "held_out_loss")]
        if any(value is None or (isinstance(value, float) and not math.isfinite(value)) for value in values):
            not_finite.append(step)  # JSON may have null for such numbers
        if loss is not None:
            steps[step] = LoggedStep(step=step, loss=loss, learning_rate=_finite(record.get("learning_rate")))
        if held_out_loss is not None:
            held_out[step] = _held_out(step, held_out_loss, record)
    return Curves(
        steps=tuple(steps[step] for step in sorted(steps)),
        held_out=tuple(held_out[step] for step in sorted(held_out)),
        first_not_finite=min(not_finite, default=None),
    )


def change(before: Sequence[float], now: Sequence[float]) -> LossChange | None:
    """Compare the means of two stretches of a curve; None where one of them is too short for a mean."""
    if min(len(before), len(now)) < _FEWEST_TO_COMPARE:
        return None
    doubt = 2 * math.sqrt(_noise(before) ** 2 / len(before) + _noise(now) ** 2 / len(now))
    return LossChange(before=fmean(before), now=fmean(now), doubt=doubt)


def _thinned(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return all measurements, and as many of the logged steps as a curve needs."""
    of_steps = [i for i, record in enumerate(records) if "held_out_loss" not in record]
    stride = -(-len(of_steps) // _MOST_LINES)
    left_out = {*of_steps}.difference(of_steps[::-1][::stride]) if stride > 1 else set()
    return [record for i, record in enumerate(records) if i not in left_out]


def _noise(losses: Sequence[float]) -> float:
    """Return the standard deviation of the noise, from differences of neighbouring records: a slope does not count."""
    differences = [(b - a) ** 2 for a, b in pairwise(losses)]
    return math.sqrt(fmean(differences) / 2)


def _held_out(step: int, loss: float, record: Mapping[str, Any]) -> HeldOut:
    shares = {name: value for name, value in _numbers(record, "held_out_").items() if 0 <= value <= 1}
    return HeldOut(
        step=step,
        loss=loss,
        accuracy=shares.get("accuracy"),
        determined_accuracy=shares.get("determined_accuracy"),
        outputs={name: share for name, share in shares.items() if name not in _OF_NO_OUTPUT},
        probes=_numbers(record, "probe_"),
    )


def _numbers(record: Mapping[str, Any], prefix: str) -> dict[str, float]:
    """Return the finite numbers of a record whose names begin with a prefix, by the rest of the name."""
    numbers = {name.removeprefix(prefix): _finite(record[name]) for name in record if name.startswith(prefix)}
    return {name: number for name, number in numbers.items() if number is not None}


def _finite(value: object) -> float | None:
    """Return a value as a float; None if it is not a number, or not finite."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return float(min(max(value, -_LARGEST), _LARGEST))
