"""What a diagnosis says: findings, each with its numbers and with what to try."""

from dataclasses import dataclass
from typing import Literal

FindingKind = Literal[
    "failed",
    "sees_its_answer",
    "learning_rate_too_high",
    "overfitting",
    "ends_at_once",
    "never_ends",
    "same_output",
    "no_better_than_guessing",
    "guesses_by_frequency",
    "looks_one_token_back",
    "learning_rate_too_low",
    "plateau",
    "undertrained",
    "repeats_itself",
    "exposure_gap",
    "less_than_one_epoch",
    "few_tokens",
    "gradient_clipped",
    "too_early",
    "nothing_unusual",
    "well",
]
"""In the order in which findings of equal severity are told: causes before symptoms, symptoms before remarks."""

Severity = Literal["fine", "note", "problem"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that stands out."""

    kind: FindingKind
    title: str  # a few words
    evidence: str  # one sentence, with the numbers
    advice: str  # one sentence: what to try, and with which control
    severity: Severity
