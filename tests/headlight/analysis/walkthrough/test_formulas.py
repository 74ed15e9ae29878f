"""The stages that a model has, in the order in which it computes, and the notation of their formulas."""

import pytest

from headlight.analysis.walkthrough.formulas import formula_tree
from pages.learn.steps.step_texts import NOTICES, QUANTITIES, TITLES
from tests.headlight.analysis.walkthrough.small_walks import each_place, walked


@each_place
def test_stages_show_all_there_is_in_order_and_the_page_has_words_for_them(kind: str, attention: str, layer: int):
    there = walked(kind, attention, layer)
    shown = [matrix for stage in there.stages for matrix in stage.matrices]
    assert set(shown) == set(there.quantities) <= {*QUANTITIES}
    made_in_order = [name for name in there.quantities if name not in ("v", "memory", "mask", "bias")]
    assert sorted(made_in_order, key=shown.index) == made_in_order
    seen = set(there.stages[0].matrices)
    for stage in there.stages:
        assert stage.name in TITLES and stage.notice in NOTICES
        assert formula_tree(stage.formula)[1]
        assert set(stage.matrices) & seen, f"{stage.name} uses no matrix of an earlier stage"
        seen |= set(stage.matrices)
    axes = {"query": there.query_labels, "key": there.key_labels}
    assert all(len(quantity.values) == len(axes[quantity.rows]) for quantity in there.quantities.values())


@pytest.mark.parametrize("source", ["a}", "{a", r"\frac{a}", r"\over{a}{b}", "x_", r"\sqrt a"])
def test_what_cannot_be_read_is_refused(source: str):
    with pytest.raises(ValueError, match="formula"):
        formula_tree(source)
