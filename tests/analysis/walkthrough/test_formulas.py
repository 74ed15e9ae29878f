"""The notation of formulas."""

import pytest

from transformer_core.analysis.walkthrough.formulas import Tree, formula_tree


def written(tree: Tree) -> str:
    tag, inside = tree
    return f"<{tag}>{inside if isinstance(inside, str) else ''.join(map(written, inside))}</{tag}>"


@pytest.mark.parametrize(
    ("source", "mathml"),
    [
        ("Q = X W_Q", "<mi>Q</mi><mo>=</mo><mi>X</mi><msub><mi>W</mi><mi>Q</mi></msub>"),
        (r"\frac{Q K^T}{\sqrt{64}}", "<mfrac><mrow><mi>Q</mi><msup><mi>K</mi><mi>T</mi></msup></mrow>"
         "<mrow><msqrt><mn>64</mn></msqrt></mrow></mfrac>"),
        ("A_{i j}", "<msub><mi>A</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub>"),
        ("x_i^2", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>"),
        ("x^2_i", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>"),
        (r"\mathrm{Norm}(0.5)", "<mi>Norm</mi><mo>(</mo><mn>0.5</mn><mo>)</mo>"),
        ("", ""),
    ],
)  # fmt: skip
def test_what_is_drawn(source: str, mathml: str):
    assert written(formula_tree(source)) == f"<mrow>{mathml}</mrow>"


@pytest.mark.parametrize("source", ["a}", "{a", r"\frac{a}", r"\over{a}{b}", "x_", r"\sqrt a"])
def test_what_cannot_be_read_is_refused(source: str):
    with pytest.raises(ValueError, match="formula"):
        formula_tree(source)
