"""A program as a table: a row for each line, with the heads that it compiles to and its value at each token.

The line that a person chooses comes back as a shared value, see shared_value.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pages.components.mounting import component
from pages.shared.view.shared_value import SharedValue


@dataclass(frozen=True, kw_only=True)
class ListingRow:
    """A line of a program."""

    number: int
    source: str
    parts: tuple[str, ...]  # of the model that compute it, such as "L0.H1"
    values: tuple[str, ...]  # its value at each token; () if it has none
    changed: tuple[int, ...] = ()  # tokens at which a mistake has changed the value
    is_mistaken: bool = False  # the line itself is the mistake
    note: str = ""  # shown instead of values


def listing(
    *,
    tokens: Sequence[str],
    rows: Sequence[ListingRow],
    outputs: Sequence[tuple[str, Sequence[str], Sequence[int]]],
    chosen: int,
    key: str,
    on_line: Callable[[], None],
) -> None:
    """Draw a program with selectable lines.

    Args:
        tokens: the input.
        rows: the lines of code.
        outputs: rows below them, each with its name, its values, and the tokens at which it differs.
        chosen: the number of the selected line.
        key: the component's key.
        on_line: called when a person chooses another line, before the rerun; `sent_line` returns its number.
    """
    data = {
        "tokens": list(tokens),
        "rows": [
            {
                "number": row.number,
                "source": row.source,
                "parts": list(row.parts),
                "values": list(row.values),
                "changed": list(row.changed),
                "isMistaken": row.is_mistaken,
                "note": row.note,
            }
            for row in rows
        ],
        "outputs": [
            {"name": name, "values": list(values), "changed": list(changed)} for name, values, changed in outputs
        ],
        "line": SharedValue(key, "line").payload(chosen),
    }
    component(__file__, "listing", isolated=True)(key=key, data=data, on_line_change=on_line)


def sent_line(key: str) -> int | None:
    """Return the number of the line that a person chose; None if it is invalid. Call it in the callback."""
    number = SharedValue(key, "line").heard()
    return number if type(number) is int and number > 0 else None
