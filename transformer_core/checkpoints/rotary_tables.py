"""RoPE read from the tables of sines and cosines that some programs save with the weights."""

from typing import Any

import torch
from torch import Tensor

from transformer_core.errors import CheckpointError


def rotary_of_table(sin: Tensor, cos: Tensor, d_head: int) -> dict[str, Any]:
    """Return the fields of `ModelConfig` that describe RoPE, from its tables [pos, rotated dimension of a head].

    Raises:
        CheckpointError: the tables are not those of unscaled frequencies.
    """
    n_rotated = sin.shape[-1] if sin.ndim == 2 and sin.shape == cos.shape and len(sin) > 1 else 0
    angles = torch.atan2(sin[1].double(), cos[1].double()) if n_rotated else torch.zeros(0)
    is_interleaved = n_rotated > 2 and bool(angles[0] == angles[1])
    angles = angles[::2] if is_interleaved else angles[: n_rotated // 2]
    base = float(f"{angles[1].item() ** (-n_rotated / 2):.4g}") if len(angles) > 1 and angles[1] > 0 else 10000.0
    expected = base ** (-torch.arange(0, n_rotated, 2, dtype=torch.float64) / max(1, n_rotated))
    if not n_rotated or n_rotated > d_head or not torch.allclose(angles, expected, rtol=1e-3, atol=1e-6):
        raise CheckpointError(
            "its rotary positions are scaled, and its files do not contain how, so the model cannot be computed"
        )
    layout = "rotary_interleaved" if is_interleaved else "rotary_halves"
    return {"positions": layout, "rotary_base": base, "rotary_fraction": n_rotated / d_head}
