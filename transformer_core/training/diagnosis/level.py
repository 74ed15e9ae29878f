"""What a loss amounts to: what else would reach it."""

from transformer_core.training.diagnosis.case import Case
from transformer_core.training.diagnosis.finding import Finding, FindingKind, Severity
from transformer_core.training.diagnosis.wording import more_steps, nats, percent, setting

_NEAR = 3.0  # times the usual learning rate, or a third of it: what lies between is not worth another try


def too_little_learnt(case: Case) -> Finding | None:
    """Say so where a table of counts would do as well as the model."""
    if case.is_good or not case.is_poor:
        return None
    severity: Severity = "problem" if case.is_settled else "note"
    kinds: dict[str, tuple[FindingKind, str]] = {
        "guessing": ("no_better_than_guessing", "No better than guessing"),
        "frequency": ("guesses_by_frequency", "It goes by how often tokens come"),
        "one_back": ("looks_one_token_back", "It looks one token back at most"),
    }
    kind, title = kinds[case.level or ""]
    evidence = f"{_loss_in_words(case)}, {_comparison(case)}."
    return Finding(kind=kind, title=title, evidence=evidence, advice=_advice(case), severity=severity)


def well(case: Case) -> Finding | None:
    """Say so where the model has learnt its task, with the number."""
    if not case.is_good:
        return None
    below = f", below the {nats(case.bigram)} of a table of which token follows which" if case.bigram else ""
    loss = f"{_loss_in_words(case)}{below if case.level == 'beyond' else ''}."
    if case.judged:
        loss = f"{_success(*case.judged)}; {_first_small(loss)}"
    return Finding(
        kind="well",
        title="All is well",
        evidence=loss,
        advice="Keep it, and look at it on the page Heads: it shows where each head looks.",
        severity="fine",
    )


def nothing_unusual(case: Case) -> Finding:
    """Say that nothing stands out, where there is no more to say."""
    loss = _loss_in_words(case) if case.loss is not None else "No loss was measured"
    return Finding(
        kind="nothing_unusual",
        title="Nothing unusual",
        evidence=f"{loss}, and nothing in the curves or in what it writes points to a fault.",
        advice=f"If that is not enough yet, {_first_small(more_steps(case))}.",
        severity="note",
    )


def _success(measure: str, share: float) -> str:
    if measure == "determined_accuracy":
        return f"{percent(share)} of what can be known is right"
    by = "" if measure == "exact_match" else f" by the measure “{measure.replace('_', ' ')}”"
    return f"{percent(share)} of its outputs are right{by}"


def _loss_in_words(case: Case) -> str:
    if case.last:
        return f"Held-out loss is {nats(case.last.loss)} at step {case.last.step:,}"
    at_most = "at most " if case.evidence.label_smoothing else ""
    return f"Training loss is {at_most}{nats(case.training_loss or 0.0)} without smoothing at step {case.steps_done:,}"


def _comparison(case: Case) -> str:
    even, unigram, bigram = nats(case.evidence.even_entropy), case.unigram, case.bigram
    if case.level == "guessing":
        return f"and {even} is what an even guess among {case.evidence.vocab_size:,} tokens gives"
    if case.level == "frequency":
        return f"and {nats(unigram or 0.0)} is what the frequencies of the tokens alone give"
    return (
        f"while the frequencies of the tokens alone give {nats(unigram or 0.0)}, and a table of which token follows "
        f"which {nats(bigram or 0.0)}"
    )


def _advice(case: Case) -> str:
    ratio = case.rate_ratio
    if ratio is not None and not 1 / _NEAR <= ratio <= _NEAR and not case.is_rate_rising:
        return (
            f"Learning rate: try {setting(case.usual_factor)} (now {setting(case.evidence.learning_rate_factor)}), "
            "which is usual for a model of this width."
        )
    if case.trend == "falling":
        return f"{more_steps(case)}; the loss is still falling."
    if not case.is_settled:
        return f"{more_steps(case)}; it may only be the beginning."
    if case.level == "guessing":
        return "Check the Targets and the Mask: what each place is to say, and what it may see for that."
    if case.evidence.architecture == "encoder_decoder":
        return "Check that each target truly depends on its source, and that the Mask lets the decoder see all of that."
    return "Check that the Mask lets each place see the tokens further back; then try more Layers."


def _first_small(text: str) -> str:
    return text[0].lower() + text[1:]
