"""Interventions in words."""

from typing import Any

import pytest

from headlight.analysis.interventions.records import CellEdit
from pages.investigate.interventions import words

NO_TEXT: Any = None  # of which only swapped tokens say something
CELLS = ((2, 1), (4, 4), (5, 0), (6, 1), (7, 7))


@pytest.mark.parametrize(
    ("cells", "english"),
    [
        *((None, "all cells"), (((2, None),), "row 2"), (((None, 2), (3, 1)), "column 2, cell 3 → 1")),
        (CELLS[:2], "2 cells (2 → 1, 4 → 4)"),
        (CELLS, "5 cells (2 → 1, 4 → 4, 5 → 0, 6 → 1, …)"),
    ],
)
def test_cells_in_words(cells: Any, english: str):
    entry = CellEdit(attention="encoder", layer=0, heads=(1,), cells=cells, operation="knock_out")
    assert words.sentence(entry, NO_TEXT).startswith(f"knock out {english} of")


def test_a_whole_row_has_no_rest_to_be_rescaled():
    edit = {"attention": "encoder", "layer": 0, "operation": "set", "number": 0.5, "renormalize": True}
    messages = [words.sentence(CellEdit(cells=(cell,), **edit), NO_TEXT) for cell in ((2, 1), (2, None), (None, 1))]
    assert [", the rest of the row rescaled" in one for one in messages] == [True, False, True]
