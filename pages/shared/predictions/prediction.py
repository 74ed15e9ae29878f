"""An edit, what a learner predicts of it, and what happened, judged by the numbers that the page shows."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from jaxtyping import Float

from headlight.language import localized
from transformer_core.errors import Message

NEGLIGIBLE = 0.01  # largest change of probability at which an output counts as unchanged
TIE = 0.005  # changes nearer to each other than this count as equal, as with two decimals they look
LOWEST, HIGHEST = 0, 100  # range of the confidence, in percent
MOST_OUTPUTS = 10_000  # in a prediction that is read back


@dataclass(frozen=True, kw_only=True, eq=False)
class PredictedEdit:
    """An edit of a model or of its input, and the probability of each output token before and after it."""

    of: str  # what identifies it besides its labels: model, text and edit
    labels: Sequence[str]  # of the output tokens
    before: Float[np.ndarray, " output"]  # in [0, 1]
    after: Float[np.ndarray, " output"]  # in [0, 1]

    @property
    def name(self) -> str:
        """A short name under which a browser can keep what was predicted of it."""
        return blake2b(repr((self.of, *self.labels)).encode(), digest_size=8).hexdigest()

    @property
    def changes(self) -> Float[np.ndarray, " output"]:
        """By how much each probability changes, after minus before."""
        return self.after.astype(np.float64) - self.before.astype(np.float64)

    @property
    def most_changed(self) -> int:
        """The output whose probability rises or falls most; the first of several that change equally."""
        return int(np.abs(self.changes).argmax())

    @property
    def changes_something(self) -> bool:
        """Whether the probability of an output changes by more than `NEGLIGIBLE`."""
        return bool(np.abs(self.changes).max() > NEGLIGIBLE)


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What was predicted of an edit, and whether that was correct."""

    guess: int | None  # the output that changes most; None: none changes by more than `NEGLIGIBLE`
    probability: float | None  # that this output has afterwards, in [0, 1]; None where none was named
    confidence: int  # percent, from `LOWEST` to `HIGHEST`
    is_right: bool
    error: float | None  # predicted minus actual probability of the named output

    def payload(self) -> dict[str, Any]:
        """Return it as JSON says it."""
        return asdict(self)

    @classmethod
    def from_payload(cls, kept: object) -> "Prediction | None":
        """Return a prediction that a browser kept; None where it is none."""
        if not isinstance(kept, dict) or kept.keys() != cls.__dataclass_fields__.keys():
            return None
        guess, probability, confidence, is_right, error = (kept[name] for name in cls.__dataclass_fields__)
        is_named = type(guess) is int and _is_within(probability, 0, 1) and _is_within(error, -1, 1)
        is_known = type(confidence) is int and LOWEST <= confidence <= HIGHEST and isinstance(is_right, bool)
        if is_known and ((is_named and 0 <= guess <= MOST_OUTPUTS) or guess is probability is error is None):
            return cls(**kept)
        return None


def judge(edit: PredictedEdit, guess: int | None, probability: float | None, confidence: int) -> Prediction:
    """Return a prediction with its outcome.

    It is correct if the named output changes as much as any, up to `TIE`, and one by more than `NEGLIGIBLE`, or if
    none was named and none does.

    Args:
        edit: with the probabilities before and after it.
        guess: the output that is predicted to change most; None: none changes by more than `NEGLIGIBLE`.
        probability: that it is predicted to have afterwards; None where none is named.
        confidence: percent.
    """
    if guess is None:
        return Prediction(
            guess=None, probability=None, confidence=confidence, is_right=not edit.changes_something, error=None
        )
    assert probability is not None, "a named output has a predicted probability"
    sizes = np.abs(edit.changes)
    is_right = edit.changes_something and bool(sizes[guess] > sizes.max() - TIE)
    error = probability - float(edit.after[guess])
    return Prediction(guess=guess, probability=probability, confidence=confidence, is_right=is_right, error=error)


def verdict(edit: PredictedEdit, prediction: Prediction) -> Message:
    """Return a sentence or two on what was predicted and what happened."""
    most, guess = edit.most_changed, prediction.guess
    values: dict[str, Any] = {
        "confidence": prediction.confidence,
        "least": localized(NEGLIGIBLE, "g"),
        "change": localized(abs(edit.changes[most]), ".3f"),
    } | _told("actual", edit, most)
    if guess is None or prediction.probability is None:
        if prediction.is_right:
            return Message(
                "Correct: you predicted ({confidence}% sure) that no output changes by more than {least}. The largest "
                "change is {change}, for “{actual}”.",
                **values,
            )
        return Message(
            "You predicted ({confidence}% sure) that no output changes by more than {least}; but “{actual}” changes "
            "from {actual_before} to {actual_after}.",
            **values,
        )
    values = values | _told("guess", edit, guess) | {"predicted": localized(prediction.probability, ".2f")}
    if prediction.is_right:
        return Message(
            "Correct: “{guess}” changes most, from {guess_before} to {guess_after}. You predicted {predicted} "
            "({confidence}% sure).",
            **values,
        )
    if not edit.changes_something:
        return Message(
            "You predicted ({confidence}% sure) that “{guess}” changes most, to {predicted}; but no output changes by "
            "more than {least}. “{guess}” goes from {guess_before} to {guess_after}.",
            **values,
        )
    return Message(
        "You predicted ({confidence}% sure) that “{guess}” changes most, to {predicted}; it goes from {guess_before} "
        "to {guess_after}. “{actual}” changes most, from {actual_before} to {actual_after}.",
        **values,
    )


def numbered(labels: Sequence[str], place: int) -> str:
    """Return an output token, with its index if the same token occurs more than once."""
    label = labels[place]
    return f"{label} ({place})" if [*labels].count(label) > 1 else label


def _is_within(value: object, lowest: float, highest: float) -> bool:
    return type(value) in (int, float) and lowest <= value <= highest  # type: ignore[operator]


def _told(name: str, edit: PredictedEdit, place: int) -> dict[str, str]:
    before, after = float(edit.before[place]), float(edit.after[place])
    decimals = 2 if f"{before:.2f}" != f"{after:.2f}" else 3
    return {
        name: numbered(edit.labels, place),
        f"{name}_before": localized(before, f".{decimals}f"),
        f"{name}_after": localized(after, f".{decimals}f"),
    }
