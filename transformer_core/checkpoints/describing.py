"""What recognizing and describing models of several layouts has in common."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from transformer_core.checkpoints.entries import computed
from transformer_core.checkpoints.layout import Choice, Convention, Question, SavedModel
from transformer_core.checkpoints.wrappers import LazyTensors, Renamed
from transformer_core.errors import Message

DECODER_ONLY: Mapping[str, Any] = {
    "architecture": "decoder_only",
    "n_encoder_layers": 0,
    "norm_position": "pre",
    "scale_embeddings": False,
    "dropout": 0.0,
    **dict.fromkeys(("pad_id", "bos_id", "eos_id")),
}


def having(*keys: str) -> Callable[[SavedModel], Mapping[str, Tensor] | None]:
    """Return a function that recognizes a layout by keys, of which all its files have each, after a common prefix.

    It returns the tensors without that prefix; None if a key is missing.
    """

    def recognize(saved: SavedModel) -> Mapping[str, Tensor] | None:
        prefix = next((key.removesuffix(keys[0]) for key in saved.weights if f".{key}".endswith(f".{keys[0]}")), None)
        if prefix is None or any(prefix + key not in saved.weights for key in keys):
            return None
        if not prefix:
            return saved.weights
        return Renamed(
            saved.weights, {key.removeprefix(prefix): key for key in saved.weights if key.startswith(prefix)}
        )

    return recognize


class Computed(LazyTensors):
    """Weights with tensors that are computed on access, such as biases of zero, or rows in another order."""

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        functions: Mapping[str, Callable[[], Tensor]],
        *,
        without: Collection[str] = (),
    ) -> None:
        """Take functions by key, which replace tensors of these keys; tensors in `without` are left out."""
        self._weights, self._computed = weights, functions
        self._keys = dict.fromkeys([*(key for key in weights if key not in without), *functions])

    def __getitem__(self, key: str) -> Tensor:
        if key not in self._keys:
            raise KeyError(key)
        return computed(key, self._computed[key]) if key in self._computed else self._weights[key]


def changed(
    weights: Mapping[str, Tensor], keys: Iterable[str], change: Callable[[Tensor], Tensor]
) -> dict[str, Callable[[], Tensor]]:
    """Return functions for `Computed` that change the tensors of some keys."""
    return {key: lambda key=key: change(weights[key]) for key in keys}  # type: ignore[misc]


def thirds(weights: Mapping[str, Tensor], keys: Mapping[str, Sequence[str]]) -> Computed:
    """Return the weights in which some matrices are three, under new keys by the old one: queries, keys and values."""
    parts = {
        new: lambda key=key, i=i: weights[key].chunk(3)[i] for key, news in keys.items() for i, new in enumerate(news)
    }
    return Computed(weights, parts, without=keys)


def dropouts(given: Mapping[str, Any]) -> dict[str, float]:
    """Return both rates of dropout of a program that has one option for them."""
    return dict.fromkeys(("dropout", "dropout_pattern"), given.get("dropout", 0.0))


def usual(option: str, value: Choice, program: str, others: tuple[Choice, ...] = ()) -> Convention:
    """Return the convention that models of a program have a value; arguments as of `Convention`."""
    note = Message(
        "Read with {option} = {value}, as in {program}; if yours has another, choose {option}.",
        option=option,
        value=value,
        program=program,
    )
    return Convention(option, value, note, others)


def tying(tgt: Tensor, output: Tensor | None, *, src: Tensor | None = None) -> str:
    """Return which matrices are the same, as `tie_embeddings`; without `src` there is one stack."""
    if output is None or not torch.equal(tgt, output):
        return "none"
    return "target" if src is None or not torch.equal(src, tgt) else "three_way"


def special_tokens(vocab_size: int) -> list[Convention]:
    """Return the conventions for the tokens that begin and end a text."""
    note = Message("Read with {token} as {option}; its files do not record special tokens.")
    tokens = {"bos_id": min(1, vocab_size - 1), "eos_id": min(2, vocab_size - 1)}
    return [Convention(name, token, Message(note, token=token, option=name)) for name, token in tokens.items()]


def heads_question(d_model: int, *, usual: int = 64) -> Question:
    """Return the question for the number of heads: the divisors of the width, by how usual the width of a head is.

    Args:
        d_model: width of all heads together.
        usual: the most common width of a head.
    """
    divisors = [n for n in range(1, min(d_model, 256) + 1) if d_model % n == 0 and d_model // n >= min(d_model, 4)]
    by_width = sorted(divisors, key=lambda n: max(usual, d_model // n) / min(usual, d_model // n))
    return Question(
        "n_heads", tuple(by_width), Message("The tensors contain all heads side by side, not their number.")
    )


def usual_heads(d_model: int, n_heads: int, name: str) -> Convention:
    """Return the convention for the number of heads of a model of usual width."""
    note = Message(
        "Read with {n_heads} heads, the usual number of {name} for a width of {d_model}; if yours has another, choose "
        "n_heads.",
        n_heads=n_heads,
        name=name,
        d_model=d_model,
    )
    return Convention("n_heads", n_heads, note, tuple(n for n in heads_question(d_model).candidates if n != n_heads))


def n_layers(weights: Mapping[str, Tensor], before: str, after: str) -> int:
    """Return how many keys begin and end so: one per layer."""
    return sum(key.startswith(before) and key.endswith(after) for key in weights)
