"""What was learnt by heart or read off, and how much there was to learn from."""

from statistics import fmean

from transformer_core.language import say
from transformer_core.training.diagnosis.case import Case
from transformer_core.training.diagnosis.circles import are_mostly_circles
from transformer_core.training.diagnosis.curves import change
from transformer_core.training.diagnosis.finding import Finding
from transformer_core.training.diagnosis.speech import ends_at_once
from transformer_core.training.diagnosis.wording import count, more_steps, nats, number, percent, setting, times

_RISE_NATS, _RISE_SHARE = 0.1, 0.05  # of a held-out loss over its best: more than one set of texts differs from another
_ENOUGH_BEHIND = 2  # measurements behind the best while the training goes on: a single one may be a bad moment
_FEWEST_AROUND = 4  # logged losses that make a mean, around the best measurement and at the end
_GAP_NATS, _GAP_SHARE = 0.5, 0.5  # training loss below the held-out loss by so much, and below this share of it
_GAP_EPOCHS = 3.0  # nothing is learnt by heart at first sight
_TOKENS_PER_PARAMETER = 20.0  # where a compute budget is best spent (Hoffmann et al. 2022, sec. 3)
_REPEATS_THAT_COUNT = 4.0  # passes that are nearly worth new text (Muennighoff et al. 2023, abstract)
_HIGHEST_DROPOUT = 0.3  # that is proposed; the paper's big model has it (Vaswani et al. 2017, table 3)
_LEAK_SHARE = 0.03  # of the bigram entropy: a loss below it leaves nothing open; our stories, from a grammar, reach 0.1
_LEAK_SHARE_OF_EVEN = 0.01  # the same of an even guess, where the bigram entropy is not known
_LEAK_GAP_NATS = 1.0  # new text is no easier than held-out text; this is far more than a few batches differ by
_SOME_OUTPUTS = 1 / 2  # share of right outputs below which "as good as before" is no comfort
_LEAK_OUTPUTS = 1 / 2  # of the outputs that must be right if so many single guesses are
_SOON = 2.0  # passes: a held-out loss measured later may be high because the text is known by heart by then
_FEWEST_LOSSES = 3  # records of the first pass, below which their mean says little


def sees_its_answer(case: Case) -> Finding | None:
    """Say that the loss is too good for what the model writes: it is given what it is to say."""
    sign = None
    if case.evidence.architecture != "encoder_only":
        sign = _more_right_tokens_than_outputs(case) or _nothing_left_open(case)
    sign = sign or _better_on_new_text_than_held_out(case)
    if sign is None:
        return None
    return Finding(
        kind="sees_its_answer",
        title=say("It sees its answer"),
        evidence=sign,
        advice=(
            say("Check the masked tokens: each must be replaced in the input, and count as a target.")
            if case.evidence.architecture == "encoder_only"
            else say(
                "Check the Targets: the input must be the target shifted right by one, <bos> first, and the Mask must "
                "hide what comes later."
            )
        ),
        severity="problem",
    )


def overfitting(case: Case) -> Finding | None:
    """Say that the training text is learnt by heart: the held-out loss has risen, or is far above the training's."""
    sign = _risen(case) or _far_above(case)
    if sign is None:
        return None
    evidence, best = case.evidence, case.best
    dropout = min(_HIGHEST_DROPOUT, evidence.dropout + 0.1)
    controls = []
    if _risen(case) and best is not None and best.step:
        controls.append(say("Steps: stop near {step:,}", step=best.step))
    if dropout > evidence.dropout:
        now = setting(evidence.dropout)
        controls.append(say("Dropout: try {dropout} (now {now})", dropout=setting(dropout), now=now))
    controls.append(say("more training text, or a smaller model with fewer Layers"))
    if best is not None and case.unigram is not None and best.loss >= case.unigram:
        controls.append(say("check the Targets and the Mask too, for nothing carries over"))
    again = say("; the training text was seen {times}", times=times(evidence.epochs)) if evidence.epochs else ""
    return Finding(
        kind="overfitting",
        title=say("It learns the text by heart"),
        evidence=f"{sign}{again}.",
        advice=f"{'; '.join(controls)}.",
        severity="note" if case.is_good or _writes_as_well_as_at_best(case) else "problem",
    )


def little_to_learn_from(case: Case) -> Finding | None:
    """Remark that the model has seen part of the text only, or little for its size."""
    evidence, epochs = case.evidence, case.evidence.epochs
    if case.is_good or not case.is_over or evidence.tokens_seen is None:
        return None
    if epochs is not None and epochs < 1:
        return Finding(
            kind="less_than_one_epoch",
            title=say("Part of the text was never seen"),
            evidence=say(
                "It has seen {seen} of the {n} tokens of the training text, {share}.",
                seen=count(evidence.tokens_seen),
                n=count(evidence.n_training_tokens or 0),
                share=percent(epochs),
            ),
            advice=say("{steps}, or a larger Batch size: there is more text to learn from.", steps=more_steps(case)),
            severity="note",
        )
    worth = evidence.tokens_seen
    if evidence.n_training_tokens:
        worth = min(worth, round(_REPEATS_THAT_COUNT * evidence.n_training_tokens))
    if worth >= _TOKENS_PER_PARAMETER * evidence.n_parameters:
        return None
    return Finding(
        kind="few_tokens",
        title=say("Few tokens for its size"),
        evidence=say(
            "It has seen {seen} tokens, {each} for each of its {n} parameters; large language models do best with "
            "about {usual:.0f}, small made-up tasks need fewer.",
            seen=count(evidence.tokens_seen),
            each=number(evidence.tokens_seen / evidence.n_parameters),
            n=count(evidence.n_parameters),
            usual=_TOKENS_PER_PARAMETER,
        ),
        advice=(
            say("More training text, or a smaller model with fewer Layers: the text was seen several times already.")
            if epochs is not None and epochs >= _REPEATS_THAT_COUNT
            else say("{steps}, or a smaller model.", steps=more_steps(case))
        ),
        severity="note",
    )


def _more_right_tokens_than_outputs(case: Case) -> str | None:
    """Outputs are wrong that must be right.

    As long as greedy decoding is right, it reads what teacher forcing reads. So an output is wrong only if some guess
    of its was wrong with the right tokens before it, and of n outputs of L targets at most n L (1 - accuracy) can be.
    """
    last, length = case.last, case.evidence.mean_target_length
    if last is None or last.accuracy is None or length is None or "exact_match" not in last.outputs:
        return None
    at_least, exact_match = 1 - (1 - last.accuracy) * length, last.outputs["exact_match"]
    if at_least < _LEAK_OUTPUTS or exact_match >= _LEAK_OUTPUTS * at_least or not case.is_wrong_alone:
        return None
    return say(
        "With the right tokens before it, {accuracy} of its guesses are right, so at least {at_least} of its outputs "
        "should be; left alone, {exact_match} are.",
        accuracy=percent(last.accuracy),
        at_least=percent(at_least),
        exact_match=percent(exact_match),
    )


def _nothing_left_open(case: Case) -> str | None:
    """The loss is nearly nothing, where text leaves much open, and what it writes is wrong.

    A training loss may be that low by heart; but who knows a text by heart does not run in circles, nor fall silent.
    """
    bigram, training = case.bigram, case.training_loss
    limit = _LEAK_SHARE_OF_EVEN * case.evidence.even_entropy if bigram is None else _LEAK_SHARE * bigram
    beside = (
        ""
        if bigram is None
        else say(", where a table of which token follows which gives {bigram}", bigram=nats(bigram))
    )
    if case.last is not None and case.last.loss < limit and case.is_wrong_alone:
        return say(
            "Held-out loss is {loss}{beside}, and yet what it writes when left alone is wrong.",
            loss=nats(case.last.loss),
            beside=beside,
        )
    if training is not None and training < limit and (are_mostly_circles(case.evidence.samples) or ends_at_once(case)):
        return say(
            "Training loss is {loss}{beside}, and yet it runs in circles, or says nothing, when left alone.",
            loss=nats(training),
            beside=beside,
        )
    return None


def _better_on_new_text_than_held_out(case: Case) -> str | None:
    """In the first pass each batch is as new as held-out text, and yet its loss was far lower."""
    epochs = case.evidence.epochs
    if not epochs:
        return None
    first_pass = min(case.steps_done / epochs, float(case.steps_done))
    losses = case.curves.losses(first_pass * 3 / 4, first_pass)
    held_out = [measured.loss for measured in case.curves.held_out if measured.step <= _SOON * first_pass]
    if len(losses) < _FEWEST_LOSSES or not held_out:
        return None
    new, held_out_loss = case.unsmoothed(fmean(losses)), min(held_out)
    if new > held_out_loss - _LEAK_GAP_NATS or new > _GAP_SHARE * held_out_loss:
        return None
    return say(
        "Training loss was {new} on text that it saw for the first time, and held-out loss {held_out} at best: the two "
        "should be alike.",
        new=nats(new),
        held_out=nats(held_out_loss),
    )


def _risen(case: Case) -> str | None:
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
    return say(
        "Held-out loss was best at step {step:,} ({best}) and is now {rise} higher, while training loss fell from "
        "{before} to {now}",
        step=best.step,
        best=nats(best.loss),
        rise=nats(last.loss - best.loss),
        before=number(training.before),
        now=number(training.now),
    )


def _far_above(case: Case) -> str | None:
    """The held-out loss is far above the training loss, and the text was seen several times."""
    last, training, epochs = case.last, case.training_loss, case.evidence.epochs
    if case.is_good or last is None or training is None or (epochs is not None and epochs < _GAP_EPOCHS):
        return None
    if last.loss - training < _GAP_NATS or training > _GAP_SHARE * last.loss:
        return None
    return say(
        "Training loss is {training}, held-out loss {held_out} at step {step:,}: what it has learnt does not carry "
        "over",
        training=nats(training),
        held_out=nats(last.loss),
        step=last.step,
    )


def _writes_as_well_as_at_best(case: Case) -> bool:
    """Whether what it writes is judged as right as when the held-out loss was least: then it is only too sure."""
    best, last = case.best, case.last
    if best is None or last is None or best is last or best.judged is None or last.judged is None:
        return False
    return last.judged[1] >= max(best.judged[1], _SOME_OUTPUTS)
