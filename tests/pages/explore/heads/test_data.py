"""What the page Heads shows of a head: names, titles, files, and which heads the controls ask for."""

from dataclasses import replace
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


def test_axes_say_where_queries_and_keys_come_from():
    for architecture, attention, query, key in (
        ("encoder_decoder", "encoder", "source", "source"),
        ("encoder_decoder", "decoder", "decoder input", "decoder input"),
        ("encoder_decoder", "cross", "decoder input", "source"),
        ("encoder_only", "encoder", "text", "text"),
    ):
        run = {"architecture": architecture, "n_given": 2}
        names = heads(attention=attention, run={**run}).axis_names
        assert names == {"query_name": f"query: {query}", "key_name": f"key: {key}"}
        assert heads(run=run).axis_names_of(attention) == names


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


def test_files_are_called_after_the_head_and_the_quantity():
    for of, more, name in (
        (spec(ONE), (), "one-encoder-layer1-head2"),
        (spec(ONE, quantity="scores"), (), "one-encoder-layer1-head2-scores"),
        (spec(ONE, OTHER, quantity="log"), ("a", "b"), "one-encoder-2heads-log-a-b"),
    ):
        assert heads(spec=of).file_name(*more) == name


def test_the_spec_is_what_the_controls_ask_for():
    """Each choice changes just one field, of an attention of 2 layers with 3 heads."""
    view: Any = SimpleNamespace(attention="cross", layer=1, head=2)
    run: Any = SimpleNamespace(
        attention_maps={"cross": SimpleNamespace(shape=(2, 3, 9, 8)), "encoder": SimpleNamespace(shape=(5, 5, 9, 9))}
    )
    usual = heads_data._spec(view, run)
    assert usual == ViewSpec(heads=(ONE,))
    of_layer = tuple(HeadShare(layer=1, head=head) for head in range(3))
    first = tuple(HeadShare(layer=0, head=head) for head in range(3))
    for choice, value, changed in (
        (view_fields.QUANTITY, "log", {"quantity": "log"}),
        (view_fields.UNIT, "word", {"in_words": True}),
        (view_fields.HIDDEN, "special", {"hidden": frozenset({"special"})}),
        (view_fields.HIDDEN, "special+sinks", {"hidden": frozenset({"special", "sinks"})}),
        (view_fields.REST, "share", {"renormalise": True}),
        (view_fields.WINDOW, ((1, 2), (3, 4)), {"window": ((1, 2), (3, 4))}),
        (view_fields.MEAN, "layer", {"heads": of_layer}),
        (view_fields.MEAN, "all", {"heads": first + of_layer}),
        (view_fields.MIX, (OTHER, ONE), {"heads": (OTHER, ONE)}),
    ):
        choice.set(value)
        assert heads_data._spec(view, run) == replace(usual, **changed)
        choice.set(choice.usual)
    view_fields.MIX.set((ONE, OTHER))
    view_fields.MEAN.set("all")
    assert heads_data._spec(view, run).heads == first + of_layer, "a mean goes before a mixture"


def test_a_chosen_token_is_marked_where_its_word_stands():
    queries = Side(labels=("ab", "c"), tokens=(range(2, 4), range(4, 5)), first=1)
    keys = Side(labels=("x", "yz"), tokens=(range(1), range(1, 3)), first=0)
    cells = np.ones((2, 2))
    shown = HeadPicture(values=cells, mask=cells > 0, queries=queries, keys=keys, blocks=None, largest=None)
    for query, key, places in ((3, 2, (1, 1)), (4, 0, (2, 0)), (1, 3, (None, None)), (2, None, (1, None))):
        view_fields.QUERY.set(query)
        view_fields.KEY.set(key)
        assert marked(heads(), shown) == places
