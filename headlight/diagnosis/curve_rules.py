"""The rules for curves: whether the learning rate was too high or too low, and whether the model overfits."""

from statistics import fmean

from headlight.diagnosis.case import Case
from headlight.diagnosis.curves import change
from headlight.diagnosis.finding import Finding, lower_rate, nats, number, percent, setting, times, usual_rate
from transformer_core.errors import NO_MESSAGE, Message

_N_WINDOWS = 8  # pieces of the curve, the best of which is compared with the last
_RISE_NATS, _RISE_SHARE = 0.3, 0.1  # rise of a training loss above its best: far more than batches differ by
_TOO_HIGH_RATIO = 4.0  # times the usual rate; at 5 times, a tiny model of ours reached 1.9 nats, at half 0.1
_FAR_TOO_HIGH_RATIO = 10.0  # times the usual rate: even a loss that falls would fall faster at a lower rate
_LITTLE = 0.5  # of the bigram entropy: a loss above it is poor for such large steps
_TOO_LOW_RATIO = 0.1  # of the usual learning rate: a tenth learns about ten times as slowly
_LATE_WARMUP = 1 / 2  # of all steps: a warm-up that takes more leaves hardly any at the full rate
# A held-out loss over its best: more than one set of texts differs from another.
_HELD_OUT_RISE_NATS, _HELD_OUT_RISE_SHARE = 0.1, 0.05
_ENOUGH_BEHIND = 2  # measurements after the best while the training continues: a single one may be an outlier
_FEWEST_AROUND = 4  # logged losses that make a mean, around the best measurement and at the end
_GAP_NATS, _GAP_SHARE = 0.5, 0.5  # training loss below the held-out loss by so much, and below this share of it
_GAP_EPOCHS = 3.0  # passes over the training data; with fewer, little can be memorized
_HIGHEST_DROPOUT = 0.3  # that is proposed; the paper's big model has it (Vaswani et al. 2017, table 3)
_SOME_OUTPUTS = 1 / 2  # share of correct outputs below which "as good as before" is no comfort


def too_high(case: Case) -> Finding | None:
    """Report that the learning rate is too high, and what shows it.

    Innocent: harder batches late in the data, or single ones that are unlike the others; a hard task that is still
    being learnt. Ruled out: a rise must last, and the held-out loss must not have just improved; jumps count for
    nothing; and a high rate alone is no sign while the loss falls or the task is solved.
    """
    sign = None if case.has_held_out_fallen else _sign_of_runaway(case)
    if sign is None and not case.is_good and not case.is_early:
        sign = _stuck_at_high_rate(case)
    if sign is None:
        return None
    title = Message("Learning rate too high")
    return Finding(kind="learning_rate_too_high", title=title, evidence=sign, advice=lower_rate(case))


def too_low(case: Case) -> Finding | None:
    """Report that the learning rate is too low, or that the warm-up takes most of the training.

    Innocent: a low rate at which the task is learnt all the same, or one that is still rising. Ruled out: the loss is
    no better than a table of counts, and the warm-up is over.
    """
    if case.is_good or not case.is_poor or case.rate_ratio is None:
        return None
    if case.warmup_steps > _LATE_WARMUP * case.steps and case.rate_ratio < 1:
        return Finding(
            kind="learning_rate_too_low",
            title=Message("Warm-up too long"),
            evidence=Message(
                "The warm-up is {warmup_steps:,} steps long and the training {steps:,}, so most of it runs at a low "
                "learning rate.",
                warmup_steps=case.warmup_steps,
                steps=case.steps,
            ),
            advice=Message("Warm-up: try {steps:,} steps, 10% of the training.", steps=max(1, case.steps // 10)),
        )
    if case.rate_ratio > _TOO_LOW_RATIO or case.is_rate_rising or case.trend == "rising":
        return None
    return Finding(
        kind="learning_rate_too_low",
        title=Message("Learning rate too low"),
        evidence=Message(
            "The peak learning rate was {rate}, {share} of the usual value for a width of {width:,}, "
            "and the loss falls slowly or not at all.",
            rate=number(case.highest_rate or 0.0),
            share=percent(case.rate_ratio),
            width=case.d_model,
        ),
        advice=usual_rate(case),
    )


def _sign_of_runaway(case: Case) -> Message | None:
    """The loss ends clearly above its best."""
    windows = [
        case.curves.losses(i * case.steps_done / _N_WINDOWS, (i + 1) * case.steps_done / _N_WINDOWS)
        for i in range(_N_WINDOWS)
    ]
    means = [fmean(window) if window else float("inf") for window in windows]
    best = min(range(_N_WINDOWS), key=means.__getitem__)
    rise = change(windows[best], windows[-1])
    if rise is None or not rise.is_rise:
        return None
    if rise.now - rise.before <= max(_RISE_NATS, _RISE_SHARE * rise.before):
        return None
    step = round((best + 1) * case.steps_done / _N_WINDOWS)
    return Message(
        "Training loss was {before} around step {step:,} and has risen to {now} since.",
        before=nats(rise.before),
        step=step,
        now=nats(rise.now),
    )


def _stuck_at_high_rate(case: Case) -> Message | None:
    if case.rate_ratio is None or case.rate_ratio < _TOO_HIGH_RATIO or case.loss is None or not case.is_late:
        return None
    if not case.is_poor and case.loss < _LITTLE * (case.bigram or 0.0):
        return None
    if not case.is_poor and case.trend == "falling" and case.rate_ratio < _FAR_TOO_HIGH_RATIO:
        return None
    return Message(
        "The peak learning rate was {rate}, {times} the usual value for a width of {width:,}, "
        "and the loss is still {loss}.",
        rate=number(case.highest_rate or 0.0),
        times=times(case.rate_ratio),
        width=case.d_model,
        loss=nats(case.loss),
    )


def overfitting(case: Case) -> Finding | None:
    """Report that the held-out loss has risen, or is far above the training loss.

    Innocent: dropout and label smoothing, which change the training loss alone; noise between two measurements; or a
    model that is overconfident in its few errors. Ruled out: losses are compared without smoothing and dropout, a rise
    must be large and come with a falling training loss, and a model that solves its task gets a note.
    """
    sign = _risen(case) or _far_above(case)
    if sign is None:
        return None
    best = case.best
    dropout = min(_HIGHEST_DROPOUT, case.dropout + 0.1)
    controls = []
    if _risen(case) and best is not None and best.step:
        controls.append(Message("Steps: stop at about {step:,}", step=best.step))
    if dropout > case.dropout:
        now = setting(case.dropout)
        controls.append(Message("Dropout: try {dropout} (now {now})", dropout=setting(dropout), now=now))
    controls.append(Message("Training data: add more, or train a smaller model"))
    if best is not None and case.unigram is not None and best.loss >= case.unigram:
        controls.append(
            Message("check that training and held-out data have the same distribution, because nothing generalizes")
        )
    again = Message("; the training data were seen {times}", times=times(case.epochs)) if case.epochs else NO_MESSAGE
    return Finding(
        kind="overfitting",
        title=Message("Overfitting"),
        evidence=Message.joined("", (sign, again, ".")),
        advice=Message.joined("", (Message.joined("; ", controls), ".")),
        severity="note" if case.is_good or _writes_as_well_as_at_best(case) else "problem",
    )


def _risen(case: Case) -> Message | None:
    """The held-out loss has risen from its best while the training loss fell, and now lies above it."""
    best, last = case.best, case.last
    if best is None or last is None:
        return None
    least = max(_HELD_OUT_RISE_NATS, _HELD_OUT_RISE_SHARE * best.loss)
    n_behind = sum(held_out.step > best.step for held_out in case.curves.held_out)
    if last.loss - best.loss < least or not (case.is_over or n_behind >= _ENOUGH_BEHIND):
        return None
    n_around = max(_FEWEST_AROUND, len(case.curves.steps) // 10)
    then = [step.loss for step in case.curves.steps if step.step <= best.step][-n_around:]
    now = [step.loss for step in case.curves.steps][-n_around:]
    training = change(then, now)
    if training is None or not training.is_fall or last.loss - case.unsmoothed(training.now) < least:
        return None
    return Message(
        "Held-out loss was lowest at step {step:,} ({best}) and is now {rise} higher, while training loss fell from "
        "{before} to {now}",
        step=best.step,
        best=nats(best.loss),
        rise=nats(last.loss - best.loss),
        before=number(training.before),
        now=number(training.now),
    )


def _far_above(case: Case) -> Message | None:
    """The held-out loss is far above the training loss, and the training data were seen several times."""
    last, training, epochs = case.last, case.probes.get("training_loss", case.training_loss), case.epochs
    if case.is_good or last is None or training is None or (epochs is not None and epochs < _GAP_EPOCHS):
        return None
    if last.loss - training < _GAP_NATS or training > _GAP_SHARE * last.loss:
        return None
    return Message(
        "Training loss is {training}, held-out loss {held_out} at step {step:,}",
        training=nats(training),
        held_out=nats(last.loss),
        step=last.step,
    )


def _writes_as_well_as_at_best(case: Case) -> bool:
    """Whether the outputs are as correct as when the held-out loss was lowest: it is only overconfident."""
    best, last = case.best, case.last
    if best is None or last is None or best is last or best.judged is None or last.judged is None:
        return False
    return last.judged[1] >= max(best.judged[1], _SOME_OUTPUTS)
