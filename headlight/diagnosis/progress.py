"""The rules for the progress of a training: failed, too early to judge, still learning, or on a plateau."""

from headlight.diagnosis.case import Case
from headlight.diagnosis.curves import LossChange
from headlight.diagnosis.finding import Finding, lower_rate, more_steps, nats, percent, setting
from transformer_core.errors import NO_MESSAGE, Message

_HIGH_DROPOUT = 0.3  # the paper's big model has 0.3 (Vaswani et al. 2017, table 3), small ones rarely gain by so much
_SHORT = 100  # steps; a shorter training is over before its curve shows anything
_DIVERGED = ("the loss became", "the gradient norm became", "the loss exploded")  # the training loop's wording
_EXPOSED_ACCURACY = 0.85  # token accuracy from which on whole outputs should be correct too
_EXPOSED_GAP = 0.3  # between the share of correct tokens and that of correct outputs


def failed(case: Case) -> Finding | None:
    """Report that the run failed, or that its numbers are no longer finite.

    Innocent: a full disk or too little memory. Ruled out: a divergence shows in the loop's message or in the log.
    """
    reason, step = case.failure, case.curves.first_not_finite
    if not reason and step is None:
        return None
    has_diverged = step is not None or str(reason).startswith(_DIVERGED)
    evidence = reason or Message("At step {step:,} the loss or the gradient is not finite.", step=step)
    if has_diverged:
        evidence = _without_advice(evidence)
    resume = Message("Fix that, then resume the run from its last checkpoint.")
    return Finding(
        kind="failed",
        title=Message("Training diverged") if has_diverged else Message("Training failed"),
        evidence=evidence,
        advice=lower_rate(case) if has_diverged else resume,
    )


def too_early(case: Case) -> Finding | None:
    """Report that it is too early for a diagnosis."""
    if not case.is_early:
        return None
    steps, warmup_steps = case.steps, case.warmup_steps
    so_far = (
        Message("Step {step:,} of {steps:,}", step=case.steps_done, steps=steps)
        if case.steps_done
        else Message("0 of {steps:,} steps have been logged", steps=steps)
    )
    is_warming = 0 < case.steps_done <= warmup_steps
    warming = Message(", during the warm-up of {steps:,} steps", steps=warmup_steps) if is_warming else NO_MESSAGE
    return Finding(
        kind="too_early",
        title=Message("Too early to tell"),
        evidence=Message("{so_far}{warming}: not enough to see a trend.", so_far=so_far, warming=warming),
        advice=(
            Message.joined("", (more_steps(case), "."))
            if case.is_stopped
            else Message("Let it run; there is nothing to change yet.")
        ),
        severity="note",
    )


def undertrained(case: Case) -> Finding | None:
    """Report that the loss was still falling when the training ended, or is falling while it continues.

    Innocent: a training that ends a little before the best that it could reach. Ruled out: a model that is better
    than the unigram baseline gets a note.
    """
    has_no_curve = case.trend is None and case.is_over and case.steps_done < _SHORT
    if case.is_good or not (case.trend == "falling" or has_no_curve):
        return None
    if has_no_curve or case.recent is None:
        evidence = Message("The training ended after {steps:,} steps, too few for a diagnosis.", steps=case.steps_done)
    elif case.recent.is_fall or case.best is None:
        evidence = _last_third(case.recent, case.steps_done)
    else:
        evidence = Message(
            "The lowest held-out loss is recent: {loss} at step {step:,}.",
            loss=nats(case.best.loss),
            step=case.best.step,
        )
    is_over = case.is_over
    return Finding(
        kind="undertrained",
        title=Message("Stopped while still improving") if is_over or case.is_stopped else Message("Still learning"),
        evidence=evidence,
        advice=_less_dropout(case) or Message.joined("", (more_steps(case), ".")),
        severity="problem" if is_over and (has_no_curve or case.level in ("guessing", "frequency")) else "note",
    )


def plateau(case: Case) -> Finding | None:
    """Report that the loss no longer falls.

    Innocent: nothing more can be learnt, which only a task that is solved, or a better training, can show. Not ruled
    out, so it is a problem only where token frequencies alone would do as well.
    """
    if case.is_good or not case.is_late or case.trend not in ("flat", "rising") or case.recent is None:
        return None
    factor = case.learning_rate_factor
    rates = Message(
        "Learning rate: try {half} and {double} (now {now})",
        half=setting(factor / 2),
        double=setting(factor * 2),
        now=setting(factor),
    )
    if less_dropout := _less_dropout(case):
        advice = less_dropout
    elif case.is_poor:
        advice = Message(
            "{rates}; if neither helps, train longer: attention to earlier tokens often emerges late.", rates=rates
        )
    else:
        advice = Message("{rates}, or a wider model with more layers; more training data help too.", rates=rates)
    return Finding(
        kind="plateau",
        title=Message("Loss has plateaued"),
        evidence=_last_third(case.recent, case.steps_done),
        advice=advice,
        severity="problem" if case.level in ("guessing", "frequency") else "note",
    )


def exposure_gap(case: Case) -> Finding | None:
    """Report that most tokens are correct and most outputs are not.

    This is itself the innocent explanation of a gap that could point to leakage, which is checked first.
    """
    if case.is_good or case.last is None or case.last.accuracy is None or "exact_match" not in case.last.outputs:
        return None
    accuracy, exact_match = case.last.accuracy, case.last.outputs["exact_match"]
    if accuracy < _EXPOSED_ACCURACY or accuracy - exact_match < _EXPOSED_GAP:
        return None
    return Finding(
        kind="exposure_gap",
        title=Message("Token accuracy far above exact match"),
        evidence=Message(
            "With teacher forcing {accuracy} of the tokens are correct, and {exact_match} of the outputs match "
            "exactly: one wrong token spoils an output.",
            accuracy=percent(accuracy),
            exact_match=percent(exact_match),
        ),
        advice=(
            Message("{steps}: the last errors disappear late.", steps=more_steps(case))
            if case.trend == "falling"
            else Message("More steps help little now; more layers or more data may.")
        ),
        severity="note",
    )


def _last_third(loss: LossChange, steps_done: int) -> Message:
    return Message(
        "In the last third of {steps:,} steps the training loss went from {before} to {now}.",
        steps=steps_done,
        before=nats(loss.before),
        now=nats(loss.now),
    )


def _without_advice(reason: Message) -> Message:
    """Return the training loop's words without its own advice, which the finding's replaces."""
    if "way_out" in reason.values:
        return Message(reason, way_out="")
    return reason if reason.values else Message(str(reason).split(". ")[0])  # of older files, which have no values


def _less_dropout(case: Case) -> Message:
    """Propose less dropout if there is much of it; nothing if there is little, or if the training continues."""
    dropout = case.dropout
    if dropout <= _HIGH_DROPOUT or not case.is_over:
        return NO_MESSAGE
    return Message("Dropout: try 0.1 (now {now}), so that the model has more effective capacity.", now=setting(dropout))
