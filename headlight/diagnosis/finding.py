"""Findings, each with its numbers and with what to try, and how numbers are written in them."""

from dataclasses import dataclass
from typing import Literal

from headlight.diagnosis.case import Case, Severity
from transformer_core.errors import Message

FindingKind = Literal[
    "failed",
    "unknown_tokens",
    "empty_targets",
    "constant_targets",
    "target_leakage",
    "learning_rate_too_high",
    "overfitting",
    "no_better_than_guessing",
    "ignores_source",
    "ends_at_once",
    "never_ends",
    "unigram_baseline",
    "bigram_baseline",
    "learning_rate_too_low",
    "plateau",
    "undertrained",
    "exposure_gap",
    "too_early",
    "nothing_unusual",
    "well",
]
"""The order in which findings of equal severity are listed: causes, then symptoms, then remarks."""

_LEGIBLE = 1e6  # longer numbers are hard to read digit by digit


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One observation about a training."""

    kind: FindingKind
    title: Message  # a few words
    evidence: Message  # one sentence, with the numbers
    advice: Message  # one sentence: what to try, and with which control
    severity: Severity = "problem"


def nats(value: int | float) -> Message:
    """Write a loss or an entropy, with its unit."""
    return Message("{number} nats", number=number(value))


def number(value: int | float) -> Message:
    """Write a number with the digits that matter: two after the point, or two that are not 0."""
    if abs(value) >= _LEGIBLE:
        return Message("{n:.1e}", n=value)
    if abs(value) >= 0.1 or value == 0:
        return Message("{n:,.2f}", n=value)
    return Message("{n:.1e}", n=value) if abs(value) < 1e-4 else Message("{n:.2g}", n=value)


def count(value: int | float) -> Message:
    """Write a count: small ones in full, large ones in thousands, millions or billions."""
    if value >= 1e9:
        return Message("{n:,.1f} billion", n=value / 1e9)
    if value >= 1e6:
        return Message("{n:,.1f} million", n=value / 1e6)
    return Message("{n:,.0f}", n=value)


def percent(share: int | float) -> Message:
    """Write a share in [0, 1] as a percentage; 0 % and 100 % only for exactly 0 and 1."""
    is_nearly = 0.99 < share < 1 or 0 < share < 0.01
    return Message("{share:.1%}" if is_nearly else "{share:.0%}", share=share)


def times(ratio: int | float) -> Message:
    """Write how many times."""
    if ratio >= 10:
        return Message("{n} times", n=count(ratio))
    return Message("once") if round(ratio, 1) == 1 else Message("{ratio:.1f} times", ratio=ratio)


def setting(value: int | float) -> Message:
    """Write a value to set, with two digits that matter."""
    return Message("{n:g}", n=float(f"{value:.2g}"))


def more_steps(case: Case) -> Message:
    """Propose twice the steps; or, before the planned ones are done, to wait for them, or to resume."""
    steps = case.steps
    if case.is_stopped and not case.is_over:
        return Message("Resume the run: {steps:,} steps are planned", steps=steps)
    return (
        Message("Steps: try {double:,} (now {steps:,})", double=2 * steps, steps=steps)
        if case.is_over
        else Message("Wait for all {steps:,} steps", steps=steps)
    )


def lower_rate(case: Case) -> Message:
    """Propose a lower learning rate, or a longer warm-up."""
    return Message(
        "Learning rate: try {lower} (now {factor}), or a longer warm-up (now {steps:,} steps), in a new run.",
        lower=setting(min(case.learning_rate_factor / 3, case.usual_factor)),
        factor=setting(case.learning_rate_factor),
        steps=case.warmup_steps,
    )


def usual_rate(case: Case) -> Message:
    """Propose the usual learning rate."""
    return Message(
        "Learning rate: try {usual} (now {factor}), the usual value for a model of this width.",
        usual=setting(case.usual_factor),
        factor=setting(case.learning_rate_factor),
    )
