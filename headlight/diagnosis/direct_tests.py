"""The rules for the direct tests of a model (training/probes.py): its data, leaks of the answers, its outputs."""

from headlight.diagnosis.case import Case
from headlight.diagnosis.finding import Finding, more_steps, nats, percent
from transformer_core.errors import Message

_HALF = 1 / 2  # of the held-out tokens or targets, of a probability, or of the outputs
_NEARLY_ALL = 0.9  # of the held-out targets
_NOTHING_OPEN = 0.02  # nats a token: the text is one token repeated, or nearly
_DROP = 0.05  # of the accuracy of a decoder: a causal one loses nothing at all
_DROP_OF_MASKED = 0.3  # of an encoder: 10 % of the chosen tokens are kept, which helps a little
_GAP = 0.3  # between the accuracy with teacher forcing and exact match, where that is measured
_NO_GAIN = 0.02  # of the held-out loss, or in nats if that is more: a source with a smaller effect is not used


def nothing_to_learn(case: Case) -> Finding | None:
    """Report the first fault of the data, however good the scores are."""
    return _unknown(case) or _empty(case) or _constant(case)


def _unknown(case: Case) -> Finding | None:
    """Most tokens are unknown, so that scores compare the unknown token with itself.

    Innocent: some rare words of a small corpus are unknown. Ruled out: it is more than half of the held-out tokens.
    """
    share = case.probes.get("unknown", 0.0)
    if share <= _HALF:
        return None
    return Finding(
        kind="unknown_tokens",
        title=Message("Most tokens are unknown"),
        evidence=Message(
            "{share} of the held-out tokens are not in the vocabulary and are replaced by the unknown token; accuracy "
            "and exact match count it as correct where the model predicts it.",
            share=percent(share),
        ),
        advice=Message("Use characters or subwords as tokens, or raise the vocabulary size."),
    )


def _empty(case: Case) -> Finding | None:
    """Most targets have no token.

    Innocent: a task whose correct answer is often nothing. Ruled out: the model is no better than always ending at
    once.
    """
    share = case.probes.get("empty_target", 0.0)
    if share <= _HALF or _is_beaten(case, share):
        return None
    return Finding(
        kind="empty_targets",
        title=Message("Empty targets"),
        evidence=Message("{share} of the held-out targets are empty.", share=percent(share)),
        advice=Message("Check the file: each line must be a source, one tab, and a target."),
    )


def _constant(case: Case) -> Finding | None:
    """Nearly all targets are the same, or a text is one token repeated.

    Innocent: an unbalanced task. Ruled out: the model makes at least half of the errors of always giving that target.
    """
    share, unigram = case.probes.get("same_target", 0.0), case.unigram_entropy
    if share >= _NEARLY_ALL and not _is_beaten(case, share):
        sign = Message("{share} of the held-out targets are the same.", share=percent(share))
    elif unigram is not None and unigram < _NOTHING_OPEN:
        sign = Message("Token frequencies alone give a loss of {unigram}.", unigram=nats(unigram))
    else:
        return None
    return Finding(
        kind="constant_targets",
        title=Message("Nearly constant targets"),
        evidence=sign,
        advice=Message("Check the data: a good score means nothing here, because there is almost nothing to predict."),
    )


def _is_beaten(case: Case, share: float) -> bool:
    """Whether exact match shows less than half of the errors of always giving the same target."""
    exact_match = case.last.outputs.get("exact_match", 0.0) if case.last else 0.0
    return 1 - exact_match < (1 - share) / 2


def leaks(case: Case) -> Finding | None:
    """Report that predictions rest on the tokens that they predict.

    Innocent: an easy task has a low loss, and a good model may still make one error in most outputs; words may be
    compared in another spelling. Ruled out: accuracy must fall when the answers are hidden, which changes nothing in
    a model that cannot see them, and free-running exact match must be far below the accuracy.
    """
    seen, hidden = case.probes.get("seen_accuracy"), case.probes.get("hidden_accuracy")
    drop = _DROP_OF_MASKED if case.architecture == "encoder_only" else _DROP
    if seen is None or hidden is None or seen - hidden < drop:
        return None
    exact_match = case.last.outputs.get("exact_match") if case.last else None
    if exact_match is not None and seen - exact_match < _GAP:
        return None
    evidence = Message(
        "On training data {seen} of the predicted tokens are correct, but only {hidden} when the answers are hidden "
        "from the model.",
        seen=percent(seen),
        hidden=percent(hidden),
    )
    if exact_match is not None:
        without = Message("Exact match without teacher forcing is {share}.", share=percent(exact_match))
        evidence = Message.joined(" ", (evidence, without))
    return Finding(
        kind="target_leakage",
        title=Message("Possible target leakage"),
        evidence=evidence,
        advice=(
            Message("Check the masked tokens: each must be replaced in the input, and count as a target.")
            if case.architecture == "encoder_only"
            else Message(
                "Check that the decoder input is the target shifted right by one, <bos> first, and that the causal "
                "mask hides later tokens."
            )
        ),
    )


def wrong_outputs(case: Case) -> list[Finding]:
    """Report what is wrong with the outputs of a model that has not learnt its task."""
    if case.is_good:
        return []
    return [*filter(None, (_ends_at_once(case) or _never_ends(case), _ignores_source(case)))]


def _ends_at_once(case: Case) -> Finding | None:
    """<eos> is the most probable token where texts continue.

    Innocent: a prompt that is a whole text, or a target that is empty; to end is correct there. Ruled out: the
    probability is taken only where the held-out text continues.
    """
    probability = case.probes.get("early_end", 0.0)
    if probability <= _HALF:
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

    Innocent: long answers that are cut for lack of room; a decoder may continue forever. Ruled out: there is room for
    one more than the longest target's tokens, and only encoder-decoders are judged.
    """
    share = case.probes.get("cut_outputs", 0.0)
    if share < _HALF:
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
            "Held-out loss is {loss}; replacing the source with that of another pair changes it by only {gain}.",
            loss=nats(loss),
            gain=nats(max(gain, 0.0)),
        ),
        advice=Message("Check that each target depends on its source; then try another learning rate, or more steps."),
        severity=case.severity,
    )
