"""Cells that are edited, in words."""

from typing import Any

import pytest

from pages.investigate.interventions import words
from pages.languages import CATALOGUES
from transformer_core.analysis.interventions import CellEdit
from transformer_core.language import add_catalogues, speaking

CELLS = ((2, 1), (4, 4), (5, 0), (6, 1), (7, 7))


@pytest.mark.parametrize(
    ("cells", "english", "german"),
    [
        (None, "knock out all cells of", "alle Zellen von"),
        (CELLS[:1], "knock out cell 2 → 1 of", "Zelle 2 → 1 von"),
        (((2, None),), "knock out row 2 of", "Zeile 2 von"),
        (((None, 2), (3, 1)), "knock out column 2, cell 3 → 1 of", "Spalte 2, Zelle 3 → 1 von"),
        (CELLS[:2], "knock out 2 cells (2 → 1, 4 → 4) of", "2 Zellen (2 → 1, 4 → 4) von"),
        (CELLS, "knock out 5 cells (2 → 1, 4 → 4, 5 → 0, 6 → 1, …) of", "5 Zellen (2 → 1, 4 → 4, 5 → 0, 6 → 1, …) von"),
    ],
)
def test_cells_in_words(cells: Any, english: str, german: str):
    for folder in CATALOGUES:
        add_catalogues(folder)
    entry = CellEdit(attention="encoder", layer=0, heads=(1,), cells=cells, operation="knock_out")
    assert words.sentence(entry).startswith(english)
    with speaking("de"):
        assert words.sentence(entry).startswith(german)
