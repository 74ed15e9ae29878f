"""What stands out in what the model writes when left alone."""

from collections import Counter

from transformer_core.language import say
from transformer_core.training.diagnosis.case import Case
from transformer_core.training.diagnosis.circles import are_mostly_circles, in_circles
from transformer_core.training.diagnosis.finding import Finding, Severity
from transformer_core.training.diagnosis.wording import more_steps, percent, quoted

_MOST = 1 / 2  # of the samples
_FEWEST_GIVEN = 3  # different texts, below which equal outputs may be chance


def ends_at_once(case: Case) -> Finding | None:
    """Say that most outputs are empty."""
    samples = [sample for sample in case.evidence.samples if sample.reference is None or sample.reference.strip()]
    n_empty = sum(not sample.output.strip() for sample in samples)
    if not n_empty or n_empty < _MOST * len(samples):
        return None
    return Finding(
        kind="ends_at_once",
        title=say("It ends at once"),
        evidence=say(
            "{n_empty} of {n} outputs are empty: the end is the first thing that it says.",
            n_empty=n_empty,
            n=len(samples),
        ),
        advice=say(
            "{steps} if the loss is still high; else look for empty targets in the training text.",
            steps=more_steps(case),
        ),
        severity=_severity(case),
    )


def never_ends(case: Case) -> Finding | None:
    """Say that most outputs were cut off; a decoder alone may go on as long as there is room."""
    known = [sample for sample in case.evidence.samples if sample.is_complete is not None]
    n_cut = sum(not sample.is_complete for sample in known)
    if case.evidence.architecture != "encoder_decoder" or not n_cut or n_cut < _MOST * len(known):
        return None
    return Finding(
        kind="never_ends",
        title=say("It does not find an end"),
        evidence=say("{n_cut} of {n} outputs were cut off, for it never said <eos>.", n_cut=n_cut, n=len(known)),
        advice=say("{steps}; if that does not help, check that the Targets end in <eos>.", steps=more_steps(case)),
        severity=_severity(case),
    )


def same_output(case: Case) -> Finding | None:
    """Say that different texts get the same output."""
    samples = list({sample.given: sample for sample in case.evidence.samples if sample.output.strip()}.values())
    if len(samples) < _FEWEST_GIVEN:
        return None
    output, n = Counter(sample.output.strip() for sample in samples).most_common(1)[0]
    references = Counter(sample.reference for sample in samples if sample.reference is not None)
    n_same_reference = max(references.values(), default=0)
    if n <= _MOST * len(samples) or n_same_reference > _MOST * len(samples):
        return None
    is_pairs = case.evidence.architecture == "encoder_decoder"
    return Finding(
        kind="same_output",
        title=say("It says the same to everything"),
        evidence=(
            say("{n} of {n_all} different sources get {output}.", n=n, n_all=len(samples), output=quoted(output))
            if is_pairs
            else say("{n} of {n_all} different prompts get {output}.", n=n, n_all=len(samples), output=quoted(output))
        ),
        advice=(
            say(
                "{steps}: it makes no use of its source yet; if the loss stands still, change the Learning rate.",
                steps=more_steps(case),
            )
            if is_pairs
            else say(
                "{steps}: it makes no use of its prompt yet; if the loss stands still, change the Learning rate.",
                steps=more_steps(case),
            )
        ),
        severity=_severity(case),
    )


def repeats_itself(case: Case) -> Finding | None:
    """Say that most outputs run in circles."""
    samples = case.evidence.samples
    if not are_mostly_circles(samples):
        return None
    found = in_circles(samples)
    worst = max((circles for _, circles in found), key=lambda circles: (circles.looped, circles.repeated))
    such_as = say(", such as {piece} again and again", piece=quoted(worst.piece)) if worst.piece else ""
    n_saying = sum(bool(sample.output.strip()) for sample in samples)
    if case.is_poor or case.loss is None:
        is_stuck = case.is_settled and case.trend == "flat"
        way = say("Learning rate: try another") if is_stuck else more_steps(case)
        advice = say("{way}; while the loss is this high, the most frequent tokens win every time.", way=way)
    else:
        advice = say(
            "Always taking the most probable token makes circles; beam search, or drawing at random, breaks them."
        )
    return Finding(
        kind="repeats_itself",
        title=say("It runs in circles"),
        evidence=say(
            "{n} of {n_all} outputs are mostly repetition{such_as}; in the worst, {share} was said before.",
            n=len(found),
            n_all=n_saying,
            such_as=such_as,
            share=percent(max(worst.looped, worst.repeated)),
        ),
        advice=advice,
        severity="note",
    )


def _severity(case: Case) -> Severity:
    """Nothing is a problem that is likely to pass while the training goes on."""
    return "problem" if case.is_settled or case.is_good else "note"
