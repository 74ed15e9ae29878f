"""How clicks change the view of the page Compare: heads, what is changed in them, and a list."""

from typing import Any

import pytest
import streamlit as st

from pages.explore.compare import view_fields
from transformer_core.analysis.heads.measures import HeadName


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


def test_what_is_done_to_heads_and_to_which_are_chosen_apart():
    field, heads = view_fields.CHANGE_B, [HeadName("cross", 0, 1), HeadName("encoder", 0, 2)]
    view_fields.change_kind(field, "off", heads[0])
    assert field.value == "off:cross.0.1" and view_fields.has_new_change()
    assert not view_fields.has_new_change(), "asked once"
    view_fields.change_heads(field, heads)
    assert field.value == "off:cross.0.1+encoder.0.2"
    view_fields.change_kind(field, "even", HeadName("decoder", 2, 2))
    assert field.value == "even:cross.0.1+encoder.0.2", "the heads stay"
    view_fields.change_heads(field, [])
    assert field.value == "" and not view_fields.has_new_change()
    view_fields.change_kind(field, "off", heads[1])
    view_fields.change_kind(field, "", heads[0])
    assert field.value == "" and view_fields.CHANGE_A.value == ""


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
