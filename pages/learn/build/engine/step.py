"""What one of the twelve lines is: its name, what it computes, its solution, hints, and the mistakes that are known.

A solution and a mistake are lines of the learner's language, so that both run in the interpreter.
"""

from dataclasses import dataclass

from transformer_core.errors import Message, mark

NO_BIAS = mark("The bias is missing: add {bias} to the product.")
OTHERS = mark("These are the {others}: use {weight} and {bias} in this line.")
NOT_MEMORY = mark("Queries come from x, the decoder’s tokens, not from memory.")
NOT_X = mark("In cross-attention, keys and values come from memory, the encoder’s output, not from x.")
UNROTATED = mark("The rotary embedding is missing: this model applies rotate(…) to queries and keys.")
ROTATED = mark("Values are not rotated: only queries and keys are.")
COLUMNS = mark("This works along the columns (dim=0). Each row belongs to one query: use dim=-1.")
KEEPDIM = mark(
    "Without keepdim=True the results of the rows form a single row, so each column uses the value of a different "
    "query."
)
UNSCALED = mark("The scaling is missing: all scores are too large by the factor √d_k.")
UNMASKED = mark("The mask is missing: queries attend to keys that they must not see.")
INVERTED = mark("The mask is inverted: this fills the cells that are allowed. Use ~mask.")
KEYS_FOR_VALUES = mark("This sums the keys: the pattern weights the values, v.")
NO_POSITIONS = mark("The position bias is missing: this model adds it to the scaled scores.")


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What differs between the attentions of the models."""

    is_cross: bool = False  # keys and values come from the encoder's output, `memory`
    is_rotated: bool = False  # queries and keys have rotary embeddings: `rotate`
    has_bias: bool = False  # positions add to the scores: `bias` of the head, `biases` of all heads


@dataclass(frozen=True, kw_only=True)
class Step:
    """One of the twelve lines."""

    name: str  # of the variable that it assigns
    title: str  # marked, as are `task` and `hint`
    task: str
    hint: str
    line: str  # the solution, without the name
    shapes: str  # how the shapes of the solution fit: {q} stands for q, a line as well, and its shape
    axes: tuple[str, ...]  # of the result
    mistakes: tuple[tuple[str, str | Message], ...]  # wrong lines and why; "": not of this attention

    @property
    def solution(self) -> str:
        """The line with the name that it assigns."""
        return f"{self.name} = {self.line}"
