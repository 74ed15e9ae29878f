"""What a diagnosis says: findings, each with its numbers and with what to try."""

from dataclasses import dataclass
from typing import Literal

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
"""In the order in which findings of equal severity are listed: causes before symptoms, symptoms before remarks."""

Severity = Literal["fine", "note", "problem"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that stands out."""

    kind: FindingKind
    title: Message  # a few words
    evidence: Message  # one sentence, with the numbers
    advice: Message  # one sentence: what to try, and with which control
    severity: Severity = "problem"
