"""Interventions in words."""

from typing import Any

import pytest

from pages.investigate.interventions import words
from transformer_core.analysis.interventions.records import CellEdit, Component, Patch

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
    said = [words.sentence(CellEdit(cells=(cell,), **edit), NO_TEXT) for cell in ((2, 1), (2, None), (None, 1))]
    assert [", the rest of the row rescaled" in one for one in said] == [True, False, True]


def test_two_texts_that_differ_in_their_last_word_look_different():
    component = Component(kind="head", attention="encoder", layer=0, heads=(0,))
    start = "The animal didn't cross the street because it was too"
    patches = [Patch(component=component, text=f"{start} {end}.", direction="noising") for end in ("wide", "tired")]
    assert len({words.does(patch, NO_TEXT) for patch in patches}) == 2
    short = words.does(patches[0], NO_TEXT)
    assert "The animal didn't c…" in short and "it was too wide." in short and start not in short
    assert f"{start} wide." in words.does(patches[0], NO_TEXT, most=100)
