"""Whether the data leave anything to learn; told as soon as it was measured, however good the scores are."""

from transformer_core.errors import Message
from transformer_core.training.diagnosis.case import Case
from transformer_core.training.diagnosis.finding import Finding
from transformer_core.training.diagnosis.wording import nats, percent

_MOST = 1 / 2  # of the held-out tokens, or targets
_NEARLY_ALL = 0.9  # of the held-out targets
_NOTHING_OPEN = 0.02  # nats a token: the text is one token repeated, or nearly


def nothing_to_learn(case: Case) -> Finding | None:
    """Say what is wrong with the data, the first of what is."""
    return _unknown(case) or _empty(case) or _constant(case)


def _unknown(case: Case) -> Finding | None:
    """Most tokens are <unk>, so that scores compare <unk> with <unk>.

    Innocent: some rare words of a small corpus are unknown. Ruled out: it is more than half of the held-out tokens.
    """
    share = case.probes.get("unknown", 0.0)
    if share <= _MOST:
        return None
    return Finding(
        kind="unknown_tokens",
        title=Message("Most tokens are unknown"),
        evidence=Message(
            "{share} of the held-out tokens are not in the vocabulary and are replaced by <unk>; accuracy and exact "
            "match compare <unk> with <unk>.",
            share=percent(share),
        ),
        advice=Message("Use characters or subwords as tokens, or raise the vocabulary size."),
    )


def _empty(case: Case) -> Finding | None:
    """Most targets have no token.

    Innocent: a task whose right answer is often nothing. Ruled out: the model is no better than always ending at
    once.
    """
    share = case.probes.get("empty_target", 0.0)
    if share <= _MOST or _is_beaten(case, share):
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
        advice=Message("Check the data: a good score says nothing here, since there is almost nothing to predict."),
    )


def _is_beaten(case: Case, share: float) -> bool:
    """Whether exact match shows less than half of the errors of giving the same target always."""
    exact_match = case.last.outputs.get("exact_match", 0.0) if case.last else 0.0
    return 1 - exact_match < (1 - share) / 2
