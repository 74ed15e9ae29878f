"""How similar the states of layers are: which stacks and texts are compared, and the text below."""

from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import torch

import transformer_core as tc
from headlight.analysis.texts.side_by_side import PairedPlaces, TokenAlignment
from pages.explore.compare import layers
from pages.explore.compare.ablation import ablation
from pages.explore.compare.data import ComparisonData
from pages.explore.compare.layers import StackPair
from pages.explore.compare.sides import Side
from tests.pages.conftest import words_of
from tests.pages.explore.compare.compare_parts import comparison, give, loaded, run, shown
from tests.pages.explore.compare.test_sides import side
from tests.pages.explore.parts import Drawing


def test_models_with_other_stacks_are_compared_by_their_last(drawings: dict[str, Drawing]):
    def names(source_a: str, target_a: str, source_b: str, target_b: str) -> list[tuple[str, str]]:
        return layers._names(comparison(run({}, source_a, target_a), run({}, source_b, target_b)))

    both = [("encoder", "encoder"), ("decoder", "decoder")]
    assert names("xy", "uv", "xy", "uv") == both
    assert names("xy", "uv", "", "uv") == names("", "uv", "xy", "uv") == [("decoder", "decoder")]
    assert names("xy", "uv", "xy", "") == names("xy", "", "xy", "uv") == [("encoder", "encoder")]
    assert names("xy", "", "", "uv") == [("encoder", "decoder")]
    assert names("", "uv", "xy", "") == [("decoder", "encoder")]


def pair(a: str, b: str, n_pairs: int = 2, only_a: int = 0, only_b: int = 0) -> StackPair:
    pairs = tuple(PairedPlaces(i, i, "x", False) for i in range(n_pairs))
    alone = tuple(range(90, 90 + only_a)), tuple(range(90, 90 + only_b))
    return StackPair(a=a, b=b, positions=TokenAlignment(pairs=pairs, only_a=alone[0], only_b=alone[1]))


def told(pairs: list[StackPair], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the text below the matrices of these pairs of stacks."""
    with monkeypatch.context() as patch:
        patch.setattr(layers, "_on_one_text", lambda data: (data, False))
        patch.setattr(layers, "_pairs", lambda _: pairs)
        patch.setattr(layers, "_likeness", lambda *_: [None] * len(pairs))
        patch.setattr(layers, "_matrix", lambda *_: None)
        app = shown(lambda: layers.show(comparison(run({}), run({}), side("A"), side("B"))))
    return unescape(words_of(app))


def test_tokens_of_one_side_only_are_counted_and_a_short_text_is_said(monkeypatch: pytest.MonkeyPatch):
    for only_a, only_b in ((1, 2), (1, 0), (0, 2)):
        words = told([pair("encoder", "encoder", 5, only_a, only_b)], monkeypatch)
        assert f"5 tokens occur on both sides and are compared; {only_a + only_b} occur on one side only" in words
    assert "left out" not in told([pair("encoder", "encoder", 5)], monkeypatch)
    few = told([pair("encoder", "encoder", 15), pair("decoder", "decoder", 20)], monkeypatch)
    assert "The text is short: with 15 tokens" in few, "the fewest of a stack"
    enough = told([pair("encoder", "encoder", 16), pair("decoder", "decoder", 20)], monkeypatch)
    assert "What to look for" in enough and "The text is short" not in enough


def test_models_that_read_other_tokens_have_no_states_to_compare(drawings: dict[str, Drawing]):
    a = side("A")
    apart = comparison(run({}, "xyz", "uvw"), run({}, "rst", "opq"), a, side("B", text=a.text))
    app = shown(lambda: layers.show(apart))
    assert "The two models tokenize this text differently" in words_of(app) and not drawings
    other = pair("encoder", "decoder")
    assert (other.name, other.in_words()) == ("encoder_decoder", "A’s encoder and B’s decoder")
    half = comparison(run({}, "xyz", "uvw"), run({}, "xyz", "opq"), a, side("B", text=a.text))
    assert [one.name for one in layers._pairs(half)] == ["encoder"]


@pytest.mark.parametrize(
    ("source_b", "target_b", "is_read_again"),
    [("xyz", "uvw", False), ("xyq", "uvw", False), ("xyzq", "uvw", True), ("xyz", "uv", True), ("xyz", "opq", True)],
)
def test_two_texts_with_the_same_number_of_tokens_are_compared_as_they_are(
    source_b: str, target_b: str, is_read_again: bool, monkeypatch: pytest.MonkeyPatch
):
    data = comparison(run({}, "xyz", "uvw"), run({}, source_b, target_b), side("A", text="a"), side("B", text="b"))
    again = comparison(run({}), run({}))
    monkeypatch.setattr(ComparisonData, "of", lambda *_: again)
    assert layers._on_one_text(data) == ((again, True) if is_read_again else (data, False))
    ablated = replace(data.b, text="a", change=ablation("zero", [("encoder", 0, 0)]))
    data = replace(data, b=give(ablated, data.b.model_run))
    assert layers._on_one_text(data) == (data, False), "one text is not read again"


def read(a: Side, b: Side) -> ComparisonData:
    results: list[ComparisonData] = []
    shown(lambda: results.append(ComparisonData.of(a, b)))
    return results[0]


LONG, SHORT = "The dog sees the cat.", "The dog sees the."


REPLACED = "The dog sees the dog."


@torch.inference_mode()
def states(folder: Path, name: str, inputs: Sequence[Sequence[int]]) -> dict[str, list[np.ndarray]]:
    """The residual stream before the first block of each stack and after each [pos, d_model], by hand."""
    model, _ = tc.load(folder / name)
    with tc.capture(model, "*.hook_resid_pre", "*.hook_resid_post") as acts:
        model(*(torch.tensor([ids]) for ids in inputs))
    results = {}
    for stack, n in (("encoder", model.config.n_encoder_layers), ("decoder", model.config.n_decoder_layers)):
        sites = [f"{stack}.blocks.0.hook_resid_pre", *(f"{stack}.blocks.{i}.hook_resid_post" for i in range(n))]
        results[stack] = [acts[site][0].double().numpy() for site in sites if n]
    return results


def cka(x: np.ndarray, y: np.ndarray) -> float:
    """Linear centred kernel alignment (Kornblith et al. 2019, sec. 3)."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    return float(np.linalg.norm(y.T @ x) ** 2 / (np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)))


def matrix(a: list[np.ndarray], b: list[np.ndarray]) -> list[list[float]]:
    return [[cka(one, other) for other in b] for one in a]


def test_replaced_tokens_are_compared_with_their_replacements(three_kinds: Path, drawings: dict[str, Drawing]):
    data = read(loaded("A", three_kinds, "gaps", text=LONG), loaded("B", three_kinds, "gaps", text=REPLACED))
    words = words_of(shown(lambda: layers.show(data)))
    assert "both models read A’s text here" not in words and "left out" not in words
    (drawn,) = drawings.values()
    a, b = (states(three_kinds, "gaps", side.model_run.inputs)["encoder"] for side in data.sides)
    assert np.abs(a[0] - b[0]).max() > 0.1
    np.testing.assert_allclose(drawn.cells("similarity"), matrix(a, b), atol=1e-4)
