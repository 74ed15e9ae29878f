"""The verdict: which rules apply, which findings exclude others, and the order of findings."""

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from headlight.diagnosis import learning_rate, level, progress
from headlight.diagnosis.case import Case
from headlight.diagnosis.direct_tests import leaks, nothing_to_learn, wrong_outputs
from headlight.diagnosis.finding import Finding, FindingKind, Severity
from headlight.diagnosis.overfitting import overfitting
from transformer_core.errors import Message

_MOST_FINDINGS = 4  # a person reads this many
_SEVERITIES: tuple[Severity, ...] = ("problem", "note", "fine")


def diagnose(case: Case) -> list[Finding]:
    """Report what is unusual about a training, and what to try.

    Only what the numbers show is reported: a rule whose numbers are missing is silent, and an explanation of a symptom
    replaces findings that would contradict it. A run that has just begun is not judged.

    Args:
        case: what is known.

    Returns:
        One to four findings: problems first, then notes, then what is fine; in each, causes before symptoms. No two
        contradict each other, and "well" is never told beside a problem.
    """
    kinds: tuple[FindingKind, ...] = get_args(FindingKind)
    findings = _findings(case)
    findings.sort(key=lambda finding: (_SEVERITIES.index(finding.severity), kinds.index(finding.kind)))
    return findings[:_MOST_FINDINGS]


def _findings(case: Case) -> list[Finding]:
    """Return all findings, contradictions left out; of a model that has learnt its task, most rules have none."""
    if broken := progress.failed(case) or nothing_to_learn(case):
        return [broken]
    high = learning_rate.too_high(case)
    if early := progress.too_early(case):
        return [high] if high and case.curves.steps else [early]
    if leak := leaks(case):
        return [leak]
    outputs, little = wrong_outputs(case), level.too_little_learnt(case)
    if overfit := overfitting(case):
        if overfit.severity == "problem":
            return [overfit, *_as_consequences(outputs)]
        return [*filter(None, (overfit, *outputs, level.well(case)))]
    if rate := high or learning_rate.too_low(case):
        return [rate, *_as_consequences((little, *outputs))]
    learning = progress.undertrained(case) or progress.plateau(case)
    if case.level == "one_back" and learning is not None and learning.kind == "undertrained":
        little = None
    findings = (little, *outputs, learning, progress.exposure_gap(case), level.well(case))
    return [*filter(None, findings)] or [level.nothing_unusual(case)]


def _as_consequences(findings: Sequence[Finding | None]) -> list[Finding]:
    """Return findings as what comes of a problem that is reported before them; their own advice would lead astray."""
    advice = Message("Fix the problem above first: it may be the cause.")
    return [replace(finding, advice=advice, severity="note") for finding in findings if finding is not None]
