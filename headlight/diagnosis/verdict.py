"""The verdict: how good a loss is, and which findings exclude others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from headlight.diagnosis import curve_rules, progress
from headlight.diagnosis.case import Case, Severity
from headlight.diagnosis.direct_tests import leaks, nothing_to_learn, wrong_outputs
from headlight.diagnosis.finding import Finding, FindingKind, more_steps, nats, percent, usual_rate
from transformer_core.errors import Message

_BASELINES: Mapping[str | None, tuple[FindingKind, Message]] = {  # by the level that the loss does not beat
    "guessing": ("no_better_than_guessing", Message("No better than random guessing")),
    "frequency": ("unigram_baseline", Message("No better than the unigram baseline")),
    "one_back": ("bigram_baseline", Message("No better than the bigram baseline")),
}
_NEAR = 3.0  # times the usual learning rate, or a third of it: values in between are not worth another try
_MOST_FINDINGS = 4  # findings that a person will read
_SEVERITIES: tuple[Severity, ...] = ("problem", "note", "fine")


def too_little_learnt(case: Case) -> Finding | None:
    """Report that a table of counts would do as well as the model.

    Innocent: data with nothing more to learn, such as random texts; a training that has only begun. Not ruled
    out, so the finding names the baseline and the model is only said to be no better; while the loss still falls, and
    where only the bigram baseline is reached, which is the best possible for some data, it is a note.
    """
    if case.is_good or case.level not in _BASELINES:
        return None
    severity: Severity = "note" if case.level == "one_back" else case.severity
    kind, title = _BASELINES[case.level]
    evidence = Message("{loss}; {comparison}.", loss=_loss_in_words(case), comparison=_comparison(case))
    return Finding(kind=kind, title=title, evidence=evidence, advice=_advice(case), severity=severity)


def well(case: Case) -> Finding | None:
    """Report that the model has learnt its task, with the number that shows it."""
    if not case.is_good:
        return None
    loss = _loss_in_words(case)
    if case.bigram and case.level == "beyond":
        loss = Message("{loss}, below the bigram baseline of {bigram}", loss=loss, bigram=nats(case.bigram))
    sentences = [_success(*case.judged), loss] if case.judged else [loss]
    return Finding(
        kind="well",
        title=Message("The training looks healthy"),
        evidence=Message.joined("", (Message.joined(". ", sentences), ".")),
        advice=Message("Save it as a model, and explore its heads on the Heads page."),
        severity="fine",
    )


def nothing_unusual(case: Case) -> Finding:
    """Report that nothing stands out, if there are no other findings."""
    loss = _loss_in_words(case) if case.loss is not None else Message("No loss was measured")
    return Finding(
        kind="nothing_unusual",
        title=Message("Nothing unusual"),
        evidence=Message("{loss}, and neither the curves nor the outputs point to a problem.", loss=loss),
        advice=Message("{steps}, if that is not enough yet.", steps=more_steps(case)),
        severity="note",
    )


def _success(measure: str, share: float) -> Message:
    if measure == "determined_accuracy":
        return Message("{share} accuracy on the tokens that the text determines", share=percent(share))
    if measure == "exact_match":
        return Message("{share} exact match on held-out data", share=percent(share))
    return Message(
        "{share} of the outputs are correct by the metric “{measure}”",
        share=percent(share),
        measure=Message(measure.replace("_", " ")),
    )


def _loss_in_words(case: Case) -> Message:
    if case.last:
        return Message("Held-out loss is {loss} at step {step:,}", loss=nats(case.last.loss), step=case.last.step)
    values: dict[str, Any] = {"loss": nats(case.training_loss or 0.0), "step": case.steps_done}
    if case.label_smoothing:
        return Message("Training loss is at most {loss} (without label smoothing) at step {step:,}", **values)
    return Message("Training loss is {loss} (without label smoothing) at step {step:,}", **values)


def _comparison(case: Case) -> Message:
    even, unigram, bigram = nats(case.even_entropy), case.unigram, case.bigram
    if case.level == "guessing":
        return Message("random guessing among {n:,} tokens gives {even}", even=even, n=case.vocab_size)
    if case.level == "frequency":
        return Message("the unigram baseline is {unigram}", unigram=nats(unigram or 0.0))
    return Message(
        "the unigram baseline is {unigram}, the bigram baseline {bigram}",
        unigram=nats(unigram or 0.0),
        bigram=nats(bigram or 0.0),
    )


def _advice(case: Case) -> Message:
    ratio = case.rate_ratio
    if ratio is not None and not 1 / _NEAR <= ratio <= _NEAR and not case.is_rate_rising:
        return usual_rate(case)
    if case.trend == "falling":
        return Message("{steps}; the loss is still falling.", steps=more_steps(case))
    if not case.is_settled:
        return Message("{steps}; it may only be the beginning.", steps=more_steps(case))
    if case.level == "guessing":
        return Message("Check that the parameters are trained, and that targets and masks are correct.")
    if case.architecture == "encoder_decoder":
        return Message("Check that each target depends on its source, and that cross-attention sees the whole source.")
    return Message(
        "The data may have no longer-range dependencies; otherwise check that the mask allows "
        "earlier tokens, and try more layers."
    )


def diagnose(case: Case) -> list[Finding]:
    """Report what is unusual about a training, and what to try.

    Only what the numbers show is reported: a rule whose numbers are missing is silent, and an explanation of a symptom
    replaces findings that would contradict it. A run that has just begun is not judged.

    Args:
        case: what is known.

    Returns:
        One to four findings: problems first, then notes, then what is fine; in each, causes before symptoms. No two
        contradict each other, and "well" is never reported together with a problem.
    """
    kinds: tuple[FindingKind, ...] = get_args(FindingKind)
    findings = _findings(case)
    findings.sort(key=lambda finding: (_SEVERITIES.index(finding.severity), kinds.index(finding.kind)))
    return findings[:_MOST_FINDINGS]


def _findings(case: Case) -> list[Finding]:
    """Return all findings without contradictions; most rules do not apply once the model has learnt its task."""
    if broken := progress.failed(case) or nothing_to_learn(case):
        return [broken]
    high = curve_rules.too_high(case)
    if early := progress.too_early(case):
        return [high] if high and case.curves.steps else [early]
    if leak := leaks(case):
        return [leak]
    outputs, little = wrong_outputs(case), too_little_learnt(case)
    if overfit := curve_rules.overfitting(case):
        if overfit.severity == "problem":
            return [overfit, *_as_consequences(outputs)]
        return [*filter(None, (overfit, *outputs, well(case)))]
    if rate := high or curve_rules.too_low(case):
        return [rate, *_as_consequences((little, *outputs))]
    learning = progress.undertrained(case) or progress.plateau(case)
    if case.level == "one_back" and learning is not None and learning.kind == "undertrained":
        little = None
    findings = (little, *outputs, learning, progress.exposure_gap(case), well(case))
    return [*filter(None, findings)] or [nothing_unusual(case)]


def _as_consequences(findings: Sequence[Finding | None]) -> list[Finding]:
    """Return findings as consequences of a problem reported before them, as their own advice would mislead."""
    advice = Message("Fix the problem above first: it may be the cause.")
    return [replace(finding, advice=advice, severity="note") for finding in findings if finding is not None]
