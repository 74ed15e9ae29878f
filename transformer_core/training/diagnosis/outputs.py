"""What is wrong with free-running outputs, by tests on held-out data; samples are too few to tell."""

from transformer_core.errors import Message
from transformer_core.training.diagnosis.case import Case
from transformer_core.training.diagnosis.finding import Finding
from transformer_core.training.diagnosis.wording import more_steps, nats, percent

_MOST = 1 / 2  # of the probability, or of the outputs
_NO_GAIN = 0.02  # of the held-out loss, or nats where that is more: a source that changes less is not used


def wrong_outputs(case: Case) -> list[Finding]:
    """Say what is wrong with the outputs of a model that has not learnt its task."""
    if case.is_good:
        return []
    found = _ends_at_once(case) or _never_ends(case), _ignores_source(case)
    return [finding for finding in found if finding is not None]


def _ends_at_once(case: Case) -> Finding | None:
    """<eos> is the most probable token where texts go on.

    Innocent: a prompt that is a whole text, or a target that is empty; to end is right there. Ruled out: the
    probability is taken only where the held-out text goes on.
    """
    probability = case.probes.get("early_end", 0.0)
    if probability <= _MOST:
        return None
    return Finding(
        kind="ends_at_once",
        title=Message("Outputs end too early"),
        evidence=Message(
            "The probability of <eos> is {probability} on average where held-out texts continue.",
            probability=percent(probability),
        ),
        advice=Message("Check the training data for empty or cut texts; {steps}.", steps=more_steps(case)),
        severity=case.severity,
    )


def _never_ends(case: Case) -> Finding | None:
    """Most outputs of an encoder-decoder never end.

    Innocent: long answers that are cut for want of room; a decoder may go on for ever. Ruled out: there is room for one
    more than the longest target's tokens, and only encoder-decoders are judged.
    """
    share = case.probes.get("cut_outputs", 0.0)
    if share < _MOST:
        return None
    return Finding(
        kind="never_ends",
        title=Message("Outputs do not end"),
        evidence=Message("{share} of the outputs have no <eos>, though there is room for it.", share=percent(share)),
        advice=Message("{steps}; if that does not help, check that the targets end in <eos>.", steps=more_steps(case)),
        severity=case.severity,
    )


def _ignores_source(case: Case) -> Finding | None:
    """The held-out loss is the same with the source of another pair.

    Innocent: targets that are alike anyway, or a source that comes into use late. Ruled out: sources are exchanged
    rather than outputs compared, the loss is better than a random guess and no longer falls, and the task is not
    solved.
    """
    gain, loss = case.probes.get("source_gain"), case.loss
    if gain is None or loss is None or gain > max(_NO_GAIN, _NO_GAIN * loss):
        return None
    if case.level == "guessing" or case.trend == "falling":
        return None
    return Finding(
        kind="ignores_source",
        title=Message("Output ignores the source"),
        evidence=Message(
            "Held-out loss is {loss}; with the source of another pair it changes by {gain} only.",
            loss=nats(loss),
            gain=nats(max(gain, 0.0)),
        ),
        advice=Message("Check that each target depends on its source; then try another learning rate, or more steps."),
        severity=case.severity,
    )
