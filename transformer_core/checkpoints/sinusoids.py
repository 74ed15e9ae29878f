"""Sinusoidal positions that other programs store with their weights; here they are recomputed."""

import re
from collections.abc import Iterable

import torch
from torch import Tensor

from transformer_core.checkpoints.family import Ignored
from transformer_core.errors import Message
from transformer_core.model.positions import sinusoidal_table


def sinusoidal_kinds(table: Tensor) -> list[str]:
    """Return the kinds of sinusoidal positions in a table [n, d_model], possibly with additional axes of length 1.

    Computed in float32, as in most programs, the angle at position p is off by up to about 1e-7 p.
    """
    n, width = table.numel() // max(1, table.shape[-1] if table.ndim else 1), table.shape[-1] if table.ndim else 0
    if table.ndim < 2 or n < 2 or width % 2 or not table.is_floating_point() or table.ndim > 3:
        return []
    stored = table.detach().cpu().reshape(n, width).float()
    allowed = 1e-5 + 2e-7 * torch.arange(n)[:, None] if table.dtype == torch.float32 else torch.tensor(1e-2)
    return [
        f"sinusoidal_{layout}"
        for layout in ("interleaved", "halves")
        if ((stored - sinusoidal_table(n, width, layout)).abs() <= allowed).all()
    ]


def stored_positions(keys: Iterable[str]) -> tuple[Ignored, ...]:
    """Return the reason why tables of sinusoidal positions are not needed, by their keys."""
    why = Message("sinusoidal positions, which are recomputed")
    return tuple(
        Ignored(re.escape(key), why, lambda table, config: config.positions in sinusoidal_kinds(table)) for key in keys
    )
