"""How far a training has come: broken off, too early to judge, still learning, or standing still."""

from transformer_core.language import say
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
    evidence = reason or say("at step {step:,} loss or gradient is no finite number", step=step)
    if has_diverged:
        evidence = evidence.split(". ")[0]  # the loop's own advice comes behind
    factor = case.evidence.learning_rate_factor
    lower = setting(min(factor / 3, case.usual_factor))
    slower = say(
        "Learning rate: try {lower} (now {factor}), or a longer Warm-up (now {steps:,} steps), in a new run.",
        lower=lower,
        factor=setting(factor),
        steps=case.evidence.warmup_steps,
    )
    return Finding(
        kind="failed",
        title=say("The numbers ran away") if has_diverged else say("The training broke off"),
        evidence=f"{evidence[0].upper()}{evidence[1:].rstrip('.')}.",
        advice=slower if has_diverged else say("Mend that, then resume the run: what was saved last is whole."),
        severity="problem",
    )


def too_early(case: Case) -> Finding | None:
    """Say that nothing can be said yet."""
    if not case.is_early:
        return None
    steps, warmup_steps = case.evidence.steps, case.evidence.warmup_steps
    so_far = (
        say("Step {step:,} of {steps:,}", step=case.steps_done, steps=steps)
        if case.steps_done
        else say("Nothing of {steps:,} steps has been logged", steps=steps)
    )
    is_warming = 0 < case.steps_done <= warmup_steps
    warming = say(", within the Warm-up of {steps:,} steps", steps=warmup_steps) if is_warming else ""
    return Finding(
        kind="too_early",
        title=say("Too early to say"),
        evidence=say("{so_far}{warming}: no curve can be read from that.", so_far=so_far, warming=warming),
        advice=say("Let it go on and ask again; Steps and Learning rate can stay as they are until then."),
        severity="note",
    )


def undertrained(case: Case) -> Finding | None:
    """Say that the loss was still falling when the training ended, or is falling while it goes on."""
    has_no_curve = case.trend is None and case.is_over and case.steps_done < _SHORT
    if case.is_good or not (case.trend == "falling" or has_no_curve):
        return None
    if has_no_curve or case.recent is None:
        evidence = say(
            "The training ended after {steps:,} steps, which are too few for a curve.", steps=case.steps_done
        )
    elif case.recent.is_fall or case.best is None:
        before, now = nats(case.recent.before), nats(case.recent.now)
        evidence = say(
            "In the last third of {steps:,} steps the training loss went from {before} to {now}.",
            steps=case.steps_done,
            before=before,
            now=now,
        )
    else:
        evidence = say(
            "Held-out loss was lowest of late, {loss} at step {step:,}.", loss=nats(case.best.loss), step=case.best.step
        )
    is_over = case.is_over
    return Finding(
        kind="undertrained",
        title=say("It stopped while still learning") if is_over else say("Still learning"),
        evidence=evidence,
        advice=_less_dropout(case) or f"{more_steps(case)}.",
        severity="problem" if is_over else "note",
    )


def plateau(case: Case) -> Finding | None:
    """Say that the loss no longer falls."""
    if case.is_good or not case.is_late or case.trend not in ("flat", "rising") or case.recent is None:
        return None
    factor = case.evidence.learning_rate_factor
    rates = say(
        "Learning rate: try {half} and {double} (now {now})",
        half=setting(factor / 2),
        double=setting(factor * 2),
        now=setting(factor),
    )
    if less_dropout := _less_dropout(case):
        advice = less_dropout
    elif case.is_poor:
        advice = say(
            "{rates}; if neither helps, more Steps, for looking further back often comes late and at once.", rates=rates
        )
    else:
        advice = say("{rates}, or a wider model with more Layers; more text helps too where there is any.", rates=rates)
    before, now = nats(case.recent.before), nats(case.recent.now)
    return Finding(
        kind="plateau",
        title=say("It no longer improves"),
        evidence=say(
            "In the last third of {steps:,} steps the training loss was {now}, before that {before}.",
            steps=case.steps_done,
            now=now,
            before=before,
        ),
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
        title=say("Right by the token, wrong as a whole"),
        evidence=say(
            "With the right tokens before it, {accuracy} of its guesses are right, but left alone only {exact_match} "
            "of "
            "its outputs are: one slip spoils an output, and it goes on from its slips.",
            accuracy=percent(accuracy),
            exact_match=percent(exact_match),
        ),
        advice=(
            say("{steps}, since the last few slips go late.", steps=more_steps(case))
            if case.trend == "falling"
            else say("More steps help little now; more Layers or more data may: each slip leads it where it never was.")
        ),
        severity="note",
    )


def _less_dropout(case: Case) -> str:
    """Propose less dropout where there is much of it; "" where there is little, or where the training goes on."""
    dropout = case.evidence.dropout
    if dropout <= _HIGH_DROPOUT or not case.is_over:
        return ""
    return say("Dropout: try 0.1 (now {now}), which leaves the model more to learn with.", now=setting(dropout))
