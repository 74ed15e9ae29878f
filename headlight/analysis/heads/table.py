"""Numbers to save: a table with a line for each cell (CSV), and arrays by name (NPZ)."""

import csv
import io
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Bool, Float, Shaped

COLUMNS = ("query", "query_token", "key", "key_token", "allowed", "weight")
_ENDS = "\r\n"  # labels that contain either are quoted


def pattern_csv(
    pattern: Float[np.ndarray, "query key"],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    mask: Bool[np.ndarray, "query key"],
    *,
    first_query: int = 0,
    first_key: int = 0,
) -> str:
    """Return one line per cell, in reading order, with the weight in full precision.

    Args:
        pattern: attention weights in [0, 1].
        query_tokens: the labels of the rows.
        key_tokens: the labels of the columns.
        mask: True = may attend.
        first_query: position of the first row in the whole text, where the pattern is a window of it.
        first_key: position of the first column.
    """
    queries = [f"{line}," for line in _lines(enumerate(query_tokens, first_query))]
    keys = [f"{line}," for line in _lines(enumerate(key_tokens, first_key))]
    cells = np.char.add(np.where(mask, "1,", "0,"), pattern.astype(str))
    return _table(COLUMNS, queries, keys, cells)


def matrix_csv(
    values: Shaped[np.ndarray, "row column"],
    row_name: str,
    rows: Sequence[object],
    column_name: str,
    columns: Sequence[object],
    value_name: str,
) -> str:
    """Return one line per cell, in reading order: its row, its column, and its value in full precision.

    Args:
        values: numbers; "nan" stands for those that are not.
        row_name: what the rows are, in the table's first line.
        rows: the labels of the rows.
        column_name: what the columns are.
        columns: the labels of the columns.
        value_name: what the values are.
    """
    starts, nexts = ([f"{line}," for line in _lines([label] for label in labels)] for labels in (rows, columns))
    return _table((row_name, column_name, value_name), starts, nexts, values.astype(str))


def pattern_arrays(
    pattern: Float[np.ndarray, "query key"],
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    mask: Bool[np.ndarray, "query key"],
    *,
    first_query: int = 0,
    first_key: int = 0,
) -> dict[str, np.ndarray]:
    """Return the numbers of `pattern_csv` as arrays by name; arguments as there.

    Returns:
        `pattern` (float32) and `mask` (bool), [query, key]; `query_tokens` [query] and `key_tokens` [key], text;
        `first_query` and `first_key`, single numbers.
    """
    return {
        "pattern": pattern.astype(np.float32),
        "mask": mask.astype(bool),
        "query_tokens": np.array(query_tokens, dtype=np.str_),
        "key_tokens": np.array(key_tokens, dtype=np.str_),
        "first_query": np.array(first_query),
        "first_key": np.array(first_key),
    }


def _lines(rows: Iterable[Iterable[object]]) -> list[str]:
    """Return the rows as lines of CSV, without their ends; a label may contain a line break."""
    lines = []
    for row in rows:
        text = io.StringIO()
        csv.writer(text, lineterminator=_ENDS).writerow(row)
        lines.append(text.getvalue().removesuffix(_ENDS))
    return lines


def _table(names: Sequence[str], rows: list[str], columns: list[str], cells: np.ndarray) -> str:
    """Return the table: its names, then a line of row, column and cell for each cell."""
    lines = [
        f"{row}{column}{cell}\n"
        for row, ends in zip(rows, cells.tolist(), strict=True)
        for column, cell in zip(columns, ends, strict=True)
    ]
    return "".join([*_lines([names]), "\n", *lines])
