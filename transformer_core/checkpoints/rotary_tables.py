"""RoPE read from the tables of sines and cosines that some programs save with the weights."""

from typing import Any

import torch
from torch import Tensor

from transformer_core.errors import CheckpointError

_USUAL_BASES: tuple[float, ...] = (10_000.0, 500_000.0, 1_000_000.0)


def rotary_of_table(sin: Tensor, cos: Tensor, d_head: int) -> dict[str, Any]:
    """Return the fields of `ModelConfig` that describe RoPE, from its tables [pos, rotated dimension of a head].

    Tables of 16 bits do not determine the base, so it is the usual one that they fit.

    Raises:
        CheckpointError: the tables are not those of unscaled frequencies.
    """
    n_rotated = sin.shape[-1] if sin.ndim == 2 and sin.shape == cos.shape and len(sin) > 1 else 0
    angles = torch.atan2(sin[1].double(), cos[1].double()) if n_rotated else torch.zeros(0)
    is_interleaved = n_rotated > 2 and bool(angles[0] == angles[1])
    angles = angles[::2] if is_interleaved else angles[: n_rotated // 2]
    exponents = -torch.arange(0, n_rotated, 2, dtype=torch.float64) / max(1, n_rotated)
    bases, relative = _USUAL_BASES, 2 * torch.finfo(sin.dtype).eps
    if sin.dtype in (torch.float32, torch.float64) and len(angles) > 1 and angles[1] > 0:
        bases, relative = (float(f"{angles[1].item() ** (-n_rotated / 2):.4g}"),), 1e-3
    base = next((base for base in bases if torch.allclose(angles, base**exponents, rtol=relative, atol=1e-6)), None)
    if base is None or not n_rotated or n_rotated > d_head:
        raise CheckpointError(
            "its rotary positions are scaled or rounded, and its files do not contain how, so the model cannot be "
            "computed"
        )
    layout = "rotary_interleaved" if is_interleaved else "rotary_halves"
    return {"positions": layout, "rotary_base": base, "rotary_fraction": n_rotated / d_head}
