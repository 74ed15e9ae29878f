"""Tables of positions from the model's own code, their products by distance, and the matrix that shifts positions.

A table has a row for each position. In sinusoidal encodings and rotary angles each pair of columns, a sine and a
cosine, belongs to one frequency; a learned table has no such order.
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
StackName = Literal["encoder", "decoder"]


@dataclass(frozen=True, kw_only=True)
class Column:
    """What a column of a table of sines and cosines holds: sin or cos of the position divided by `denominator`."""

    function: Literal["sin", "cos"]
    pair: int  # 0: the fastest
    denominator: float  # positions per radian, base^(2 pair / width)

    @property
    def wavelength(self) -> float:
        """Return the period of its values in positions: 2 pi times the denominator."""
        return 2 * np.pi * self.denominator


@dataclass(frozen=True, kw_only=True, eq=False)
class PositionTable:
    """A table of positions, and what its columns are."""

    values: Float[np.ndarray, "pos width"]
    columns: tuple[Column, ...]  # () for a learned table


def fixed_table(encoding: Positions, n_positions: int, width: int, like: ModelConfig | None = None) -> PositionTable:
    """Return the table of an encoding that is computed, not learned.

    Args:
        encoding: sinusoidal, or rotary for the sines and cosines of the angles that rotate queries and keys.
        n_positions: rows.
        width: columns; even. For rotary encodings, the width of a head, which is rotated as a whole.
        like: a model to take the base and scaling of rotary positions from, if it is rotary; None: the defaults.

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
    """Return the configuration of one head of this width whose queries and keys are rotated as a whole.

    Args:
        encoding: "rotary_halves" or "rotary_interleaved".
        width: of the head; even.
        like: a model to take the base and scaling from, if it is rotary; None: the defaults. Factors of single pairs
            are only taken for heads with as many pairs.

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
    if len(shape.get("rotary_pair_factors", ())) not in (0, width // 2):
        shape |= {"rotary_scaling": "none", "rotary_pair_factors": ()}
    return ModelConfig(vocab_size=4, d_model=width, n_heads=1, positions=encoding, **shape)


def learned_table(model: Transformer, stack: StackName) -> PositionTable:
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
    """Return the meaning of the columns, inferred from position 1, where each pair is rotated by its frequency."""
    half = len(first_row) // 2
    sines = first_row[:half] if layout == "halves" else first_row[0::2]
    cosines = first_row[half:] if layout == "halves" else first_row[1::2]
    return _named(1 / np.arctan2(sines.astype(np.float64), cosines.astype(np.float64)), layout)


def _named(denominators: Float[np.ndarray, " pair"], layout: Layout) -> tuple[Column, ...]:
    listed = denominators.tolist()
    pairs = (
        [Column(function="sin", pair=pair, denominator=value) for pair, value in enumerate(listed)],
        [Column(function="cos", pair=pair, denominator=value) for pair, value in enumerate(listed)],
    )
    if layout == "halves":
        return (*pairs[0], *pairs[1])
    return tuple(column for both in zip(*pairs, strict=True) for column in both)


def spread_dimensions(table: PositionTable, n: int = 4) -> tuple[int, ...]:
    """Return some columns to show: sines over all speeds, or evenly spaced columns of a learned table."""
    places = [place for place, column in enumerate(table.columns) if column.function == "sin"]
    places = places or list(range(table.values.shape[1]))
    n = min(n, len(places))
    return tuple(places[place * len(places) // n] for place in range(n))


@dataclass(frozen=True, kw_only=True, eq=False)
class ByDistance:
    """Products of all pairs of positions, grouped by their distance."""

    mean: Float[np.ndarray, " distance"]  # from distance 0 on
    least: Float[np.ndarray, " distance"]
    most: Float[np.ndarray, " distance"]

    @property
    def spread(self) -> float:
        """Return the largest difference at one distance: about 0 if the product depends on the distance alone."""
        return float((self.most - self.least).max(initial=0.0))


def table_products(table: Float[np.ndarray, "pos width"]) -> Float[np.ndarray, "pos pos"]:
    """Return the dot products of all pairs of rows, computed in float64."""
    rows = table.astype(np.float64)
    return rows @ rows.T


def turned_products(config: ModelConfig, n_positions: int) -> Float[np.ndarray, "pos pos"]:
    """Return the dot products of one vector rotated by the query's position with the same vector by the key's.

    The vector has length 1 and the same length in each pair, so the product is the mean, over pairs, of the cosine of
    the angle between the two.

    Args:
        config: with rotary positions.
        n_positions: of queries and of keys.

    Source: Su et al. 2021, sec. 3.4.3, for how it falls with the distance.
    """
    rotation = RotaryPositions(config)(0, n_positions, torch.device("cpu"))
    n_rotated = 2 * rotation.cos.shape[1]
    vector = torch.zeros(1, 1, n_positions, config.d_head)
    vector[..., :n_rotated] = n_rotated**-0.5
    turned = rotation.rotate(vector)[0, 0].double()
    return (turned @ turned.T).numpy()


def by_distance(products: Float[np.ndarray, "pos pos"]) -> ByDistance:
    """Return the mean, minimum and maximum of the products at each distance."""
    diagonals = [np.diagonal(products, distance) for distance in range(len(products))]
    mean, least, most = (np.array([of(diagonal) for diagonal in diagonals]) for of in (np.mean, np.min, np.max))
    return ByDistance(mean=mean, least=least, most=most)


@dataclass(frozen=True, kw_only=True, eq=False)
class Shift:
    """The matrix that shifts every position by k, and its error."""

    k: int
    matrix: Float[np.ndarray, "width width"]  # R_k, orthogonal: rotates each pair of sine and cosine
    turned: Float[np.ndarray, " pos"]  # max |PE(pos + k) - R_k PE(pos)| over the columns
    unturned: Float[np.ndarray, " pos"]  # |PE(pos + k) - PE(pos)|, to compare with


def shift(table: PositionTable, k: int) -> Shift:
    """Return R_k, which is built from row k of the table alone, and its remaining error.

    sin((pos + k) w) = cos(k w) sin(pos w) + sin(k w) cos(pos w) and
    cos((pos + k) w) = cos(k w) cos(pos w) - sin(k w) sin(pos w), for each frequency w.

    Args:
        table: of sines and cosines.
        k: number of positions to shift by; less than the table has.

    Returns:
        the matrix and, for each position that has one k places on, both differences; those of `turned` are the rounding
        of the table, about 1e-7.

    Raises:
        ConfigError: a table without sines and cosines, or too few rows.

    Source: Vaswani et al. 2017, sec. 3.5: "for any fixed offset k, PE(pos + k) can be represented as a linear function
    of PE(pos)".
    """
    values = table.values.astype(np.float64)
    if not table.columns:
        raise ConfigError(
            "learned positions are not sines and cosines, so a shift is not a rotation; choose another encoding"
        )
    if not 0 <= k < len(values):
        raise ConfigError(
            "the table has {n} positions, so it can be shifted by 0 to {last}", n=len(values), last=len(values) - 1
        )
    matrix = np.zeros((values.shape[1], values.shape[1]))
    places = {(column.function, column.pair): place for place, column in enumerate(table.columns)}
    for pair in range(len(table.columns) // 2):
        sine, cosine = places["sin", pair], places["cos", pair]
        sin, cos = values[k, sine], values[k, cosine]
        matrix[sine, sine], matrix[sine, cosine] = cos, sin
        matrix[cosine, sine], matrix[cosine, cosine] = -sin, cos
    earlier, later = values[: len(values) - k], values[k:]
    return Shift(
        k=k,
        matrix=matrix,
        turned=np.abs(later - earlier @ matrix.T).max(axis=1),
        unturned=np.abs(later - earlier).max(axis=1),
    )
