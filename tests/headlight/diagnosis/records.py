"""Logs as a run writes them, made up: curves of a given shape, with the noise that batches bring."""

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from headlight import diagnosis
from headlight.diagnosis import Case

STEPS = 1000


def logged(
    loss: Callable[[int], float],
    *,
    until: int = STEPS,
    every: int = 10,
    rate: float = 0.4 / 64,
    noise: float = 0.02,
) -> list[dict[str, Any]]:
    """Lines of steps; the noise is a share of the loss."""
    draw = random.Random(0)
    return [
        {
            "step": step,
            "loss": loss(step) * (1 + noise * draw.uniform(-1, 1)),
            "learning_rate": rate * min(1.0, step / 100),
            "gradient_norm": 0.5,
        }
        for step in (1, *range(every, until + 1, every))
    ]


def measured(step: int, loss: float, **shares: float) -> dict[str, Any]:
    """A line of a measurement."""
    values = {f"held_out_{name}": value for name, value in shares.items()}
    return {"step": step, "held_out_pairs": 256, "held_out_loss": loss} | values


def probed(record: dict[str, Any], **tests: float) -> dict[str, Any]:
    """A line of a measurement with the direct tests of it."""
    return record | {f"probe_{name}": value for name, value in tests.items()}


def falling(to: float, *, half_life: float = 100.0) -> Callable[[int], float]:
    """A loss that falls from that of an even guess."""
    return lambda step: to + (4.6 - to) * 0.5 ** (step / half_life)


def a_case(metrics: list[dict[str, Any]], **changes: Any) -> Case:
    """A run of a thousand steps, with ten passes over its text; the rate is the usual one."""
    given: dict[str, Any] = {
        "architecture": "encoder_decoder",
        "steps": STEPS,
        "vocab_size": 100,
        "d_model": 64,
        "warmup_steps": 100,
        "learning_rate_factor": 0.5,
        "n_training_tokens": 100_000,
        "tokens_seen": 1_000_000,
        "unigram_entropy": 4.0,
        "bigram_entropy": 2.5,
    }
    return Case(metrics=metrics, **given | changes)


class Told(NamedTuple):
    """A finding in English."""

    kind: str
    title: str
    evidence: str
    advice: str
    severity: str


def diagnose(case: Case) -> list[Told]:
    """All findings, in English."""
    return [Told(*(str(getattr(actual, name)) for name in Told._fields)) for actual in diagnosis.diagnose(case)]


def kinds(case: Case) -> list[str]:
    return [finding.kind for finding in diagnose(case)]


def the(kind: str, case: Case) -> Told:
    """The finding of a kind, which must be there."""
    actual = diagnose(case)
    assert kind in [finding.kind for finding in actual]
    return next(finding for finding in actual if finding.kind == kind)
