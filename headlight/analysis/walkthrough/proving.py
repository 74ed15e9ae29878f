"""The proof of a walk: how far its numbers are from float64 and from torch, and whether that is close enough."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from headlight.analysis.walkthrough.filling import Weights
from headlight.analysis.walkthrough.outline import PAIRS, Outline, pair_factors

TorchReason = Literal["rotary", "norm", "cap", "intervention", "width"]
"""Why `torch.nn.MultiheadAttention` is not compared: a feature that it lacks, or an intervention in the attention."""

Bias = Float[np.ndarray, "head query key"] | None
Matrices = Mapping[str, Float[np.ndarray, "_ _"]]
"""By quantity."""

MODULE = "torch.nn.MultiheadAttention"
FUNCTION = "torch.nn.functional.scaled_dot_product_attention"


@dataclass(frozen=True, kw_only=True, eq=False)
class TorchNumbers:
    """Torch's results for the same inputs."""

    function: str  # MODULE or FUNCTION
    reason: TorchReason | None  # why it is not MODULE, or why there are no values
    values: Matrices  # by quantity; NaN where a query may attend to nothing


def torch_numbers(
    outline: Outline,
    weights: Weights,
    values: Matrices,
    bias: Bias,
    *,
    is_intervened: bool = False,
) -> TorchNumbers:
    """Return the pattern, z and what follows from them, computed by torch in float32.

    `MultiheadAttention` starts from the input of the model's attention. If it lacks a feature of the model, the kernel
    `scaled_dot_product_attention` starts from the model's queries, keys and values, and gives only pattern and z.

    Args:
        outline: of the head.
        weights: of its block.
        values: the model's numbers, by quantity.
        bias: distance bias of the scores of all heads, in float64; None: no bias.
        is_intervened: an intervention acts inside the attention, so torch has nothing to compare with.
    """
    if is_intervened:
        return TorchNumbers(function=MODULE, reason="intervention", values={})
    reason = _why_not(outline)
    sees_nothing = ~values["mask"].astype(bool).any(axis=-1)  # [query]
    with torch.inference_mode():
        numbers = _by_module(outline, weights, values, bias) if reason is None else _by_kernel(outline, values)
    arrays = {name: tensor.numpy().copy() for name, tensor in numbers.items()}
    for array in arrays.values():
        array[sees_nothing] = np.nan
    return TorchNumbers(function=MODULE if reason is None else FUNCTION, reason=reason, values=arrays)


def _why_not(outline: Outline) -> TorchReason | None:
    """Return a feature of the model's attention that torch's lacks."""
    config = outline.config
    if outline.is_rotated:
        return "rotary"
    if config.qk_norm:
        return "norm"
    if config.score_cap is not None:
        return "cap"
    return "width" if config.d_head * config.n_heads != config.d_model else None


def _by_module(outline: Outline, weights: Weights, values: Matrices, bias: Bias) -> dict[str, Tensor]:
    """Return pattern, z, concat, and the projection of concat."""
    config, module, d_model = outline.config, outline.module, outline.config.d_model
    attention = nn.MultiheadAttention(d_model, config.n_heads, batch_first=True).eval()
    for i, name in enumerate("qkv"):
        own, of_heads = slice(i * d_model, (i + 1) * d_model), weights.of_heads(f"{module}.{name}", config)
        stretch = math.sqrt(config.d_head) if name == "q" and not config.scale_scores else 1.0  # torch always divides
        for stacked, parameter in zip((attention.in_proj_weight, attention.in_proj_bias), of_heads, strict=True):
            stacked[own] = _tensor(parameter).flatten(0, 1) * stretch

    read = _tensor(values[outline.read])[None]
    looked_at = _tensor(values["memory"])[None] if outline.is_cross else read
    added = _added(outline, values, bias)

    def run(weight: Tensor, bias: Float[np.ndarray, " d_model"] | None) -> tuple[Tensor, Tensor]:
        attention.out_proj.weight.copy_(weight)
        attention.out_proj.bias.copy_(torch.zeros(d_model) if bias is None else _tensor(bias))
        out, pattern = attention(read, looked_at, looked_at, attn_mask=added, average_attn_weights=False)
        return out[0], pattern[0]

    concat, pattern = run(torch.eye(d_model), None)
    out, _ = run(_tensor(weights[f"{module}.out.weight"]), weights.bias(f"{module}.out"))
    z = concat.unflatten(-1, (config.n_heads, config.d_head))[:, outline.head]
    projected = "attn_projected" if config.output_norm else "attn_out"
    return {"pattern": pattern[outline.head], "z": z, "concat": concat, projected: out}


def _by_kernel(outline: Outline, values: Matrices) -> dict[str, Tensor]:
    """Return the pattern and z; the pattern is the kernel's output with unit vectors as values."""
    q, k, v = (_tensor(values[name])[None, None] for name in ("q", "k", "v"))
    bias = values["bias"][None] if outline.has_bias else None
    if outline.config.score_cap is not None:  # which the kernel lacks: it starts from the model's scores
        q, bias = torch.zeros_like(q), values["capped"][None]
    added = _added(outline, values, bias)[:1]
    scale = None if outline.config.scale_scores else 1.0
    units = torch.eye(k.shape[2])[None, None]
    z, pattern = (F.scaled_dot_product_attention(q, k, x, attn_mask=added, scale=scale)[0, 0] for x in (v, units))
    return {"pattern": pattern, "z": z}


def _added(outline: Outline, values: Matrices, bias: Bias) -> Float[Tensor, "head query key"]:
    """Return the bias of each head's scores: by the distance, and -inf where the mask forbids."""
    mask = values["mask"].astype(bool)
    added = np.zeros((outline.config.n_heads, *mask.shape)) if bias is None else bias
    return _tensor(np.where(mask, added, -np.inf))


def _tensor(array: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Comparison of all numbers of a walk with float64, and with torch where torch can compute them."""

    n_numbers: int
    errors: Mapping[str, float]  # by quantity: the largest distance to float64; infinite where one is NaN
    largest: float  # over all quantities
    worst: str  # the quantity whose error is the largest share of its tolerance
    share_of_tolerance: float  # error of that quantity / its tolerance; above 1 the proof fails
    tolerance: float  # for numbers of size 1; larger ones get proportionally more
    torch_function: str  # the source of torch's numbers, such as "torch.nn.MultiheadAttention"
    torch_errors: Mapping[str, float]  # by quantity: the largest distance to torch's numbers; empty where it has none
    torch_reason: TorchReason | None  # why MultiheadAttention is not compared; None where it is
    torch_worst: str  # as `worst`, against torch; "" where it has no numbers
    torch_share_of_tolerance: float
    dtype: str  # that the model computes in, such as "float32"
    device: str

    @property
    def holds(self) -> bool:
        """Whether every number agrees with both computations within the tolerance."""
        return self.share_of_tolerance <= 1 and self.torch_share_of_tolerance <= 1

    @property
    def torch_largest(self) -> float:
        """The largest distance to torch's numbers; 0 where it has none."""
        return max(self.torch_errors.values(), default=0.0)


# Tolerance for numbers of size 1 against float64, by the model's precision: some hundred times its rounding error, as
# errors grow in sums of thousands of numbers and in normalizations.
TOLERANCES: Mapping[str, float] = {"float64": 2e-5, "float32": 2e-5, "float16": 2e-2, "bfloat16": 1.6e-1}


def prove(values: Matrices, recomputed: Matrices, by_torch: TorchNumbers, *, dtype: str, device: str) -> Proof:
    """Return how far each of the model's numbers is from the recomputed one, and from torch's.

    Args:
        values: the model's, by quantity.
        recomputed: in float64, of the same quantities.
        by_torch: torch's, of some of them.
        dtype: that the model computes in.
        device: where it did.
    """
    tolerance = TOLERANCES[dtype]
    errors = {name: largest_error(mine, recomputed[name]) for name, mine in values.items()}
    n_numbers = sum(mine.size for mine in values.values()) + len(PAIRS) * values["pattern"].size * values["v"].shape[1]
    for name in PAIRS:  # one query at a time: all at once would take much memory
        rows = (
            [np.multiply(*pair_factors(of, name, query)) for of in (values, recomputed)]
            for query in range(len(values["q"]))
        )
        errors[name] = max(largest_error(mine, exact) for mine, exact in rows)
    torch_errors = {
        name: largest_error(values[name], np.where(np.isnan(other), values[name], other).astype(np.float64))
        for name, other in by_torch.values.items()
    }
    sizes = {name: 1 + _size(mine) for name, mine in recomputed.items()}
    sizes |= {
        "elementwise": 1 + _size(recomputed["q"]) * _size(recomputed["k"]),
        "weighted": 1 + _size(recomputed["v"]),
    }
    shares = {name: error / (tolerance * sizes[name]) for name, error in errors.items()}
    worst = max(shares, key=shares.__getitem__)
    torch_shares = {name: error / (tolerance * sizes[name]) for name, error in torch_errors.items()}
    torch_worst = max(torch_shares, key=torch_shares.__getitem__, default="")
    return Proof(
        n_numbers=n_numbers,
        errors=errors,
        largest=max(errors.values()),
        worst=worst,
        share_of_tolerance=shares[worst],
        tolerance=tolerance,
        torch_function=by_torch.function,
        torch_errors=torch_errors,
        torch_reason=by_torch.reason,
        torch_worst=torch_worst,
        torch_share_of_tolerance=torch_shares.get(torch_worst, 0.0),
        dtype=dtype,
        device=device,
    )


def largest_error(mine: Float[np.ndarray, "*axes"], other: Float[np.ndarray, "*axes"]) -> float:
    """Return the largest distance between two arrays.

    Returns:
        0 where both have the same infinity; infinity where only one of them has an infinity or NaN.
    """
    same = mine == other
    with np.errstate(invalid="ignore"):
        distance = np.abs(mine.astype(np.float64) - other)
    distance = np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))
    return float(distance.max(initial=0.0))


def _size(values: Float[np.ndarray, "_ _"]) -> float:
    """Return the largest finite number."""
    finite = values[np.isfinite(values)]
    return float(np.abs(finite).max(initial=0.0))
