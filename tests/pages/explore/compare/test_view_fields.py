"""How clicks change the view of the Compare page: heads, what is changed in them, and a list."""

from typing import Any

import pytest
import streamlit as st
from hypothesis import example, given
from hypothesis import strategies as st_

from headlight.analysis.heads.measures import HeadName
from headlight.analysis.interventions.records import Ablation, Component, InterventionStack
from pages.explore.compare import ablation, view_fields


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", kept)
    return kept


def test_heads_on_the_side_of_a_snapshot_are_its_own():
    """The bar's model may have fewer heads than a snapshot of a training."""
    head = HeadName("cross", 1, 3)
    view_fields.choose_head_a(head)
    assert view_fields.HEAD_A.value is None
    view_fields.WEIGHTS_A.set("pairs@40")
    view_fields.choose_head_a(head)
    assert view_fields.HEAD_A.value == head
    assert [st.session_state[part] for part in ("attention", "layer", "head")] == ["cross", 1, 3]


def test_a_head_that_is_opened_is_seen_on_its_side():
    bs = HeadName("decoder", 1, 2)
    view_fields.HEAD_B.set(bs)
    view_fields.VIEW.set("map")
    view_fields.CELL.set((3, 1))
    view_fields.open_on("A", HeadName("cross", 0, 3))
    assert (view_fields.HEAD_B.value, view_fields.VIEW.value, view_fields.CELL.value) == (bs, "one", None)
    assert [st.session_state[part] for part in ("attention", "layer", "head")] == ["cross", 0, 3]
    view_fields.open_on("B", HeadName("encoder", 0, 1))
    assert view_fields.HEAD_B.value == HeadName("encoder", 0, 1)
    assert st.session_state["attention"] == "cross"
    view_fields.open_both(bs)
    assert view_fields.HEAD_B.value is None, "as A's"
    assert [st.session_state[part] for part in ("attention", "layer", "head")] == [*bs]


def test_the_head_of_b_may_be_as_a_s_on_a_s_text():
    view_fields.choose_head_b(None)
    assert view_fields.TEXT_B.value == "", "else the page would look for another text"
    view_fields.TEXT_B.set("c d")
    view_fields.choose_head_b(None)
    assert view_fields.TEXT_B.value == "c d"
    view_fields.TEXT_B.set(None)
    view_fields.choose_head_b(HeadName("cross", 0, 0))
    assert view_fields.TEXT_B.value is None


def test_heads_are_ablated_as_far_as_a_stack_has_room():
    field, heads = view_fields.CHANGE_B, [HeadName("cross", 0, 1), HeadName("encoder", 0, 2)]
    view_fields.ablate(field, "zero", heads)
    zeroed = (Component(kind="head", attention=of.attention, layer=0, heads=(of.head,)) for of in heads)
    assert field.value == InterventionStack(entries=tuple(Ablation(component=one, method="zero") for one in zeroed))
    assert view_fields.NEW_CHANGE.pop()
    view_fields.ablate(field, "uniform", [HeadName("cross", layer, 0) for layer in range(33)])
    assert "at most 32 interventions" in view_fields.CHANGE_NOTE.pop() and len(field.value.entries) == 2
    for method, chosen in (("zero", []), ("", heads)):
        view_fields.ablate(field, method, chosen)
        assert field.value == view_fields.CHANGE_A.value == InterventionStack() and not view_fields.NEW_CHANGE.pop()


@given(
    st_.lists(
        st_.tuples(st_.sampled_from(["encoder", "decoder", "cross"]), st_.integers(0, 9), st_.integers(0, 9999)),
        min_size=1,
        max_size=5,
        unique=True,
    ),
    st_.sampled_from([("off", "zero"), ("even", "uniform")]),
)
def test_a_link_names_a_stack_and_an_older_one_its_heads(heads: list[tuple[str, int, int]], method: tuple[str, str]):
    read, write = view_fields.CHANGE_B.read, view_fields.CHANGE_B.write
    stack = read(f"{method[0]}:" + "+".join(f"{attention}.{layer}.{head}" for attention, layer, head in heads))
    assert read(write(stack)) == stack == ablation.ablation(method[1], heads)
    assert ablation.method_of(stack) == method[1] and {*ablation.ablated_heads(stack)} == {*heads}


@given(st_.text(max_size=80) | st_.text("ofevn:crd.+0123456789 \n[]{}", max_size=40))
@example("off:cross.1.2+")
@example("off:cross.1.12345")
@example("even:decoder.1.2\n")
@example("off:elsewhere.0.0")
@example("[" * 9000)
def test_anything_in_a_link_is_a_stack_or_refused_in_a_sentence(text: str):
    try:
        stack = view_fields.CHANGE_B.read(text)
    except ValueError as error:
        assert 10 < len(str(error)) < 250
    else:
        assert stack == InterventionStack() or ablation.method_of(stack) in ablation.METHODS


def test_it_is_a_first_visit_once_and_only_where_no_head_was_chosen(
    session: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    usual = HeadName("cross", 2, 0)
    for address, head, is_first in (
        ({}, usual, True),
        ({}, HeadName("cross", 0, 2), False),
        ({}, HeadName("decoder", 2, 0), False),
        ({"head": "0"}, usual, False),  # a link names it
        ({"text": "a"}, usual, True),
    ):
        session.clear()
        monkeypatch.setattr(st, "query_params", address)
        session |= dict(zip(("attention", "layer", "head"), head, strict=True))
        assert view_fields.is_first_visit(usual) == is_first
        assert not view_fields.is_first_visit(usual), "asked once"
