"""What both sides of the Compare page hold: which tokens and runs are whose, and what goes with a figure."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from headlight.analysis.heads.measures import HeadName
from headlight.figures import Figure
from pages.explore.compare.ablation import ablation
from pages.explore.compare.data import ComparisonData, kept
from pages.shared.recipe import Print, call, literal, value_of
from tests.pages.explore.compare.compare_parts import comparison, patterns, run, shown
from tests.pages.explore.compare.test_sides import side, weights
from tests.pages.explore.parts import Drawing
from transformer_core.cached_property import cached_property

ENCODER = HeadName("encoder", 0, 0)
ZEROED = ablation("zero", [("cross", 0, 0)])


def maps(**sizes: tuple[int, int]) -> dict[str, Any]:
    """Attentions of one head over this many queries and keys."""
    return {name: patterns(1, 1, *size) for name, size in sizes.items()}


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        ({}, True),
        ({"head": HeadName("cross", 1, 3)}, True),
        ({"weights": replace(weights(), name="the same weights by another name")}, True),
        ({"weights": weights("other")}, False),
        ({"change": ZEROED}, False),
        ({"text": "a c"}, False),
        ({"target": "typed"}, False),
    ],
)
def test_the_sides_are_the_same_where_the_same_weights_read_the_same(change: dict[str, Any], is_same: bool):
    a = side("A", head=ENCODER)
    data = comparison(run({}), run({}), a, replace(a, letter="B", **change))
    assert data.is_same == is_same
    assert replace(data, a=data.b, b=data.a).is_same == is_same


def test_the_longest_row_or_column_of_either_side_counts():
    for at in range(4):
        n = np.where(np.arange(4) == at, 9, 5).tolist()
        a, b = maps(encoder=(3, 3), cross=(n[0], n[1])), maps(cross=(n[2], n[3]), decoder=(3, 3))
        assert comparison(run(a), run(b)).n_tokens == 9


FORCED = {"target": "u v"}


@pytest.mark.parametrize(
    ("of_b", "inputs", "is_forced"),
    [(FORCED, [[1], [2]], True), ({}, [[1], [2]], False), (FORCED, [[1], [3]], False)],
)
def test_a_forced_side_has_the_labels_of_a_where_it_reads_the_same(of_b: Any, inputs: Any, is_forced: bool):
    """A's target may begin with a small letter where B's, which was typed, has a capital."""
    runs = run({}, "xyz", ["<bos>", "u", "v"]), run({}, "rst", ["<bos>", "U", "v"], inputs=inputs)
    data = comparison(*runs, side("A", head=ENCODER), side("B", head=ENCODER, **of_b))
    assert value_of(data.labels(data.a, "cross")) == (("<bos>", "u", "v"), ("x", "y", "z"))
    own = (("<bos>", "U", "v"), ("r", "s", "t"))
    assert value_of(data.labels(data.b, "cross")) == (value_of(data.labels(data.a, "cross")) if is_forced else own)


@pytest.mark.parametrize(
    ("kinds", "same_inputs", "compared"),
    [
        (("decoder_only", "decoder_only"), False, (2, 3)),
        (("decoder_only", "decoder_only"), True, (None, None)),
        (("decoder_only", "encoder_decoder"), False, (2, None)),
        (("encoder_decoder", "encoder_decoder"), False, (None, None)),
    ],
)
def test_of_prompts_that_are_continued_differently_the_prompts_are_compared(
    kinds: tuple[str, str], same_inputs: bool, compared: tuple[int | None, int | None]
):
    runs = [
        run({}, "xyzq", "uvwr", architecture=kind, n_given=2 + i, inputs=[[0 if same_inputs else i]])
        for i, kind in enumerate(kinds)
    ]
    data = comparison(*runs)
    for of, n in zip(data.sides, compared, strict=True):
        assert data.n_compared(of) == n
        assert value_of(data.labels(of, "cross")) == (tuple("uvwr")[:n], tuple("xyzq")[:n])


def draw(data: ComparisonData) -> None:
    data.draw(
        Figure(layout={"height": 70}),
        name="part",
        key="part-key",
        csv=lambda: "a,b\n1,2\n",
        arrays=lambda: {"numbers": np.arange(3)},
        code=[Print(literal([1, 2]), "both")],
    )


def test_with_a_figure_go_the_names_and_the_texts_of_both_sides(drawings: dict[str, Drawing]):
    b = side("B", weights("other"), text="c d", change=ablation("zero", [("cross", 0, 1)]))
    shown(lambda: draw(comparison(run({}), run({}), side("A", text="a b"), b)))
    drawn = drawings["part-key"]
    assert drawn.name == "one-other-part"
    assert drawn.options["about"] == "A: one: a b\nB: other, cross-attention L0.H1 zero-ablated: c d"
    assert "print([1, 2])  # both" in drawn.code
    state = json.loads(drawn.state)
    assert state["model"]["path"] == "models/one" and state["view"]["text"] == "a b"
    assert (state["b"]["model"]["path"], state["b"]["text"]) == ("models/other", "c d")


def test_b_is_read_as_it_is_forced_to(monkeypatch: pytest.MonkeyPatch):
    from pages.explore.compare.sides import Side

    a, b = side("A", head=ENCODER), side("B", weights("other"), head=ENCODER)
    run_a, read = SimpleNamespace(output="u v"), []

    def recipe(of: Side) -> Any:
        read.append((of.letter, of.target))
        return literal(run_a if of.letter == "A" else of)

    once = cached_property(recipe)
    once.__set_name__(Side, "recipe")
    monkeypatch.setattr(Side, "recipe", once)
    data = ComparisonData.of(a, b)
    assert data.sides == (a, replace(b, target="u v"))
    assert read == [("A", None), ("B", "u v")]


@pytest.mark.usefixtures("fresh_caches")
def test_what_is_compared_is_computed_once():
    computed = []

    def compute(number: int) -> int:
        computed.append(number)
        return number + 1

    compute.__module__, compute.__name__ = "builtins", "compute"
    app = shown(lambda: [value_of(kept(call(compute, number), waiting="Wait")) for number in (1, 1, 2)])
    assert computed == [1, 2]
    assert not app.exception
