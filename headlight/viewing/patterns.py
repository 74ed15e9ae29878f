"""The record of attention patterns that another library computed: arrays with the labels of their rows and columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float

from transformer_core.errors import ArgumentError, Message

Kind = Literal["encoder", "decoder", "cross"]
"""As the names of ATTENTIONS: self-attention without and with a causal mask, and attention to another sequence."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AttentionPatterns:
    """The patterns of one attention of a model on one input.

    Raises:
        ArgumentError: the number of labels or layer numbers does not match the array.
    """

    name: str  # unique within a record: "encoder", "decoder", "cross", or with the part's name, as "vision_tower"
    kind: Kind
    patterns: Float[np.ndarray, "layer head query key"]  # each row sums to 1, or is all 0
    queries: Sequence[str]  # a label for each query: a token, "row 2, column 5" of a patch, or "0.06 s" of a frame
    keys: Sequence[str]
    layers: Sequence[int]  # the number in the model of each layer, as some layers of a model may have no attention
    heads: Sequence[int] | None = None  # the number in the model of each head; None: all, from 0
    mask: Bool[np.ndarray, "layer query key"] | None = None  # True = may attend; None: unknown
    special: Sequence[bool] | None = None  # for each key, whether it is a special token; None: unknown

    def __post_init__(self) -> None:
        shape = self.patterns.shape
        sizes = (len(self.layers), len(self.queries), len(self.keys))
        if len(shape) != 4 or (shape[0], *shape[2:]) != sizes:
            raise ArgumentError(
                "the attention {name} has patterns [layer, head, query, key] of shape {shape}, but {n_layers} layer "
                "numbers, {n_queries} labels of queries and {n_keys} of keys; give one for each",
                name=self.name,
                shape=shape,
                n_layers=sizes[0],
                n_queries=sizes[1],
                n_keys=sizes[2],
            )

    def __repr__(self) -> str:
        """Return the name and the sizes."""
        n_layers, n_heads, n_queries, n_keys = self.patterns.shape
        return f"{self.name}: {n_layers} layers x {n_heads} heads, {n_queries} x {n_keys} tokens"


def as_array(values: Any) -> Float[np.ndarray, "..."]:
    """Return numbers, which may be a tensor on any device, in single precision."""
    values = values.detach().float().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)
    return values.astype(np.float32, copy=False)


def is_causal(patterns: Float[np.ndarray, "layer head query key"]) -> bool:
    """Return whether no query attends to a later key, in any head."""
    n_queries, n_keys = patterns.shape[2:]
    return not np.any(patterns[:, :, ~np.tri(n_queries, n_keys, n_keys - n_queries, dtype=bool)])


@dataclass(frozen=True, kw_only=True)
class DecodingSteps:
    """The tokens that a decoder generated: query `first_query` + i determined token i."""

    first_query: int
    tokens: Sequence[str]  # labels
    probabilities: Sequence[float]  # in [0, 1]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PatternRecord:
    """The patterns of all attentions of a model on one input, and the library that computed them."""

    attentions: Mapping[str, AttentionPatterns]  # by name
    model: str  # the name of the model's class
    computed_by: Message  # a sentence
    notes: Sequence[Message] = ()  # sentences on what is not shown, such as layers without attention
    steps: DecodingSteps | None = None  # None: nothing was generated, or it is not known

    def __repr__(self) -> str:
        """Return the attentions and their sizes."""
        return f"PatternRecord({self.model}: {'; '.join(map(repr, self.attentions.values()))})"
