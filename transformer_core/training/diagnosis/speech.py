"""What stands out in what the model writes when left alone."""

from collections import Counter

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
        title="It ends at once",
        evidence=f"{n_empty} of {len(samples)} outputs are empty: the end is the first thing that it says.",
        advice=f"{more_steps(case)} if the loss is still high; else look for empty targets in the training text.",
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
        title="It does not find an end",
        evidence=f"{n_cut} of {len(known)} outputs were cut off, for it never said <eos>.",
        advice=f"{more_steps(case)}; if that does not help, check that the Targets end in <eos>.",
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
        title="It says the same to everything",
        evidence=f"{n} of {len(samples)} different {'sources' if is_pairs else 'prompts'} get {quoted(output)}.",
        advice=(
            f"{more_steps(case)}: it makes no use of "
            f"{'its source' if is_pairs else 'its prompt'} yet; if the loss stands still, change the Learning rate."
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
    such_as = f", such as {quoted(worst.piece)} again and again" if worst.piece else ""
    n_saying = sum(bool(sample.output.strip()) for sample in samples)
    if case.is_poor or case.loss is None:
        way = "Learning rate: try another" if case.is_settled and case.trend == "flat" else more_steps(case)
        advice = f"{way}; while the loss is this high, the most frequent tokens win every time."
    else:
        advice = "Always taking the most probable token makes circles; beam search, or drawing at random, breaks them."
    return Finding(
        kind="repeats_itself",
        title="It runs in circles",
        evidence=(
            f"{len(found)} of {n_saying} outputs are mostly repetition{such_as}; in the worst, "
            f"{percent(max(worst.looped, worst.repeated))} was said before."
        ),
        advice=advice,
        severity="note",
    )


def _severity(case: Case) -> Severity:
    """Nothing is a problem that is likely to pass while the training goes on."""
    return "problem" if case.is_settled or case.is_good else "note"
