"""How far a training has come: broken off, too early to judge, still learning, or standing still."""

from transformer_core.training.diagnosis.case import Case
from transformer_core.training.diagnosis.finding import Finding
from transformer_core.training.diagnosis.wording import more_steps, nats, percent, setting

_HIGH_DROPOUT = 0.3  # the paper's big model has 0.3 (Vaswani et al. 2017, table 3), small ones rarely gain by so much
_SHORT = 100  # steps; a training with fewer is over before anything can be seen
_DIVERGED = ("the loss became", "the gradient's norm became", "the loss exploded")  # as the training loop says it
_EXPOSED_ACCURACY = 0.85  # of single tokens, from which on one expects whole outputs to be right too
_EXPOSED_GAP = 0.3  # between the share of right tokens and that of right outputs


def failed(case: Case) -> Finding | None:
    """Say that the run broke off, or that its numbers did."""
    reason, step = case.evidence.failure, case.curves.first_not_finite
    if not reason and step is None:
        return None
    has_diverged = step is not None or reason.startswith(_DIVERGED)
    evidence = reason or f"at step {step:,} loss or gradient is no finite number"
    if has_diverged:
        evidence = evidence.split(". ")[0]  # the loop's own advice comes behind
    factor = case.evidence.learning_rate_factor
    lower = setting(min(factor / 3, case.usual_factor))
    slower = (
        f"Learning rate: try {lower} (now {setting(factor)}), or a longer Warm-up (now "
        f"{case.evidence.warmup_steps:,} steps), in a new run."
    )
    return Finding(
        kind="failed",
        title="The numbers ran away" if has_diverged else "The training broke off",
        evidence=f"{evidence[0].upper()}{evidence[1:].rstrip('.')}.",
        advice=slower if has_diverged else "Mend that, then resume the run: what was saved last is whole.",
        severity="problem",
    )


def too_early(case: Case) -> Finding | None:
    """Say that nothing can be said yet."""
    if not case.is_early:
        return None
    steps, warmup_steps = case.evidence.steps, case.evidence.warmup_steps
    so_far = (
        f"Step {case.steps_done:,} of {steps:,}" if case.steps_done else f"Nothing of {steps:,} steps has been logged"
    )
    warming = f", within the Warm-up of {warmup_steps:,} steps" if 0 < case.steps_done <= warmup_steps else ""
    return Finding(
        kind="too_early",
        title="Too early to say",
        evidence=f"{so_far}{warming}: no curve can be read from that.",
        advice="Let it go on and ask again; Steps and Learning rate can stay as they are until then.",
        severity="note",
    )


def undertrained(case: Case) -> Finding | None:
    """Say that the loss was still falling when the training ended, or is falling while it goes on."""
    has_no_curve = case.trend is None and case.is_over and case.steps_done < _SHORT
    if case.is_good or not (case.trend == "falling" or has_no_curve):
        return None
    if has_no_curve or case.recent is None:
        evidence = f"The training ended after {case.steps_done:,} steps, which are too few for a curve."
    elif case.recent.is_fall or case.best is None:
        before, now = nats(case.recent.before), nats(case.recent.now)
        evidence = f"In the last third of {case.steps_done:,} steps the training loss went from {before} to {now}."
    else:
        evidence = f"Held-out loss was lowest of late, {nats(case.best.loss)} at step {case.best.step:,}."
    is_over = case.is_over
    return Finding(
        kind="undertrained",
        title="It stopped while still learning" if is_over else "Still learning",
        evidence=evidence,
        advice=_less_dropout(case) or f"{more_steps(case)}.",
        severity="problem" if is_over else "note",
    )


def plateau(case: Case) -> Finding | None:
    """Say that the loss no longer falls."""
    if case.is_good or not case.is_late or case.trend not in ("flat", "rising") or case.recent is None:
        return None
    factor = case.evidence.learning_rate_factor
    rates = f"Learning rate: try {setting(factor / 2)} and {setting(factor * 2)} (now {setting(factor)})"
    if less_dropout := _less_dropout(case):
        advice = less_dropout
    elif case.is_poor:
        advice = f"{rates}; if neither helps, more Steps, for looking further back often comes late and at once."
    else:
        advice = f"{rates}, or a wider model with more Layers; more text helps too where there is any."
    before, now = nats(case.recent.before), nats(case.recent.now)
    return Finding(
        kind="plateau",
        title="It no longer improves",
        evidence=f"In the last third of {case.steps_done:,} steps the training loss was {now}, before that {before}.",
        advice=advice,
        severity="problem" if case.is_poor else "note",
    )


def exposure_gap(case: Case) -> Finding | None:
    """Say that single tokens are right and whole outputs are not."""
    if case.is_good or case.last is None or case.last.accuracy is None or "exact_match" not in case.last.outputs:
        return None
    accuracy, exact_match = case.last.accuracy, case.last.outputs["exact_match"]
    if accuracy < _EXPOSED_ACCURACY or accuracy - exact_match < _EXPOSED_GAP:
        return None
    return Finding(
        kind="exposure_gap",
        title="Right by the token, wrong as a whole",
        evidence=(
            f"With the right tokens before it, {percent(accuracy)} of its guesses are right, but left alone only "
            f"{percent(exact_match)} of its outputs are: one slip spoils an output, and it goes on from its slips."
        ),
        advice=(
            f"{more_steps(case)}, since the last few slips go late."
            if case.trend == "falling"
            else "More steps help little now; more Layers or more data may: each slip leads it where it never was."
        ),
        severity="note",
    )


def _less_dropout(case: Case) -> str:
    """Propose less dropout where there is much of it; "" where there is little, or where the training goes on."""
    dropout = case.evidence.dropout
    if dropout <= _HIGH_DROPOUT or not case.is_over:
        return ""
    return f"Dropout: try 0.1 (now {setting(dropout)}), which leaves the model more to learn with."
