"""All heads as one static picture: what is seen where no script runs, as in a notebook that is not trusted."""

import struct
import zlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, UInt8

from headlight.figures.theme import LIGHT, sequential_scale

_SIDE = 20  # px, of a head, or less where there are many
_MOST = 900  # px, of the whole
_GAP = 2  # px, between heads


def overview_png(patterns: Sequence[Float[np.ndarray, "layer head query key"]]) -> bytes:
    """Return a picture of all heads as PNG: layers are rows, heads are columns, attentions follow each other."""
    shades = _palette()
    n_rows, n_columns = sum(of.shape[0] for of in patterns), max(of.shape[1] for of in patterns)
    side = min(_SIDE, max(1, (_MOST - 3 * _GAP * len(patterns)) // max(n_rows, n_columns) - _GAP))
    pictures = [_grid(values, side) for values in patterns]
    width = max(picture.shape[1] for picture in pictures)
    rows = [np.pad(picture, ((0, 3 * _GAP), (0, width - picture.shape[1]))) for picture in pictures]
    return _png(np.concatenate(rows)[:_MOST, :_MOST], shades)


def _grid(patterns: Float[np.ndarray, "layer head query key"], side: int) -> UInt8[np.ndarray, "row column"]:
    n_layers, n_heads, n_queries, n_keys = patterns.shape
    rows, columns = (np.arange(side) * n // side for n in (n_queries, n_keys))
    pooled = patterns[:, :, rows][:, :, :, columns]
    levels = np.rint(np.nan_to_num(pooled).clip(0, 1) * 255).astype(np.uint8)
    padded = np.pad(levels, ((0, 0), (0, 0), (0, _GAP), (0, _GAP)))
    return padded.transpose(0, 2, 1, 3).reshape(n_layers * (side + _GAP), n_heads * (side + _GAP))


def _palette() -> UInt8[np.ndarray, "256 3"]:
    """Return the colors of the sequential scale for weights from 0 to 1."""
    scale = sequential_scale(LIGHT)
    stops = np.array([value for value, _ in scale])
    colors = np.array([[int(color[at : at + 2], 16) for at in (1, 3, 5)] for _, color in scale])
    shares = np.linspace(0, 1, 256)
    return np.stack([np.interp(shares, stops, colors[:, i]) for i in range(3)], axis=1).round().astype(np.uint8)


def _png(levels: UInt8[np.ndarray, "row column"], palette: UInt8[np.ndarray, "256 3"]) -> bytes:
    """Return an indexed picture (Boutell 1997, "PNG Specification", sec. 4)."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = levels.shape
    lines = np.pad(levels, ((0, 0), (1, 0)))  # each line begins with its filter, 0
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"PLTE", palette.tobytes()) + chunk(b"IDAT", zlib.compress(lines.tobytes()))
    return b"\x89PNG\r\n\x1a\n" + parts + chunk(b"IEND", b"")
