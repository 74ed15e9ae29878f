"""The stages that a model has, in the order in which it computes."""

import pytest

from pages.learn.steps.step_texts import NOTICES, TITLES
from tests.analysis.walkthrough.small_walks import each_place, walked
from transformer_core.analysis.walkthrough.formulas import formula_tree

HEART = "product scale mask softmax weigh z concat output"
POST = "add_norm feed_forward add_norm_2"
PRE = "add norm_2 feed_forward add_2"


@pytest.mark.parametrize(
    ("kind", "attention", "stages"),
    [
        ("the paper's", "cross", f"input projection {HEART} {POST}"),
        ("the paper's", "decoder", f"input projection {HEART} add_norm cross feed_forward add_norm_2"),
        ("attention only", "encoder", f"input norm projection {HEART} add"),
        ("attention only, post-norm", "decoder", f"input projection {HEART} add_norm cross"),
        ("alibi", "encoder", f"input projection {HEART.replace('mask', 'bias mask')} {POST}"),
        ("not scaled", "cross", f"input norm projection {HEART.replace(' scale', '')} {PRE}"),
        ("decoder, q/k norm", "decoder", f"input norm projection qk_norm rotation {HEART} {PRE}"),
        ("rotary, groups", "cross", f"input projection {HEART} {POST}"),
    ],
)
def test_which_stages_there_are(kind: str, attention: str, stages: str):
    assert [stage.name for stage in walked(kind, attention, 0).stages] == stages.split()


@each_place
def test_stages_show_all_there_is_in_order_and_the_page_has_words_for_them(kind: str, attention: str, layer: int):
    there = walked(kind, attention, layer)
    shown = [matrix for stage in there.stages for matrix in stage.matrices]
    assert set(shown) == set(there.quantities)
    made_in_order = [name for name in there.quantities if name not in ("v", "memory", "mask", "bias")]
    assert sorted(made_in_order, key=shown.index) == made_in_order
    seen = set(there.stages[0].matrices)
    for stage in there.stages:
        assert stage.name in TITLES and stage.notice in NOTICES
        assert formula_tree(stage.formula)[1]
        assert set(stage.matrices) & seen, f"{stage.name} goes on from nothing that was shown before"
        seen |= set(stage.matrices)
    axes = {"query": there.query_labels, "key": there.key_labels}
    assert all(len(quantity.values) == len(axes[quantity.rows]) for quantity in there.quantities.values())


@pytest.mark.parametrize(
    ("kind", "attention", "notice"),
    [
        ("the paper's", "decoder", "mask"),
        ("the paper's", "encoder", "mask of padding"),
        ("encoder, rotary, window", "encoder", "mask of a window"),
    ],
)
def test_the_notice_on_the_mask_is_true_of_the_model(kind: str, attention: str, notice: str):
    (stage,) = (stage for stage in walked(kind, attention, 0).stages if stage.name == "mask")
    assert stage.notice == notice


@pytest.mark.parametrize(
    ("kind", "stage", "part"),
    [
        ("decoder", "projection", "b_Q"),
        ("decoder, q/k norm", "projection", "V = X′ W_V"),
        ("decoder, rotary", "norm", r"X′ = γ ⊙ \frac{X}{\sqrt{\frac{{‖X‖}^2}{n} + ε}}"),
        ("decoder", "norm", r"X′ = γ ⊙ \frac{X - μ}{\sqrt{σ^2 + ε}} + β"),
        ("decoder, rotary", "feed_forward", "SiLU"),
        ("decoder, rotary", "feed_forward", "W_g"),
        ("decoder, alibi, window", "mask", "B"),
        ("decoder", "input", "E + P"),
    ],
)
def test_formulas_are_those_of_the_model(kind: str, stage: str, part: str):
    assert part in {each.name: each.formula for each in walked(kind, "decoder", 0).stages}[stage]


@pytest.mark.parametrize(
    ("kind", "handed_on"), [("decoder", "R_2"), ("the paper's", "Y"), ("attention only", "(R + C)")]
)
def test_a_later_layer_reads_what_the_one_before_has_handed_on(kind: str, handed_on: str):
    assert walked(kind, "decoder", 1).stages[0].formula == f"X = {handed_on}^{{(0)}}"
