"""The records of a walk through one head: stages, quantities, numbers with their formulas, and the proof."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np
from jaxtyping import Float

Note = Literal["allowed", "later", "outside window", "padding", "no key", "not rotated", "intervention"]
"""Why a query may attend to a key or not; or why a number is what it is: its query may attend to no key, RoPE does not
rotate its dimension, or an intervention set it."""

TorchReason = Literal["rotary", "norm", "intervention", "width"]
"""Why `torch.nn.MultiheadAttention` is not compared: what it lacks, or an intervention inside the attention."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One step on the way from the tokens' vectors to what the layer passes on."""

    name: str  # short and stable, for addresses
    formula: str  # in the notation of `formula_tree`; it holds no word that would be translated
    notice: str  # what is to be noticed of it: its name, or that of a case, such as "mask of padding"
    matrices: tuple[str, ...]  # names of the quantities that it shows, what goes in first, what comes out last


@dataclass(frozen=True, kw_only=True, eq=False)
class WalkInputs:
    """What a walk starts from."""

    keys: tuple[int, ...]  # selected tokens
    x_parts: Mapping[str, Float[np.ndarray, "query d_model"]]  # what the attention's input is the sum of, by site
    memory_parts: Mapping[str, Float[np.ndarray, "key d_model"]]  # likewise of the encoder's output, if it looks at it


@dataclass(frozen=True)
class Description:
    """What is the same of a quantity in all models."""

    symbol: str  # such as "Q Kᵀ"
    columns: str  # what a column is: "key", "d_head", "head d_head", "d_model" or "d_ff"
    rows: str = "query"  # what a row is: "query" or "key"


@dataclass(frozen=True, kw_only=True, eq=False)
class Quantity(Description):
    """A matrix of the walk, with the model's own numbers; of the chosen head where there are heads."""

    name: str
    values: Float[np.ndarray, "row column"]  # the mask as 1 = may attend and 0; scores -inf where forbidden
    site: str | None  # the hook point that it was captured at; None where the model never holds it on its own


@dataclass(frozen=True, kw_only=True)
class Term:
    """One summand of a number."""

    label: str  # the index along what is summed over, with the token where that is one
    a: float
    b: float | None  # None: there is no second factor
    value: float  # what it adds


@dataclass(frozen=True, kw_only=True)
class Formula:
    """How a number is made; the fields are those of `Number`."""

    formula: str
    factors: tuple[str, ...] = ()
    over: str = ""
    terms: tuple[Term, ...] = ()
    constants: Mapping[str, float] = field(default_factory=dict)
    note: Note | None = None

    def plus(self, symbol: str, value: float) -> Self:
        """Return the formula with one more number added."""
        return replace(self, formula=f"{self.formula} + {symbol}", constants={**self.constants, symbol: value})


@dataclass(frozen=True, kw_only=True)
class Number:
    """One number of a walk, its formula filled in with the model's numbers that it was made of."""

    name: str  # of the quantity
    symbol: str
    row: int
    column: int
    row_kind: str  # as `Description.rows`
    column_kind: str
    row_place: str  # index and token, such as "3 'it'", or "3 'it' → 1 'cat'"
    column_place: str
    value: float  # the model's
    recomputed: float  # by the same modules in float64
    mha: float | None  # torch.nn.MultiheadAttention's, or its substitute in the proof; None if there is none
    formula: str  # in the notation of `formula_tree`; where it has several sides, each makes the number
    factors: tuple[str, ...]  # symbols in the sum of the formula: those of the terms' a and b
    over: str  # what the sum is over: a kind of place; "" where there is no sum
    terms: tuple[Term, ...]  # of the sum
    constants: Mapping[str, float]  # all other inputs, by their notation in the formula
    note: Note | None = None

    @property
    def difference(self) -> float:
        """How far the model's number is from the recomputed one; 0 where both are the same infinity."""
        return 0.0 if self.value == self.recomputed else abs(self.value - self.recomputed)


@dataclass(frozen=True, kw_only=True)
class Proof:
    """All numbers of a walk, held against two other computations; against float64 alone where torch has none."""

    n_numbers: int
    errors: Mapping[str, float]  # by quantity: the largest distance to float64; infinite where one is no number
    largest: float  # of them all
    worst: str  # the quantity that is nearest to, or farthest beyond, what its size allows
    share_of_tolerance: float  # how much of what is allowed that quantity takes; above 1 the proof fails
    tolerance: float  # allowed for numbers of size 1; in proportion more for larger ones
    torch_function: str  # what torch's numbers come from, such as "torch.nn.MultiheadAttention"
    torch_errors: Mapping[str, float]  # by quantity: the largest distance to torch's numbers; empty where it has none
    torch_reason: TorchReason | None  # why MultiheadAttention is not compared; None where it is
    torch_worst: str  # as `worst`, against torch; "" where it has no numbers
    torch_share_of_tolerance: float
    dtype: str  # that the model computes in, such as "float32"
    device: str

    @property
    def holds(self) -> bool:
        """Whether every number agrees with both, as far as the precision allows."""
        return self.share_of_tolerance <= 1 and self.torch_share_of_tolerance <= 1

    @property
    def torch_largest(self) -> float:
        """The largest distance to torch's numbers; 0 where it has none."""
        return max(self.torch_errors.values(), default=0.0)


DESCRIPTIONS: Mapping[str, Description] = {
    "x": Description("X", "d_model"),
    "x_normalized": Description("X′", "d_model"),
    "memory": Description("M", "d_model", "key"),
    "q_projected": Description("Q₀", "d_head"),
    "k_projected": Description("K₀", "d_head", "key"),
    "q_normalized": Description("Q₁", "d_head"),
    "k_normalized": Description("K₁", "d_head", "key"),
    "q": Description("Q", "d_head"),
    "k": Description("K", "d_head", "key"),
    "v": Description("V", "d_head", "key"),
    "product": Description("Q Kᵀ", "key"),
    "scaled": Description("Q Kᵀ / √d_k", "key"),
    "bias": Description("B", "key"),
    "biased": Description("Q Kᵀ / √d_k + B", "key"),
    "mask": Description("mask", "key"),
    "attn_scores": Description("S", "key"),
    "pattern": Description("A", "key"),
    "z": Description("Z", "d_head"),
    "concat": Description("Concat", "head d_head"),
    "attn_out": Description("O", "d_model"),
    "resid_mid": Description("R", "d_model"),
    "normalized": Description("R′", "d_model"),
    "cross_x": Description("Rc", "d_model"),
    "cross_concat": Description("Concat_c", "head d_head"),
    "cross_out": Description("C", "d_model"),
    "resid_mid_cross": Description("R + C", "d_model"),
    "normalized_cross": Description("(R + C)′", "d_model"),
    "mlp_pre": Description("H₀", "d_ff"),
    "mlp_linear": Description("H₁", "d_ff"),
    "mlp_post": Description("H", "d_ff"),
    "mlp_out": Description("F", "d_model"),
    "resid_post": Description("R₂", "d_model"),
    "out": Description("Y", "d_model"),
}

PAIRS: Mapping[str, Description] = {  # of one query and one key each; computed where one looks
    "elementwise": Description("q ⊙ k", "d_head", "query key"),
    "weighted": Description("A v", "d_head", "query key"),
}


def pair_factors(
    values: Mapping[str, Float[np.ndarray, "_ _"]], name: str, query: int
) -> tuple[Float[np.ndarray, "key d_head"], Float[np.ndarray, "key d_head"]]:
    """Return the factors of a row of `PAIRS`: a query and each key, or the weight of each key and its value.

    Args:
        values: of the walk, by quantity.
        name: "elementwise" or "weighted".
        query: whose row.
    """
    if name == "elementwise":
        return np.broadcast_to(values["q"][query], values["k"].shape), values["k"]
    return np.broadcast_to(values["pattern"][query][:, None], values["v"].shape), values["v"]
