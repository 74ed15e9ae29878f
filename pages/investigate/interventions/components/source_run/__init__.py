"""Two runs beside each other: what a person drags from the source run onto their own text is patched there.

What was dropped comes back as a trigger of the component's key, for one run; `sent_drop` gives it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from headlight.figures import isolate
from pages.components.mounting import component
from pages.shared.view.fields import sent
from transformer_core.text.labels import border_in


@dataclass(frozen=True, kw_only=True)
class ConeStep:
    """A step of the computation of a stack at which activations change."""

    mixes: str  # "self": over the positions of the stack, as the mask allows; "cross": takes the memory; "": no other
    mask: Bool[np.ndarray, "query key"] | None = None  # of "self": True = may attend


@dataclass(frozen=True, kw_only=True, eq=False)
class Half:
    """One of two runs in a board."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Float[np.ndarray, "row column"]  # in [0, 1], how strongly a cell is filled


@dataclass(frozen=True, kw_only=True, eq=False)
class Board:
    """A matrix of the source run, and the same matrix of the text's run."""

    title: str
    stack: str  # whose positions are the places: "encoder" or "decoder"
    steps: Sequence[int]  # of each row of `here`, in its stack
    is_pattern: bool  # rows are queries, columns keys; else rows are components, columns positions
    there: Half
    here: Half
    rows_here: Sequence[int | None]  # the counterpart of each row there
    columns_here: Sequence[int | None]


@dataclass(frozen=True, kw_only=True)
class Drop:
    """What was dropped onto the text."""

    board: int
    row: int  # of the source run
    column: int | None  # None: the whole row


def source_run(
    boards: Sequence[Board], stacks: Mapping[str, Sequence[ConeStep]], *, key: str, on_drop: Callable[[], None]
) -> None:
    """Draw the boards; cells and row labels of the source run can be dragged.

    Args:
        boards: from top to bottom.
        stacks: the steps of each stack by name, in the order of computation; for the causal cone.
        key: the component's key.
        on_drop: called before the run in which `sent_drop` gives what a person dropped.
    """
    data = {
        "boards": [_written(board) for board in boards],
        "stacks": [
            {
                "name": name,
                "steps": [
                    {
                        "mixes": step.mixes,
                        "mask": None
                        if step.mask is None
                        else ["".join(map(str, row)) for row in step.mask.astype(int)],
                    }
                    for step in steps
                ],
            }
            for name, steps in stacks.items()
        ],
    }
    component(__file__, "source_run", isolated=True)(key=key, data=data, on_drop_change=on_drop)


def sent_drop(key: str) -> Drop | None:
    """Return the dropped row or cell; None: anything else was sent. Call it in the callback."""
    match sent(key, "drop"):
        case {"board": int(board), "row": int(row), "column": int() | None as column}:
            return Drop(board=board, row=row, column=column) if min(board, row, column or 0) >= 0 else None
    return None


def _written(board: Board) -> dict[str, Any]:
    return {
        "title": board.title,
        "stack": board.stack,
        "steps": list(board.steps),
        "isPattern": board.is_pattern,
        "there": _half(board.there),
        "here": _half(board.here),
        "rowsHere": list(board.rows_here),
        "columnsHere": list(board.columns_here),
    }


def _half(half: Half) -> dict[str, Any]:
    return {
        "rows": [isolate(row) for row in half.rows],
        "columns": [isolate(column) for column in half.columns],
        "border": {"row": border_in(half.rows), "column": border_in(half.columns)},
        "values": np.where(np.isfinite(half.values), half.values, 0.0).round(3).tolist(),
    }
