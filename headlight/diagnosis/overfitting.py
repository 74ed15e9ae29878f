"""Whether what was learnt carries over to held-out data."""

from headlight.diagnosis.case import Case
from headlight.diagnosis.curves import change
from headlight.diagnosis.finding import Finding
from headlight.diagnosis.wording import nats, number, setting, times
from transformer_core.errors import NO_MESSAGE, Message

_RISE_NATS, _RISE_SHARE = 0.1, 0.05  # of a held-out loss over its best: more than one set of texts differs from another
_ENOUGH_BEHIND = 2  # measurements after the best while the training continues: a single one may be an outlier
_FEWEST_AROUND = 4  # logged losses that make a mean, around the best measurement and at the end
_GAP_NATS, _GAP_SHARE = 0.5, 0.5  # training loss below the held-out loss by so much, and below this share of it
_GAP_EPOCHS = 3.0  # nothing is learnt by heart at first sight
_HIGHEST_DROPOUT = 0.3  # that is proposed; the paper's big model has it (Vaswani et al. 2017, table 3)
_SOME_OUTPUTS = 1 / 2  # share of correct outputs below which "as good as before" is no comfort


def overfitting(case: Case) -> Finding | None:
    """Say that the held-out loss has risen, or is far above the training loss.

    Innocent: dropout and label smoothing, which change the training loss alone; noise between two measurements; or a
    model that is only too sure of its few errors. Ruled out: losses are compared without smoothing and dropout, a rise
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
    least = max(_RISE_NATS, _RISE_SHARE * best.loss)
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
    """Whether what it writes is judged as right as when the held-out loss was lowest: then it is only too sure."""
    best, last = case.best, case.last
    if best is None or last is None or best is last or best.judged is None or last.judged is None:
        return False
    return last.judged[1] >= max(best.judged[1], _SOME_OUTPUTS)
