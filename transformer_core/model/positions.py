"""Position encodings added to the embeddings: sinusoidal, in both layouts of the literature, and learned.

Those that act inside attention are in `rotary` and `distance_bias`.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_core.config import ModelConfig


def sinusoidal_table(
    n_positions: int,
    d_model: int,
    layout: Literal["interleaved", "halves"] = "interleaved",
    base: float = 10000.0,
) -> Float[Tensor, "pos d_model"]:
    """Return the sines and cosines that the paper adds to the embeddings.

    PE(pos, 2i) = sin(pos / base^(2i / d_model)), PE(pos, 2i + 1) = cos(pos / base^(2i / d_model)).

    Args:
        n_positions: rows, positions 0, 1, ...
        d_model: columns; even.
        layout: "interleaved" as in the formula, or "halves": all sines, then all cosines, as in the well-known picture.
        base: of the wavelengths, which range from 2 pi to base * 2 pi positions.

    Returns:
        values in [-1, 1], computed in float64, returned in float32.

    Source: Vaswani et al. 2017, sec. 3.5; "halves" is the layout of the tensor2tensor code.
    """
    position = torch.arange(n_positions, dtype=torch.float64)[:, None]  # [pos, 1]
    exponent = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model  # [d_model / 2]
    angle = position / base**exponent  # [pos, d_model / 2]
    sines, cosines = angle.sin(), angle.cos()
    if layout == "halves":
        table = torch.cat([sines, cosines], dim=-1)
    else:
        table = torch.stack([sines, cosines], dim=-1).flatten(start_dim=-2)
    return table.float()


class SinusoidalPositions(nn.Module):
    """The table of `sinusoidal_table`: no parameters, and not part of a checkpoint."""

    table: Tensor

    def __init__(self, config: ModelConfig, layout: Literal["interleaved", "halves"]) -> None:
        super().__init__()
        with torch.device("cpu"):  # even if the model is assembled on "meta"
            table = sinusoidal_table(config.max_seq_len, config.embedding_width, layout)
        self.register_buffer("table", table, persistent=False)

    def forward(self, first: int, n_positions: int) -> Float[Tensor, "pos d_embed"]:
        """Return the rows of positions `first` to `first + n_positions - 1`."""
        return self.table[first : first + n_positions]


class LearnedPositions(nn.Module):
    """One trained vector per position.

    Source: Gehring et al. 2017; compared in Vaswani et al. 2017, table 3, row (E).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(config.max_seq_len, config.embedding_width))

    def forward(self, first: int, n_positions: int) -> Float[Tensor, "pos d_embed"]:
        """Return the rows of positions `first` to `first + n_positions - 1`."""
        return self.table[first : first + n_positions]


def build_positions(config: ModelConfig) -> SinusoidalPositions | LearnedPositions | None:
    """Return the encoding added to the embeddings; None if positions act inside attention, or not at all."""
    if config.positions == "learned":
        return LearnedPositions(config)
    if config.positions == "sinusoidal_halves":
        return SinusoidalPositions(config, "halves")
    if config.positions == "sinusoidal_interleaved":
        return SinusoidalPositions(config, "interleaved")
    return None
