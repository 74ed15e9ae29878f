"""Whether the model is given the answer that it is to predict."""

from transformer_core.errors import Message
from transformer_core.training.diagnosis.case import Case
from transformer_core.training.diagnosis.finding import Finding
from transformer_core.training.diagnosis.wording import percent

_DROP = 0.05  # of the accuracy of a decoder: a causal one loses nothing at all
_DROP_OF_MASKED = 0.3  # of an encoder: 10 % of the chosen tokens are kept, which helps a little
_GAP = 0.3  # between the accuracy with teacher forcing and exact match, where that is measured


def leaks(case: Case) -> Finding | None:
    """Say that predictions rest on the very tokens that they predict.

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
        "On training data {seen} of the predicted tokens are right, but only {hidden} when the answers are hidden from "
        "the model.",
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
