"""The stages that a model has, in the order in which it computes."""

import pytest

from pages.learn.steps.step_texts import NOTICES, TITLES
from tests.analysis.walkthrough.small_walks import each_place, walked
from transformer_core.analysis.walkthrough import formula_tree
from transformer_core.analysis.walkthrough.quantities import DESCRIPTIONS

pytestmark = pytest.mark.slow

HEART = "product scale mask softmax weigh z concat output"


@pytest.mark.parametrize(
    ("kind", "attention", "stages"),
    [
        ("the paper's", "encoder", f"input projection {HEART} add_norm feed_forward add_norm_2"),
        ("the paper's", "cross", f"input projection {HEART} add_norm feed_forward add_norm_2"),
        ("the paper's", "decoder", f"input projection {HEART} add_norm cross feed_forward add_norm_2"),
        ("decoder", "decoder", f"input norm projection {HEART} add norm_2 feed_forward add_2"),
        ("attention only", "encoder", f"input norm projection {HEART} add"),
        ("attention only, post-norm", "decoder", f"input projection {HEART} add_norm cross"),
        ("alibi", "encoder", f"input projection {HEART.replace('mask', 'bias mask')} add_norm feed_forward add_norm_2"),
        ("not scaled", "cross", f"input norm projection {HEART.replace(' scale', '')} add norm_2 feed_forward add_2"),
        (
            "decoder, q/k norm",
            "decoder",
            f"input norm projection qk_norm rotation {HEART} add norm_2 feed_forward add_2",
        ),
        ("rotary, groups", "encoder", f"input projection rotation {HEART} add_norm feed_forward add_norm_2"),
        ("rotary, groups", "cross", f"input projection {HEART} add_norm feed_forward add_norm_2"),
    ],
)
def test_which_stages_there_are(kind: str, attention: str, stages: str):
    assert [stage.name for stage in walked(kind, attention, 0).stages] == stages.split()


@each_place
def test_stages_show_all_there_is_and_nothing_else(kind: str, attention: str, layer: int):
    there = walked(kind, attention, layer)
    shown = [matrix for stage in there.stages for matrix in stage.matrices]
    assert set(shown) == set(there.quantities)
    firsts = {name: shown.index(name) for name in there.quantities}
    made_in_order = [name for name in there.quantities if name not in ("v", "memory", "mask", "bias")]
    assert sorted(made_in_order, key=firsts.__getitem__) == made_in_order
    for before, stage in zip(there.stages, there.stages[1:], strict=False):
        seen = {matrix for earlier in there.stages[: there.stages.index(stage)] for matrix in earlier.matrices}
        assert set(stage.matrices) & seen, f"{stage.name} goes on from nothing that {before.name} showed"


@each_place
def test_stages_are_told_in_known_words(kind: str, attention: str, layer: int):
    for stage in walked(kind, attention, layer).stages:
        assert stage.name in TITLES and stage.notice in NOTICES
        assert formula_tree(stage.formula)[1]
    for quantity in walked(kind, attention, layer).quantities.values():
        assert (quantity.symbol, quantity.title) == (
            DESCRIPTIONS[quantity.name].symbol,
            DESCRIPTIONS[quantity.name].title,
        )
        axes = {"query": "query_labels", "key": "key_labels"}
        assert quantity.values.shape[0] == len(getattr(walked(kind, attention, layer), axes[quantity.rows]))


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


def test_formulas_are_those_of_the_model():
    formulas = {
        kind: {stage.name: stage.formula for stage in walked(kind, "decoder", 0).stages}
        for kind in ("decoder", "decoder, rotary", "decoder, q/k norm", "decoder, alibi, window")
    }
    assert "b_Q" in formulas["decoder"]["projection"]
    assert "b_Q" not in formulas["decoder, q/k norm"]["projection"]
    assert formulas["decoder, rotary"]["norm"] == r"X′ = γ ⊙ \frac{X}{\sqrt{\frac{{‖X‖}^2}{n} + ε}}"
    assert formulas["decoder"]["norm"] == r"X′ = γ ⊙ \frac{X - μ}{\sqrt{σ^2 + ε}} + β"
    assert (
        "SiLU" in formulas["decoder, rotary"]["feed_forward"] and "W_g" in formulas["decoder, rotary"]["feed_forward"]
    )
    assert "B" in formulas["decoder, alibi, window"]["mask"]
    assert formulas["decoder"]["input"].endswith("E + P")


@pytest.mark.parametrize(
    ("kind", "handed_on"), [("decoder", "R_2"), ("the paper's", "Y"), ("attention only", "(R + C)")]
)
def test_a_later_layer_reads_what_the_one_before_has_handed_on(kind: str, handed_on: str):
    assert walked(kind, "decoder", 1).stages[0].formula == f"X = {handed_on}^{{(0)}}"
