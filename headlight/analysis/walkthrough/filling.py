"""Formulas filled in with numbers: sums of products, normalizations, rotations, and the rest of a block.

A formula is written as `formula_tree` reads it. The values of its symbols come with it: in `constants` by
notation, or, for symbols within the sum, in each of the `terms`.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float

from headlight.analysis.walkthrough.outline import Formula, Note, SumTerm
from transformer_core.config import ModelConfig
from transformer_core.model.rotary import rotary_frequencies
from transformer_core.model.transformer import Transformer


class Weights:
    """Parameters of a model by path, stored in their own precision and returned as float64."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Hold arrays, in any precision."""
        self._arrays = arrays

    @classmethod
    def of(cls, model: Transformer, modules: Iterable[str]) -> "Weights":
        """Return the parameters of the modules at some paths; parameters on the CPU are not copied."""
        prefixes = tuple(f"{module}." for module in modules)
        parameters = model.named_parameters()
        of_modules = {name: value.detach().cpu() for name, value in parameters if name.startswith(prefixes)}
        return cls({name: (x if x.dtype == torch.float64 else x.float()).numpy() for name, x in of_modules.items()})

    def __getitem__(self, name: str) -> Float[np.ndarray, "..."]:
        """Return a parameter in float64."""
        return self._arrays[name].astype(np.float64)

    def __contains__(self, module: str) -> bool:
        """Return whether a module has weights."""
        return f"{module}.weight" in self._arrays

    def row(self, name: str, index: int) -> Float[np.ndarray, " column"]:
        """Return one row of a parameter in float64."""
        return self._arrays[name][index].astype(np.float64)

    def columns(self, name: str, first: int, n: int) -> Float[np.ndarray, "row column"]:
        """Return neighbouring columns of a parameter in float64."""
        return self._arrays[name][:, first : first + n].astype(np.float64)

    def projected(self, module: str, x: Float[np.ndarray, " column"]) -> Float[np.ndarray, " out"]:
        """Return a row after a whole projection."""
        bias = self.bias(module)
        return self[f"{module}.weight"] @ x + (0 if bias is None else bias)

    def of_heads(
        self, projection: str, config: ModelConfig
    ) -> tuple[Float[np.ndarray, "head d_head d_model"], Float[np.ndarray, "head d_head"]]:
        """Return the weight and the bias of a projection for each query head; a missing bias is 0."""
        weight = self[f"{projection}.weight"]
        bias = self.bias(projection)
        bias = np.zeros(len(weight)) if bias is None else bias
        weight, bias = weight.reshape(-1, config.d_head, weight.shape[1]), bias.reshape(-1, config.d_head)
        group = config.n_heads // len(weight)  # heads that share keys and values
        return weight.repeat(group, axis=0), bias.repeat(group, axis=0)

    def bias(self, module: str) -> Float[np.ndarray, " width"] | None:
        """Return the bias of a projection or a normalization; None where it has none."""
        return self[f"{module}.bias"] if f"{module}.bias" in self._arrays else None


Row = Float[np.ndarray, " column"]


def dots(a: Row, b: Row, factors: tuple[str, str], over: str, labels: Sequence[str] = ()) -> Formula:
    """Return a sum of products.

    Args:
        a: the first factors.
        b: the second ones.
        factors: the symbols of `a` and `b`.
        over: the axis that the sum is over.
        labels: labels of the summands; none: their indices.
    """
    names = labels or [str(i) for i in range(len(a))]
    pairs = zip(names, a.tolist(), b.tolist(), strict=True)
    terms = tuple(SumTerm(label=label, a=left, b=right, value=left * right) for label, left, right in pairs)
    index = "j" if over == "key" else "i"
    return Formula(
        formula=f"∑_{index} {factors[0]}_{index} {factors[1]}_{index}", factors=factors, over=over, terms=terms
    )


def linear(weights: Weights, module: str, x: Row, index: int, over: str) -> Formula:
    """Return one number of a projection: a row times a row of torch's weight matrix, plus the bias."""
    summed = dots(x, weights.row(f"{module}.weight", index), ("x", "w"), over)
    bias = weights.bias(module)
    return summed if bias is None else summed.plus("b", float(bias[index]))


def normalized(
    weights: Weights,
    module: str | None,
    parts: Mapping[str, Row],
    index: int,
    config: ModelConfig,
    *,
    gain: int | None = None,
) -> Formula:
    """Return one number of the normalized sum of some rows: by LayerNorm, RMSNorm or none, as in the model.

    Args:
        weights: of the block.
        module: path of the normalization; None, or a module without weights: no normalization.
        parts: the rows that are added up, by their notation.
        index: which number of the row.
        config: of the model.
        gain: which of the gains, and of the biases, of all heads; None: that of the same index.

    Source: Ba et al. 2016, eq. (4), with the ε of every implementation; Zhang and Sennrich 2019, eq. (4).
    """
    if module is None or module not in weights:
        return added(parts, index)
    gain = index if gain is None else gain
    row, summed = np.sum(list(parts.values()), axis=0), " + ".join(parts)
    constants = dict(added(parts, index).constants)
    if config.norm == "rms":
        length = f"{{‖{summed}‖}}^2"
        constants |= {length: float((row**2).sum()), "n": float(len(row))}
        quotient = rf"\frac{{{summed}}}{{\sqrt{{\frac{{{length}}}{{n}} + ε}}}}"
    else:
        constants |= {"μ": float(row.mean()), "σ^2": float(row.var())}
        quotient = rf"\frac{{{summed} - μ}}{{\sqrt{{σ^2 + ε}}}}"
    constants |= {"ε": config.layer_norm_eps, "γ": float(weights[f"{module}.weight"][gain])}
    bias = weights.bias(module)
    scaled = Formula(formula=f"γ · {quotient}", constants=constants)
    return scaled if bias is None else scaled.plus("β", float(bias[gain]))


def added(parts: Mapping[str, Row], index: int) -> Formula:
    """Return a number of the sum of some rows, by their notation."""
    constants = {symbol: float(part[index]) for symbol, part in parts.items()}
    return Formula(formula=" + ".join(parts), constants=constants)


def rotated(x: Row, symbol: str, position: int, index: int, config: ModelConfig) -> Formula:
    """Return one number of a row rotated by its position p; dimensions that RoPE leaves alone are unchanged.

    Args:
        x: the row before.
        symbol: of its numbers, such as "q".
        position: p.
        index: which number of the row.
        config: of the model.

    Source: Su et al. 2021, eq. (15).
    """
    frequencies = rotary_frequencies(config).tolist()  # one a pair
    n_pairs = len(frequencies)
    if config.positions == "rotary_halves":
        first, second = range(n_pairs), range(n_pairs, 2 * n_pairs)
    else:
        first, second = range(0, 2 * n_pairs, 2), range(1, 2 * n_pairs, 2)
    if index not in (*first, *second):
        one = f"{symbol}_{{{index}}}"
        return Formula(formula=one, constants={one: float(x[index])}, note="not rotated")
    is_first = index in first
    pair = (first if is_first else second).index(index)
    i, j = (f"{symbol}_{{{side[pair]}}}" for side in (first, second))
    cos, sin = (rf"\mathrm{{{name}}}(p ω)" for name in ("cos", "sin"))
    return Formula(
        formula=f"{i} · {cos} - {j} · {sin}" if is_first else f"{i} · {sin} + {j} · {cos}",
        constants={
            i: float(x[first[pair]]),
            j: float(x[second[pair]]),
            "p": float(position),
            "ω": frequencies[pair],  # the angle that the pair turns by per position
        },
    )


def softmax_share(scores: Row, index: int, labels: Sequence[str], note: Note | None) -> Formula:
    """Return the softmax of one score of a row, in the plain form and with the largest score subtracted.

    The second form is how it is computed, so that no exponential overflows.
    """
    allowed = np.flatnonzero(np.isfinite(scores)).tolist()
    if not allowed:
        return Formula(formula="0", note="no key")
    highest = float(scores.max())
    terms = tuple(
        SumTerm(label=labels[key], a=float(scores[key]), b=None, value=float(np.exp(float(scores[key]) - highest)))
        for key in allowed
    )
    shifted = r"∑_k e^{S_k - S_{\mathrm{max}}}"
    return Formula(
        formula=rf"\frac{{e^{{S_j}}}}{{∑_k e^{{S_k}}}} = \frac{{e^{{S_j - S_{{\mathrm{{max}}}}}}}}{{{shifted}}}",
        factors=("S",),
        over="key",
        terms=terms,
        constants={
            "S_j": float(scores[index]),
            r"S_{\mathrm{max}}": highest,
            shifted: sum(one.value for one in terms),
        },
        note=note,
    )
