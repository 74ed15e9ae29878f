"""The table of an encoding of positions, as the model's own code makes it, and what can be read off it.

A table has a row for each position. Of sinusoidal encodings and of the turns of rotary ones each pair of columns, a
sine and a cosine, belongs to one frequency; a learned table has no such order.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float

from transformer_core.config import ModelConfig, Positions
from transformer_core.errors import ConfigError
from transformer_core.model.positions import LearnedPositions, sinusoidal_table
from transformer_core.model.rotary import RotaryPositions
from transformer_core.model.transformer import Transformer

Layout = Literal["halves", "interleaved"]
Stack = Literal["encoder", "decoder"]


@dataclass(frozen=True, kw_only=True)
class Column:
    """What a column of a table of sines and cosines holds: sin or cos of the position divided by `denominator`."""

    function: Literal["sin", "cos"]
    pair: int  # 0: the fastest
    denominator: float  # positions a radian, base^(2 pair / width)

    @property
    def wavelength(self) -> float:
        """Return after how many positions its values come again: 2 pi times the denominator."""
        return 2 * np.pi * self.denominator


@dataclass(frozen=True, kw_only=True, eq=False)
class PositionTable:
    """A table of positions, and what its columns are."""

    values: Float[np.ndarray, "pos width"]
    columns: tuple[Column, ...]  # () for a learned table


def fixed_table(encoding: Positions, n_positions: int, width: int, like: ModelConfig | None = None) -> PositionTable:
    """Return the table of an encoding that is computed and not learned.

    Args:
        encoding: sinusoidal, or rotary: then the sines and cosines of the angles by which queries and keys are turned.
        n_positions: rows.
        width: columns; even. Of rotary encodings it is the width of a head, of which all is turned.
        like: a model whose base and scaling of rotary positions are taken, where it has such; None: the usual ones.

    Raises:
        ConfigError: an encoding without such a table, or a width that it cannot have.
    """
    if width < 2 or width % 2:
        raise ConfigError(
            "sines and cosines come in pairs, so the width ({width}) must be even and at least 2", width=width
        )
    if encoding in ("sinusoidal_halves", "sinusoidal_interleaved"):
        layout: Layout = "halves" if encoding == "sinusoidal_halves" else "interleaved"
        values = sinusoidal_table(max(n_positions, 2), width, layout).numpy()
        return PositionTable(values=values[:n_positions], columns=_columns(values[1], layout))
    config = rotary_config(encoding, width, like)
    turns = RotaryPositions(config)
    rotation = turns(0, n_positions, torch.device("cpu"))
    sin, cos = rotation.sin.numpy(), rotation.cos.numpy()
    is_halves = turns.layout == "halves"
    values = np.concatenate([sin, cos], axis=1) if is_halves else np.stack([sin, cos], axis=2).reshape(n_positions, -1)
    return PositionTable(values=values, columns=_named(1 / turns.frequencies.numpy(), turns.layout))


def rotary_config(encoding: Positions, width: int, like: ModelConfig | None = None) -> ModelConfig:
    """Return the configuration of one head of this width whose queries and keys are turned whole.

    Args:
        encoding: "rotary_halves" or "rotary_interleaved".
        width: of the head; even.
        like: a model whose base and scaling are taken, where it is rotary; None: the usual ones.

    Raises:
        ConfigError: another encoding, or an odd width.
    """
    if encoding not in ("rotary_halves", "rotary_interleaved"):
        raise ConfigError(
            "the encoding {encoding} has no sines and cosines; choose a sinusoidal or rotary encoding",
            encoding=encoding,
        )
    shape = {
        name: value
        for name, value in (like.to_dict() if like is not None and like.has_rotary_positions else {}).items()
        if name.startswith("rotary_") and name != "rotary_fraction"
    }
    return ModelConfig(vocab_size=4, d_model=width, n_heads=1, positions=encoding, **shape)


def learned_table(model: Transformer, stack: Stack) -> PositionTable:
    """Return the vectors that a model learned for its positions.

    Args:
        model: with learned positions.
        stack: whose; an encoder-decoder has a table in each.

    Raises:
        ConfigError: the model has none there.
    """
    part = model.encoder if stack == "encoder" else model.decoder
    if part is None or not isinstance(part.pos_embed, LearnedPositions):
        raise ConfigError(
            "this model has no learned positions in its {stack}; choose a model with learned positions", stack=stack
        )
    return PositionTable(values=part.pos_embed.table.detach().float().cpu().numpy().copy(), columns=())


def _columns(first_row: Float[np.ndarray, " width"], layout: Layout) -> tuple[Column, ...]:
    """Return the meaning of the columns, from the row of position 1, where each pair is rotated by its frequency."""
    half = len(first_row) // 2
    sines = first_row[:half] if layout == "halves" else first_row[0::2]
    cosines = first_row[half:] if layout == "halves" else first_row[1::2]
    return _named(1 / np.arctan2(sines.astype(np.float64), cosines.astype(np.float64)), layout)


def _named(denominators: Float[np.ndarray, " pair"], layout: Layout) -> tuple[Column, ...]:
    """Return the meaning of the columns of a layout."""
    listed = denominators.tolist()
    pairs = (
        [Column(function="sin", pair=pair, denominator=value) for pair, value in enumerate(listed)],
        [Column(function="cos", pair=pair, denominator=value) for pair, value in enumerate(listed)],
    )
    if layout == "halves":
        return (*pairs[0], *pairs[1])
    return tuple(column for both in zip(*pairs, strict=True) for column in both)


def spread_dimensions(table: PositionTable, n: int = 4) -> tuple[int, ...]:
    """Return some columns to look at: of sines of all speeds, or evenly from a learned table."""
    places = [place for place, column in enumerate(table.columns) if column.function == "sin"]
    places = places or list(range(table.values.shape[1]))
    n = min(n, len(places))
    return tuple(places[place * len(places) // n] for place in range(n))
