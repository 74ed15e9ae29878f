"""What defines the view of the page Masks, beside the model, the text and the head: a preset, and edits of it."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import streamlit as st

from pages.shared import state, trials
from pages.shared.fields import Field, number, one_of, text_up_to
from transformer_core.analysis.masks.presets import MOST_PADDING, PRESETS, attention_for
from transformer_core.config import ModelConfig
from transformer_core.language import say

PAGE = "masks"
PARTS = ("edit", "which", "inference", "leak", "training")
MOST_SIZE = 64
MOST_RUNS = 64 * 32  # stretches of cells in the address: every second cell of 64 by 64
STAMP = "masks-stamp"  # of the last edit that came from the browser
SEEN = "masks-seen"  # whether the page was opened in this session
_OF = "masks-of"  # what the edited cells are cells of
_RUN = re.compile(r"(\d{1,2})(?:-(\d{1,2}))?\.(\d{1,2})(?:-(\d{1,2}))?")

Cell = tuple[int, int]


def _cells(text: str) -> tuple[Cell, ...]:
    """Read which cells are not as the preset has them, such as "3.4-7~5-6.0".

    Raises:
        ValueError: they are not written so.
    """
    found = [_RUN.fullmatch(part) for part in text.split("~")]
    if len(found) > MOST_RUNS or not all(found):
        raise ValueError(say("it is written as queries, a point, and keys, joined by ~: 3.4-7~5-6.0"))
    cells = set()
    for match in filter(None, found):
        first_query, last_query, first_key, last_key = (None if part is None else int(part) for part in match.groups())
        assert first_query is not None and first_key is not None
        for query in range(first_query, (first_query if last_query is None else last_query) + 1):
            cells |= {(query, key) for key in range(first_key, (first_key if last_key is None else last_key) + 1)}
    return tuple(sorted(cells))


def _in_words(cells: Iterable[Cell]) -> str:
    """Write cells as few rectangles: rows of neighbours, and neighbouring rows that are alike together."""
    keys_of: dict[int, list[int]] = {}
    for query, key in sorted(set(cells)):
        keys_of.setdefault(query, []).append(key)
    by_runs: dict[tuple[int, int], list[int]] = {}
    for query, keys in keys_of.items():
        for run in _runs(keys):
            by_runs.setdefault(run, []).append(query)
    parts = [(rows, run) for run, queries in by_runs.items() for rows in _runs(queries)]
    return "~".join(f"{_span(rows)}.{_span(run)}" for rows, run in sorted(parts))


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and the last of each stretch of neighbours; of numbers in rising order."""
    runs: list[tuple[int, int]] = []
    for value in numbers:
        if runs and value == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], value)
        else:
            runs.append((value, value))
    return runs


def _span(ends: tuple[int, int]) -> str:
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]}-{ends[1]}"


def _within(lowest: int, highest: int) -> Callable[[str], int]:
    """Return a check for a whole number within limits."""

    def read(text: str) -> int:
        value = number(text)
        if not lowest <= value <= highest:
            raise ValueError(say("it is a whole number from {lowest} to {highest}", lowest=lowest, highest=highest))
        return value

    return read


PART = Field(PAGE, "part", PARTS[0], one_of(*PARTS))
PRESET = Field(PAGE, "preset", "own", one_of(*PRESETS))
EDITS: Field = Field(PAGE, "edits", (), _cells, _in_words)  # cells that are not as the preset has them
SIZE = Field(PAGE, "size", None, _within(1, MOST_SIZE))  # of the window, the prefix, the blocks; None: as usual
PADDING = Field(PAGE, "padding", None, _within(0, MOST_PADDING))  # tokens; None: as many as show the preset
LAYERS = Field(PAGE, "layers", "all", one_of("all", "one"))  # in which the mask is put
CHANGED = Field(PAGE, "changed", None, number)  # the token that the leak test changes; None: one in the middle
TOKEN = Field(PAGE, "token", "", text_up_to(100))  # what stands in its place; "": another token of the text

FIELDS: tuple[Field, ...] = (PART, PRESET, EDITS, SIZE, PADDING, LAYERS, CHANGED, TOKEN, trials.MASKS)


def choose_preset(name: str | None, config: ModelConfig) -> None:
    """A preset was chosen; its size and its padding are as usual, and no cell is turned over."""
    if name is not None and name in PRESETS:
        for field in (EDITS, SIZE, PADDING):
            field.set(field.usual)
        st.session_state[state.ATTENTION] = attention_for(PRESETS[name], st.session_state[state.ATTENTION], config)
        PRESET.set(name)


def choose_attention(name: str) -> None:
    """Another attention was chosen, whose mask has other cells."""
    if name != st.session_state[state.ATTENTION]:
        EDITS.set(())
    st.session_state[state.ATTENTION] = name


def turn(cells: Sequence[int], n_keys: int, stamp: int) -> None:
    """Cells were turned over by hand, counted row by row."""
    st.session_state[STAMP] = stamp
    EDITS.set(tuple(divmod(cell, n_keys) for cell in cells))


def fit(key: object, n_queries: int, n_keys: int) -> None:
    """Keep what is chosen within what there is; of another text, model or attention, no cell is turned over."""
    if st.session_state.get(_OF, key) != key and not state.came_by_link():
        EDITS.set(())
    st.session_state[_OF] = key
    EDITS.set(tuple((query, key) for query, key in EDITS.value if query < n_queries and key < n_keys))


def box(key: str, shown: Any, take: Callable[[Any], None]) -> dict[str, Any]:
    """Return the key of a widget, and what is called when it is used.

    Args:
        key: of the widget.
        shown: what it shows now.
        take: is given what a person chose.
    """
    st.session_state[key] = shown
    return {"key": key, "on_change": lambda: take(st.session_state[key])}
