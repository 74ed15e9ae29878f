"""Biases of the scores: slopes, buckets and what a model learned for them, as drawn and taken away."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import transformer_core as tc
from pages.learn.positions import bias
from pages.shared import models
from pages.shared.models import ModelCard
from tests.pages.conftest import EXAMPLES
from tests.pages.learn.bare import Bare
from tests.pages.learn.positions.conftest import Look

OF = "positions-figure-{}".format


def in_legend(bare: Bare) -> list[str]:
    traces = bare.figures[OF("bias")].figure.data
    return [trace.name for trace in traces if trace.name and trace.showlegend is not False]


@pytest.mark.parametrize(
    ("model", "chosen", "n_heads"), [("induction", None, 4), ("en-fr", None, 8), ("induction", 2, 2)]
)
def test_alibi_has_the_published_slopes_of_as_many_heads_as_the_model_has_or_were_chosen(
    bare: Bare, look: Look, model: str, chosen: int | None, n_heads: int
):
    bias.show(look(model, "alibi", "bias", n=4, heads=chosen, slope=1))
    slopes = 2.0 ** (-8 * np.arange(1, n_heads + 1) / n_heads)
    lines, matrix = bare.figures[OF("bias")], bare.figures[OF("bias-matrix")]
    np.testing.assert_allclose(lines.arrays["bias"], -slopes[:, None] * np.arange(4), rtol=1e-6)
    assert lines.arrays["distance"].tolist() == [0, 1, 2, 3]
    assert (
        lines.rows[0] == "head,distance,bias"
        and lines.rows[2].startswith("0,1,-")
        and len(lines.rows) == 1 + n_heads * 4
    )
    query, key = np.tril_indices(4)
    np.testing.assert_allclose(matrix.arrays["bias"][query, key], -slopes[1] * (query - key), rtol=1e-6, atol=1e-9)
    assert matrix.title == "Bias of head 1" and matrix.rows[0] == "query,key,bias"
    assert in_legend(bare) == [f"head {head}: slope {slope:.4g}" for head, slope in enumerate(slopes)]
    assert matrix.figure.data[0].customdata[3][1].startswith("query at 3 → key at 1: added −")
    assert bare.session["positions-heads-box"] == n_heads
    assert bare.widgets["positions-heads-box"].how["limits"] == (1, 64)
    assert bare.widgets["positions-slope-box"].options == [*range(n_heads)]
    hover = lines.figure.data[1]
    assert "head 1: slope" in str(hover) and "distance" in str(hover)


@pytest.mark.parametrize(
    ("n_heads", "head", "named"),
    [(12, 5, [*range(12)]), (13, 5, [0, 5, 12]), (13, 0, [0, 12]), (13, 99, [0, 12])],
)
def test_of_many_heads_the_first_the_chosen_and_the_last_are_in_the_legend(
    bare: Bare, look: Look, n_heads: int, head: int, named: list[int]
):
    bias.show(look("en-fr", "alibi", "bias", n=3, heads=n_heads, slope=head))
    assert [int(name.split(":")[0].removeprefix("head ")) for name in in_legend(bare)] == named
    chosen = min(head, n_heads - 1)
    widths = [trace.line.width for trace in bare.figures[OF("bias")].figure.data]
    assert widths.index(max(widths)) == chosen and len({*widths}) == 2
    assert bare.session["positions-slope-box"] == chosen


@pytest.mark.parametrize(("n", "has_numbers"), [(12, True), (13, False)])
def test_a_small_matrix_of_biases_has_numbers(bare: Bare, look: Look, n: int, has_numbers: bool):
    bias.show(look("en-fr", "alibi", "bias", n=n))
    assert (len(bare.figures[OF("bias-matrix")].figure.data) > 1) == has_numbers


@pytest.mark.parametrize("sees", ["past", "all"])
def test_short_distances_have_a_bucket_each_and_what_a_query_cannot_see_has_none(bare: Bare, look: Look, sees: str):
    bias.show(look("en-fr", "relative_buckets", "bias", n=5, sees=sees))
    drawn, curve = bare.figures[OF("bucket-matrix")], bare.figures[OF("buckets")]
    later = np.nan if sees == "past" else 16
    expected = [[q - k if k <= q else later + k - q for k in range(5)] for q in range(5)]
    np.testing.assert_array_equal(drawn.arrays["bucket"], expected)
    by_distance = dict(zip(curve.arrays["distance"].tolist(), curve.arrays["bucket"].tolist(), strict=True))
    assert [by_distance[-distance] for distance in range(5)] == [0, 1, 2, 3, 4]
    assert (4 in by_distance) == (sees == "all") and by_distance.get(4, 20) == 20
    assert curve.rows[0] == "distance,of,number" and curve.rows[1].split(",")[1] == "bucket"
    assert drawn.rows[0] == "query,key,bucket" and drawn.rows[1] in ("0,0,0", "0,0,0.0")
    assert drawn.figure.data[0].customdata[3][1].startswith("query at 3 → key at 1: bucket 2")
    assert curve.figure.data[0].line.shape in ("hv", "vh", "hvh", "vhv")
    assert "English to French has no such biases" in bare.words
    assert bare.widgets["positions-sees-segments"].names == ["earlier tokens", "the whole text"]


@pytest.fixture(scope="module")
def of_buckets(tmp_path_factory: pytest.TempPathFactory) -> ModelCard:
    """A small model with biases in both stacks."""
    folder = tmp_path_factory.mktemp("models") / "buckets"
    tokenizer = tc.train_tokenizer(EXAMPLES, kind="word", vocab_size=60)
    config = tc.ModelConfig(
        vocab_size=tokenizer.vocab_size,
        d_model=12,
        d_ff=8,
        n_heads=3,
        n_encoder_layers=1,
        n_decoder_layers=1,
        positions="relative_buckets",
    )
    tc.save(folder, tc.build(config, seed=1), tokenizer, {"title": "Buckets", "examples": [*EXAMPLES]})
    return models._card(Path(folder))


@pytest.mark.parametrize(("attention", "stack"), [("encoder", "encoder"), ("cross", "decoder"), ("decoder", "decoder")])
def test_learned_biases_are_of_the_chosen_stack_and_head(
    bare: Bare, look: Look, of_buckets: ModelCard, attention: str, stack: str
):
    model, _ = tc.load(of_buckets.path)
    weights = dict(model.named_parameters())
    (name,) = (name for name in weights if name.startswith(stack) and weights[name].shape == (32, 3))
    table = weights[name].detach().numpy()
    bias.show(look(of_buckets, "relative_buckets", "bias", n=4, attention=attention, slope=2))
    lines, matrix = bare.figures[OF("bias")], bare.figures[OF("bias-matrix")]
    query, key = np.tril_indices(4)
    np.testing.assert_allclose(matrix.arrays["bias"][query, key], table[query - key, 2], atol=1e-7)
    by_distance = dict(zip(lines.arrays["distance"].tolist(), lines.arrays["bias"].T.tolist(), strict=True))
    for distance in range(4):
        assert by_distance[-distance] == pytest.approx(table[distance].tolist())
    assert (1 in by_distance) == (stack == "encoder"), "a decoder's queries see no later key"
    assert in_legend(bare) == ["head 0", "head 1", "head 2"] and matrix.title == "Bias of head 2"
    assert lines.title == "Learned position bias by distance" and "prefers one distance" in bare.words


def test_a_head_beyond_the_last_is_the_last(bare: Bare, look: Look, of_buckets: ModelCard):
    bias.show(look(of_buckets, "relative_buckets", "bias", n=2, slope=3))
    assert bare.figures[OF("bias-matrix")].title == "Bias of head 2"
    bias.show(look(replace(of_buckets), "alibi", "bias", n=2, heads=2, slope=2))
    assert bare.figures[OF("bias-matrix")].title == "Bias of head 1"
