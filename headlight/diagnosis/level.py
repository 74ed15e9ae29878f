"""What a loss amounts to: what else would reach it."""

from collections.abc import Mapping
from typing import Any

from headlight.diagnosis.case import Case
from headlight.diagnosis.finding import Finding, FindingKind, Severity
from headlight.diagnosis.wording import more_steps, nats, percent, setting
from transformer_core.errors import Message

_BASELINES: Mapping[str | None, tuple[FindingKind, Message]] = {  # by the level of a loss that is not a better
    "guessing": ("no_better_than_guessing", Message("No better than random guessing")),
    "frequency": ("unigram_baseline", Message("No better than the unigram baseline")),
    "one_back": ("bigram_baseline", Message("No better than the bigram baseline")),
}
_NEAR = 3.0  # times the usual learning rate, or a third of it: values in between are not worth another try


def too_little_learnt(case: Case) -> Finding | None:
    """Say so where a table of counts would do as well as the model.

    Innocent: data in which nothing more is to be known, such as random texts; a training that has only begun. Not ruled
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
    """Say so where the model has learnt its task, with the number."""
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
    """Say that nothing stands out, where there is no more to say."""
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
        return Message(
            "Learning rate: try {usual} (now {factor}), the usual value for a model of this width.",
            usual=setting(case.usual_factor),
            factor=setting(case.learning_rate_factor),
        )
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
