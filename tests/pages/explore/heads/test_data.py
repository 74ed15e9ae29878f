"""What the page Heads shows of a head, in words and as a wish: names, titles, files, and which heads they are of."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import streamlit as st

from pages.explore.heads import data as heads_data
from pages.explore.heads import view_fields
from pages.explore.heads.data import marked
from tests.pages.explore.heads.heads_parts import heads
from transformer_core.analysis.heads.picture import HeadPicture, HeadShare, Side, ViewSpec

ONE, OTHER = HeadShare(layer=1, head=2), HeadShare(layer=0, head=3, weight=0.5)


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", kept)
    return kept


@pytest.mark.parametrize(
    ("architecture", "attention", "names"),
    [
        ("encoder_decoder", "encoder", ("query: source", "key: source")),
        ("encoder_decoder", "decoder", ("query: decoder input", "key: decoder input")),
        ("encoder_decoder", "cross", ("query: decoder input", "key: source")),
        ("encoder_only", "encoder", ("query: text", "key: text")),
        ("decoder_only", "decoder", ("query: text", "key: text")),
    ],
)
def test_axes_say_which_tokens_ask_and_which_are_looked_at(architecture: str, attention: str, names: tuple[str, str]):
    data = heads(attention=attention, run={"architecture": architecture, "n_given": 2})
    assert data.axis_names == {"query_name": names[0], "key_name": names[1]}
    assert heads(run={"architecture": architecture, "n_given": 2}).axis_names_of(attention) == data.axis_names


@pytest.mark.parametrize(
    ("architecture", "n_given", "begins"),
    [("decoder_only", 3, 3), ("decoder_only", 4, None), ("encoder_decoder", 3, None)],
)
def test_a_continuation_begins_with_the_first_token_that_was_written(
    architecture: str, n_given: int, begins: int | None
):
    run = {"architecture": architecture, "n_given": n_given, "target": tuple("uvwx")}
    data = heads(attention="decoder", run=run)
    assert data.generated_from == begins
    assert data.given_share == (None if begins is None else 0.75)
    part = "" if begins is None else " (generated from token 3 on)"
    name = "text" if architecture == "decoder_only" else "decoder input"
    assert data.axis_names == {"query_name": f"query: {name}{part}", "key_name": f"key: {name}{part}"}


def spec(*shares: HeadShare, **more: Any) -> ViewSpec:
    return ViewSpec(heads=shares, **more)


@pytest.mark.parametrize(
    ("mean", "shares", "who"),
    [
        ("", (ONE,), "encoder self-attention L1.H2"),
        ("layer", (ONE,), "encoder self-attention L1, mean over heads"),
        ("all", (ONE, OTHER), "encoder self-attention, mean over all heads"),
        ("", (OTHER, ONE), "encoder self-attention, mean of heads L0.H3, L1.H2"),
    ],
)
def test_a_title_says_whose_attention_it_is(mean: str, shares: tuple[HeadShare, ...], who: str):
    view_fields.MEAN.set(mean)
    assert heads(spec=spec(*shares)).who == who
    assert heads(spec=spec(*shares)).title == f"Attention pattern: {who}"
    assert heads(spec=spec(*shares, quantity="scores")).title.endswith(f": {who}")
    assert "pattern" not in heads(spec=spec(*shares, quantity="scores")).title


@pytest.mark.parametrize(
    ("of", "more", "name"),
    [
        (spec(ONE), (), "one-encoder-layer1-head2"),
        (spec(ONE, quantity="scores"), (), "one-encoder-layer1-head2-scores"),
        (spec(ONE, OTHER), ("lines",), "one-encoder-2heads-lines"),
        (spec(ONE, OTHER, quantity="log"), ("a", "b"), "one-encoder-2heads-log-a-b"),
    ],
)
def test_files_are_called_after_the_head_and_the_quantity(of: ViewSpec, more: tuple[str, ...], name: str):
    assert heads(spec=of).file_name(*more) == name


def wish(**chosen: Any) -> ViewSpec:
    """What is drawn of the chosen head of an attention of 2 layers with 3 heads."""
    for name, value in chosen.items():
        getattr(view_fields, name).set(value)
    view: Any = SimpleNamespace(attention="cross", layer=1, head=2)
    run: Any = SimpleNamespace(
        attention_maps={"cross": SimpleNamespace(shape=(2, 3, 9, 8)), "encoder": SimpleNamespace(shape=(5, 5, 9, 9))}
    )
    return heads_data._spec(view, run)


def test_without_anything_else_the_chosen_head_is_drawn():
    assert wish() == ViewSpec(heads=(HeadShare(layer=1, head=2),))


def test_a_mean_is_of_all_heads_of_its_layer_or_of_the_attention():
    of_layer = tuple(HeadShare(layer=1, head=head) for head in range(3))
    assert wish(MEAN="layer").heads == of_layer
    assert wish(MEAN="all").heads == tuple(HeadShare(layer=0, head=head) for head in range(3)) + of_layer
    assert wish(MEAN="all", MIX=(ONE, OTHER)).heads[0] == HeadShare(layer=0, head=0), "a mean goes before a mixture"
    assert wish(MEAN="", MIX=(OTHER, ONE)).heads == (OTHER, ONE)


@pytest.mark.parametrize(
    ("chosen", "field", "value"),
    [
        ({"QUANTITY": "log"}, "quantity", "log"),
        ({"UNIT": "word"}, "in_words", True),
        ({"HIDDEN": "special"}, "hidden", {"special"}),
        ({"HIDDEN": "special+sinks"}, "hidden", {"special", "sinks"}),
        ({"REST": "share"}, "renormalise", True),
        ({"WINDOW": ((1, 2), (3, 4))}, "window", ((1, 2), (3, 4))),
    ],
)
def test_each_choice_changes_just_what_it_says(chosen: dict[str, Any], field: str, value: Any):
    usual = wish()
    changed = wish(**chosen)
    assert getattr(changed, field) == value != getattr(usual, field)
    others = ("heads", "quantity", "in_words", "hidden", "renormalise", "window")
    assert all(getattr(changed, name) == getattr(usual, name) for name in others if name != field)


def test_a_chosen_token_is_marked_where_its_word_stands():
    queries = Side(labels=("ab", "c"), tokens=(range(2, 4), range(4, 5)), first=1)
    keys = Side(labels=("x", "yz"), tokens=(range(1), range(1, 3)), first=0)
    cells = np.ones((2, 2))
    shown = HeadPicture(values=cells, mask=cells > 0, queries=queries, keys=keys, blocks=None, largest=None)
    for query, key, places in ((3, 2, (1, 1)), (4, 0, (2, 0)), (1, 3, (None, None)), (2, None, (1, None))):
        view_fields.QUERY.set(query)
        view_fields.KEY.set(key)
        assert marked(heads(), shown) == places
