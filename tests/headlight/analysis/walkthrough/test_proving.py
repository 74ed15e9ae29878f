"""The proof detects wrong numbers only, against float64 and against torch's own attention, or the reason why not."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headlight.analysis.interventions.context import with_interventions
from headlight.analysis.interventions.records import Ablation, Component, ComponentKind, InterventionStack
from headlight.analysis.walkthrough.all_heads import all_heads
from headlight.analysis.walkthrough.proving import FUNCTION, MODULE, largest_error
from headlight.analysis.walkthrough.walkthrough import Walkthrough, walk
from tests.headlight.analysis.walkthrough.small_walks import each_place, inputs_of, model_of, places, walked
from transformer_core.errors import ConfigError
from transformer_core.text.ids import IdTokenizer


@each_place
def test_every_number_is_proved(kind: str, attention: str, layer: int):
    there = walked(kind, attention, layer)
    proof = there.proof()
    assert proof.holds
    assert set(proof.errors) == {*there.quantities, "elementwise", "weighted"}
    pairs = 2 * len(there.query_labels) * len(there.key_labels) * model_of(kind).config.d_head
    assert proof.n_numbers == pairs + sum(quantity.values.size for quantity in there.quantities.values())
    assert proof.largest == max(proof.errors.values()) < 5e-5
    assert proof.torch_largest < 5e-5
    assert {"pattern", "z"} <= set(proof.torch_errors) <= {"pattern", "z", "concat", "attn_out"}
    assert (proof.torch_reason is None) == (proof.torch_function == "torch.nn.MultiheadAttention")


IN_ATTENTION: Mapping[ComponentKind, str] = {  # the quantity that each of them sets
    "head": "z",
    "query": "q",
    "key": "k",
    "value": "v",
    "pattern": "pattern",
    "attention": "attn_out",
}
AROUND: tuple[ComponentKind, ...] = ("feed_forward", "resid_pre", "resid_mid", "resid_post")
PLACES = [*enumerate(places())]  # parts take turns over the places, so that each kind of model has some of each


def with_ablation(kind: str, component: Component, *, attention: str, layer: int) -> Walkthrough | None:
    """A walk through the last head where a component is always 0; None where the model has none."""
    model, stack = model_of(kind), InterventionStack(entries=(Ablation(component=component, method="zero"),))
    try:
        changed = with_interventions(model, IdTokenizer.of(model.config), stack, "")
    except ConfigError:
        return None
    return walk(changed, inputs_of(kind), attention=attention, layer=layer, head=2)


@pytest.mark.parametrize(("part", "place"), [([*IN_ATTENTION][i % 6], place) for i, place in PLACES])
def test_what_an_intervention_sets_in_the_attention_is_named_and_the_rest_is_proved(
    part: ComponentKind, place: tuple[str, Any, int]
):
    """Torch's attention, which knows no interventions, is left out."""
    kind, attention, layer = place
    component = Component(kind=part, attention=attention, layer=layer)
    there, name = with_ablation(kind, component, attention=attention, layer=layer), IN_ATTENTION[part]
    assert there and there.proof().holds and not there.proof().torch_errors
    assert there.proof().torch_reason == "intervention"
    assert set(there.intervened) == ({name, "concat"} if part == "head" else {name})
    row, column = map(int, np.argwhere(there.intervened[name])[0])
    assert there.number(name, row, column).value == 0
    assert there.number(name, row, column).note == "intervention"


@pytest.mark.parametrize(("part", "at", "place"), [(AROUND[i % 4], i // 4 % 2, place) for i, place in PLACES])
def test_what_an_intervention_sets_around_the_attention_is_proved(
    part: ComponentKind, at: int, place: tuple[str, Any, int]
):
    kind, attention, layer = place
    stack: Any = "decoder" if attention == "cross" else attention
    there = with_ablation(kind, Component(kind=part, attention=stack, layer=at), attention=attention, layer=layer)
    if there is not None:
        assert there.proof().holds and there.proof().torch_errors
        handed_on = [("resid_pre", layer)] + [("resid_post", layer - 1)] * there.outline.is_pre_norm
        assert "x" in there.intervened or attention != stack or (part, at) not in handed_on


def spoilt(there: Walkthrough, name: str, *, by: float) -> Walkthrough:
    values = {each: quantity.values.copy() for each, quantity in there.quantities.items()}
    row, column = np.argwhere(np.isfinite(values[name]))[-1]
    values[name][row, column] += by
    return replace(there, values=values)


@pytest.mark.parametrize(("kind", "attention"), [("decoder, q/k norm", "decoder"), ("window", "decoder")])
def test_one_wrong_number_is_found_wherever_it_is(kind: str, attention: str):
    there = walk(model_of(kind), inputs_of(kind), attention=attention, layer=1, head=1)
    for name in there.quantities:
        proof = spoilt(there, name, by=1.0 if name == "mask" else 0.02).proof()
        assert not proof.holds, name
        assert proof.share_of_tolerance > 1
        downstream = {"q": "elementwise", "k": "elementwise", "v": "weighted", "pattern": "weighted"}
        assert proof.worst in (name, downstream.get(name))
        assert proof.errors[name] == pytest.approx(1.0 if name == "mask" else 0.02, rel=1e-2)


def test_torch_finds_what_float64_finds_too():
    there = walked("the paper's", "encoder", 0)
    for name in ("pattern", "z", "concat", "attn_out"):
        proof = spoilt(there, name, by=0.01).proof()
        assert proof.torch_share_of_tolerance > 1
        assert max(proof.torch_errors, key=proof.torch_errors.__getitem__) == name


@pytest.mark.parametrize(
    ("mine", "other", "error"),
    [(1.0, 1.5, 0.5), (-np.inf, -np.inf, 0), (-np.inf, 3.0, np.inf), (3.0, -np.inf, np.inf), (np.nan, 3.0, np.inf)],
)
def test_the_distance_of_infinities_and_of_what_is_no_number(mine: float, other: float, error: float):
    assert largest_error(np.array([0.0, mine]), np.array([0.0, other])) == error


@pytest.mark.parametrize(
    ("kind", "attention", "because"),
    [
        ("the paper's", "cross", None),
        ("not scaled", "decoder", None),
        ("alibi", "encoder", None),
        ("decoder, buckets", "decoder", None),
        ("rotary, groups", "cross", None),
        ("rotary, groups", "decoder", "rotary"),
        ("decoder, rotary", "decoder", "rotary"),
        ("encoder, buckets, groups", "encoder", "norm"),
        ("q/k norm with bias", "cross", "norm"),
        ("buckets", "encoder", "width"),
        ("encoder, gelu", "encoder", "cap"),
    ],
)
def test_which_function_is_asked(kind: str, attention: str, because: str | None):
    there = walked(kind, attention, 1)
    proof, seen = there.proof(), there._torch
    assert proof.torch_function == (MODULE if because is None else FUNCTION)
    assert proof.torch_reason == because
    assert set(seen.values) == ({"pattern", "z", "concat", "attn_out"} if because is None else {"pattern", "z"})
    sees_something = there.quantities["mask"].values.any(axis=1)
    for name, values in seen.values.items():
        assert (np.isfinite(values).all(axis=1) == sees_something).all()
        assert np.allclose(values[sees_something], there.quantities[name].values[sees_something], atol=2e-5)
        assert there.number(name, 1, 0).mha == float(values[1, 0])
    assert there.number("q", 1, 0).mha is None


def test_a_query_that_may_look_at_nothing_has_no_number_of_torch():
    there = walk(model_of("the paper's"), ((0, 0, 0), (1, 5)), attention="cross", layer=1, head=0)
    assert not there.quantities["pattern"].values.any()
    assert there.number("z", 0, 0).mha is None
    assert there.number("pattern", 0, 0).formula == "0"
    assert there.proof().holds


@each_place
def test_all_heads_at_once_are_the_same_by_the_formula_and_by_the_kernel(kind: str, attention: str, layer: int):
    model, there = model_of(kind), walked(kind, attention, layer)
    batched = all_heads(model, inputs_of(kind), attention=attention, layer=layer)
    n_heads, d_head, n_queries = model.config.n_heads, model.config.d_head, len(there.query_labels)
    assert batched.split == (1, n_queries, n_heads, d_head)
    assert batched.permuted == (1, n_heads, n_queries, d_head)
    assert batched.scores == (1, n_heads, n_queries, len(there.key_labels))
    if batched.difference is None:
        assert model.config.score_cap
    else:
        assert not model.config.score_cap and batched.difference < 1e-5
