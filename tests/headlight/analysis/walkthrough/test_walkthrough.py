"""What a walk tells: q ⊙ k, weighted values, and every number with its formula."""

import numpy as np
import pytest

from headlight.analysis.walkthrough.formulas import formula_tree
from headlight.analysis.walkthrough.outline import Number
from headlight.analysis.walkthrough.walkthrough import AttentionInputs, attention_inputs, walk
from pages.shared.cache import size_of
from tests.headlight.analysis.walkthrough.formula_values import values
from tests.headlight.analysis.walkthrough.small_walks import each_place, inputs_of, model_of, walked
from transformer_core.errors import SiteError

ANY = ("the paper's", "decoder", 1)


def by_its_formula(number: Number) -> float:
    """What the formula comes to with the inputs that are listed; where it has several sides, all are the same."""
    actual = values(
        formula_tree(number.formula),
        factors=number.factors,
        terms=[vars(one) for one in number.terms],
        constants=[(formula_tree(symbol), value) for symbol, value in number.constants.items()],
    )
    assert actual == pytest.approx(actual[:1] * len(actual), rel=1e-9)
    for one in number.terms:
        if one.b is not None:
            assert one.value == pytest.approx(one.a * one.b)
    return actual[0]


@each_place
def test_terms_and_constants_make_each_number(kind: str, attention: str, layer: int):
    """In every quantity a corner and a cell at random; the value is the model's, and the recomputed."""
    there = walked(kind, attention, layer)
    rng = np.random.default_rng(0)
    for name, quantity in there.quantities.items():
        rows, columns = quantity.values.shape
        cells = {
            (0, columns - 1),
            (0, 0),
            (0, (columns - 1) // 2),
            (int(rng.integers(1, rows)), int(rng.integers(columns))),
        }
        for row, column in cells:
            number = there.number(name, row, column)
            assert number.value == float(quantity.values[row, column])
            assert by_its_formula(number) == pytest.approx(number.value, rel=1e-4, abs=2e-5), name
            assert number.recomputed == pytest.approx(number.value, rel=1e-4, abs=2e-5), name
            assert number.difference < 1e-4
            assert number.mha is None or number.mha == pytest.approx(number.value, rel=1e-4, abs=2e-5)
            assert number.symbol == quantity.symbol
    config = model_of(kind).config
    widths = {"d_model": config.d_model, "d_head": config.d_head, "d_ff": config.d_ff}
    widths |= {"head d_head": config.n_heads * config.d_head, "key": len(there.key_labels)}
    ends = {f"{name}_{'projected' if config.output_norm else 'out'}" for name in ("attn", "mlp", "cross")}
    for name in {"v", "product", "z", "mlp_pre", *ends} & {*there.quantities}:
        number = there.number(name, 1, 1)
        assert len(number.terms) == widths[number.over], name


def test_products_of_a_query_and_a_key():
    there = walked(*ANY)
    q, k, v, pattern, z = (there.quantities[name].values for name in ("q", "k", "v", "pattern", "z"))
    assert there.pairs("elementwise", 2)[1].tolist() == [
        float(np.float32(a * b)) for a, b in zip(q[2], k[1], strict=True)
    ]
    assert there.pairs("elementwise", 2)[1].sum() == pytest.approx(there.quantities["product"].values[2, 1], abs=1e-5)
    assert there.pairs("weighted", 3).sum(axis=0) == pytest.approx(z[3], abs=1e-5)
    n_keys = len(there.key_labels)
    both = there.number("elementwise", 2 * n_keys + 1, 5), there.number("weighted", 3 * n_keys + 2, 5)
    assert [number.value for number in both] == [float(q[2, 5] * k[1, 5]), float(pattern[3, 2] * v[2, 5])]
    assert [by_its_formula(number) for number in both] == pytest.approx([number.value for number in both])
    assert [number.recomputed for number in both] == pytest.approx([number.value for number in both], abs=1e-5)


def test_a_forbidden_cell_says_why():
    causal, windowed = walked("the paper's", "decoder", 0), walked("window", "encoder", 0)
    assert causal.number("mask", 0, 1).note == "later"
    assert walked("the paper's", "encoder", 0).number("pattern", 0, 5).note == "padding"
    assert windowed.number("mask", 0, 3).note == "outside window"
    assert causal.number("attn_scores", 0, 1).value == causal.number("attn_scores", 0, 1).recomputed == -np.inf
    assert causal.number("attn_scores", 0, 1).difference == 0


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (("w", 0, 0), "no quantity 'w'; it has x, q"),
        (("q", 4, 0), "q has rows 0 to 3 and columns 0 to 15; got 4, 0"),
        (("weighted", 16, 0), "weighted has rows 0 to 15"),
    ],
)
def test_a_place_that_is_not_there_is_refused(cell: tuple[str, int, int], message: str):
    with pytest.raises(SiteError, match=message):
        walked(*ANY).number(*cell)


def test_memory_is_counted():
    there = walked(*ANY)
    held = sum(values.nbytes for of in (there.values, there.recomputed) for values in of.values())
    assert held < size_of(there) < 1.5 * held


def by_numpy(inputs: AttentionInputs) -> np.ndarray:
    """Multi-head attention, head by head, as the paper writes it."""
    memory = inputs.x if inputs.memory is None else inputs.memory
    rotate = inputs.rotate or (lambda x: x)
    heads = []
    for i in range(inputs.n_heads):
        q = rotate(inputs.x @ inputs.W_Q[i] + inputs.b_Q[i])
        k = rotate(memory @ inputs.W_K[i] + inputs.b_K[i])
        scores = q @ k.T / np.sqrt(inputs.d_head) + (0 if inputs.bias is None else inputs.bias[i])
        weights = np.exp(scores) * inputs.mask
        heads.append(weights / weights.sum(axis=1, keepdims=True) @ (memory @ inputs.W_V[i] + inputs.b_V[i]))
    return np.concatenate(heads, axis=1) @ inputs.W_O + inputs.b_O


@each_place
def test_the_papers_formula_gives_the_models_output(kind: str, attention: str, layer: int):
    walk_through = walked(kind, attention, layer)
    config = walk_through.outline.config
    has_more = config.qk_norm or config.output_norm or config.score_cap
    if has_more or not config.scale_scores or not walk_through.recomputed["mask"].any(axis=1).all():
        with pytest.raises(SiteError):
            attention_inputs(walk_through)
        return
    actual = by_numpy(attention_inputs(walk_through))
    np.testing.assert_allclose(actual, walk_through.recomputed["attn_out"], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ("q/k norm with bias", "normalizes queries and keys"),
        ("not scaled", "does not divide its scores by √d_k"),
        ("encoder, gelu", "caps its scores"),
        ("decoder that starts with padding", "choose a model"),
    ],
)
def test_what_the_paper_does_not_have_is_said(changed: str, sentence: str):
    model = model_of(changed)
    name = "decoder" if model.config.has_decoder else "encoder"
    walk_through = walk(model, inputs_of(changed), attention=name, layer=0, head=0)
    with pytest.raises(SiteError, match=sentence):
        attention_inputs(walk_through)
