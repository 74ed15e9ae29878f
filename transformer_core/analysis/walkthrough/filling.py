"""Formulas filled in with numbers: sums of products, normalizations, turns, and the rest that a block is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import SupportsFloat

import numpy as np
from jaxtyping import Float

from transformer_core.analysis.walkthrough.arithmetic import (
    ACTIVATIONS,
    Weights,
    norm_statistics,
    rotary_angles,
    rotary_pairs,
)
from transformer_core.analysis.walkthrough.records import Term
from transformer_core.config import ModelConfig

Row = Float[np.ndarray, " column"]


@dataclass(frozen=True, kw_only=True)
class Formula:
    """How a number is made; the fields are those of `Number`."""

    rule: str
    factors: tuple[str, ...]
    terms: tuple[Term, ...]
    over: str = ""
    constants: Mapping[str, float] = field(default_factory=dict)
    note: str | None = None


def term(label: str, a: SupportsFloat, b: SupportsFloat | None = None) -> Term:
    """Return one summand: a, or a times b."""
    if b is None:
        return Term(label=label, a=float(a), b=None, value=float(a))
    return Term(label=label, a=float(a), b=float(b), value=float(a) * float(b))


def dots(a: Row, b: Row, factors: tuple[str, str], over: str, labels: Sequence[str] = ()) -> Formula:
    """Return a sum of products.

    Args:
        a: the first factors.
        b: the second ones.
        factors: their symbols.
        over: what they are counted by.
        labels: of the summands; none: their numbers.
    """
    names = labels or [str(i) for i in range(len(a))]
    pairs = zip(names, a.tolist(), b.tolist(), strict=True)
    terms = tuple(Term(label=label, a=left, b=right, value=left * right) for label, left, right in pairs)
    return Formula(rule="sum of products", factors=factors, over=over, terms=terms)


def linear(weights: Weights, module: str, x: Row, index: int, over: str) -> Formula:
    """Return a number of a projection: a row times a row of the weights as torch keeps them, plus the bias."""
    summed = dots(x, weights.row(f"{module}.weight", index), ("x", "w"), over)
    bias = weights.bias(module)
    if bias is None:
        return summed
    constants = {"b": float(bias[index])}
    return Formula(
        rule="sum of products and bias", factors=summed.factors, over=over, terms=summed.terms, constants=constants
    )


def normalized(weights: Weights, module: str, parts: Mapping[str, Row], index: int, config: ModelConfig) -> Formula:
    """Return a number of the sum of some rows, normalized.

    Args:
        weights: of the block.
        module: path of the normalization.
        parts: the rows that are added up, by symbol.
        index: which number of the row.
        config: of the model.
    """
    mean, deviation = norm_statistics(np.sum(list(parts.values()), axis=0), config)
    bias = weights.bias(module)
    is_rms = config.norm == "rms"
    constants = {"rms": float(deviation[0])} if is_rms else {"μ": float(mean[0]), "σ": float(deviation[0])}
    constants["γ"] = float(weights[f"{module}.weight"][index])
    if bias is not None:
        constants["β"] = float(bias[index])
    rule = "rms norm" if is_rms else "layer norm" if bias is not None else "layer norm without bias"
    return Formula(rule=rule, factors=("x",), terms=parts_of(parts, index), constants=constants)


def added(parts: Mapping[str, Row], index: int) -> Formula:
    """Return a number of the sum of some rows."""
    return Formula(rule="sum", factors=("a",), terms=parts_of(parts, index))


def parts_of(parts: Mapping[str, Row], index: int) -> tuple[Term, ...]:
    """Return the same number of several rows, by symbol."""
    return tuple(term(symbol, part[index]) for symbol, part in parts.items())


def turned(x: Row, position: int, index: int, config: ModelConfig) -> Formula:
    """Return a number of a pair that is turned by its position, or one that is left as it is."""
    first, second = (side.tolist() for side in rotary_pairs(config))
    if index not in (*first, *second):
        return Formula(rule="the same", factors=("a",), terms=(term(str(index), x[index]),))
    is_first = index in first
    pair = (first if is_first else second).index(index)
    i, j = first[pair], second[pair]
    angle = float(rotary_angles(config, position + 1)[position, pair])
    cos, sin = np.cos(angle), np.sin(angle)
    by = (cos, -sin) if is_first else (sin, cos)
    return Formula(
        rule="sum of products",
        factors=("a", "cos θ, −sin θ" if is_first else "sin θ, cos θ"),
        over="d_head",
        terms=(term(str(i), x[i], by[0]), term(str(j), x[j], by[1])),
        constants={"θ": angle},
    )


def softmax_share(scores: Row, index: int, labels: Sequence[str], note: str | None) -> Formula:
    """Return e to a score over the sum of these of a whole row; both shifted by the largest score."""
    if not np.isfinite(scores[index]):
        return Formula(rule="forbidden", factors=(), terms=(), note=note)
    allowed = np.flatnonzero(np.isfinite(scores)).tolist()
    highest = float(scores.max())
    terms = tuple(
        Term(label=labels[key], a=float(scores[key]), b=None, value=float(np.exp(float(scores[key]) - highest)))
        for key in allowed
    )
    constants = {"S": float(scores[index]), "max": highest, "Σ exp": sum(one.value for one in terms)}
    return Formula(rule="exp over sum of exps", factors=("S",), over="key", terms=terms, constants=constants, note=note)


def activated(pre: float, gated: float | None, config: ModelConfig) -> Formula:
    """Return a neuron: the activation of a number, times what the gate is for."""
    value = float(ACTIVATIONS[config.activation](np.array(pre)))
    if gated is None:
        return Formula(
            rule=config.activation, factors=("H₀",), terms=(Term(label="H₀", a=float(pre), b=None, value=value),)
        )
    one = Term(label="H₀, H₁", a=float(pre), b=float(gated), value=value * float(gated))
    return Formula(rule=f"{config.activation} · b", factors=("H₀", "H₁"), terms=(one,))
