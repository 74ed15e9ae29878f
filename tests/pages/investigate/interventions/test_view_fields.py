"""What a click in the pattern chooses."""

import pytest

from pages.investigate.interventions import view_fields
from pages.investigate.interventions.view_fields import CELL, GROUP, SCOPE, choose_cell

pytestmark = pytest.mark.usefixtures("session")


def test_a_click_chooses_a_cell_or_takes_it_into_the_group_or_out_of_it():
    SCOPE.set("row")
    for cell in ((2, 1), (3, 0), None):
        choose_cell(cell)
        assert CELL.value == cell and not GROUP.value
    SCOPE.set("group")
    for cell, group in (
        ((2, 1), [(2, 1)]),
        ((3, 0), [(2, 1), (3, 0)]),
        ((2, 1), [(3, 0)]),
        (None, [(3, 0)]),  # Escape
        ((2, 1), [(3, 0), (2, 1)]),
    ):
        choose_cell(cell)
        assert [*GROUP.value] == group and CELL.value == (cell or (2, 1))


def test_the_two_tokens_come_back_from_the_address_as_they_were():
    field = view_fields.PAIR
    assert field.read(field.write((12, 44))) == (12, 44)
    for text in ("", "12", "12.", "a.b", "-1.2", "1.2.3"):
        with pytest.raises(ValueError, match=r"two token ids|whole number"):
            field.read(text)
