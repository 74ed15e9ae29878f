"""The notation of formulas."""

import pytest

from headlight.analysis.walkthrough.formulas import formula_tree


@pytest.mark.parametrize("source", ["a}", "{a", r"\frac{a}", r"\over{a}{b}", "x_", r"\sqrt a"])
def test_what_cannot_be_read_is_refused(source: str):
    with pytest.raises(ValueError, match="formula"):
        formula_tree(source)
