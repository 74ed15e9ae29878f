"""How clicks change the view of the Heads page: cells, windows, and heads that are combined."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import streamlit as st

from headlight.analysis.heads.picture import HeadPicture, HeadShare, PictureAxis
from pages.explore.heads import view_fields
from pages.shared import prose
from pages.shared.view import state
from pages.shared.view.fields import written


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The cross-attention of layer 2, head 1."""
    kept: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", kept)
    for choice, value in ((state.ATTENTION, "cross"), (state.LAYER, 2), (state.HEAD, 1)):
        choice.set(value)
    return kept


def side(first: int, *tokens: range) -> PictureAxis:
    return PictureAxis(labels=tuple(str(places) for places in tokens), tokens=tokens, first=first)


def picture(queries: PictureAxis, keys: PictureAxis) -> HeadPicture:
    """A picture of two sides; its numbers play no part."""
    cells = np.ones((len(queries.tokens), len(keys.tokens)))
    return HeadPicture(values=cells, mask=cells > 0, queries=queries, keys=keys, blocks=None, largest=None)


WORDS = picture(  # a part of a text: words 3 to 5 of the queries, and words 1 and 2 of the keys, one token missing
    side(3, range(4, 6), range(6, 7), range(7, 10)), side(1, range(2, 5), range(6, 8))
)


def chosen() -> tuple[int | None, int | None]:
    return view_fields.QUERY.value, view_fields.KEY.value


@pytest.mark.parametrize(
    ("cell", "tokens"),
    [
        ((3, 1), (4, 2)),
        ((4, None), (6, None)),
        ((2, 2), (None, 6)),  # before what is shown
        ((5, 3), (7, None)),  # after it
        (None, (None, None)),
    ],
)
def test_a_cell_is_kept_as_tokens_of_the_whole_text(cell: Any, tokens: tuple[int | None, int | None]):
    view_fields.choose_cell((3, 1), WORDS)
    view_fields.choose_cell(cell, WORDS)
    assert chosen() == tokens


def test_a_token_among_the_lines_is_kept_as_one_of_the_whole_text(session: dict[str, Any]):
    for sent, tokens in (
        ({"query": 2, "key": 0}, (7, 2)),  # the lines count from the first that they show
        ({"query": 1, "key": None}, (6, None)),
        ({"query": True, "key": 1.0}, (None, None)),
        ({"query": -1, "key": 2}, (None, None)),
        ({"key": 1}, (None, 6)),
        *((sent, (None, 6)) for sent in (None, "3", [2, 0], 7)),  # what lines never send changes nothing
    ):
        session["heads-lines"] = {"cell": {"revision": 1, "value": sent}}
        view_fields.choose_line("heads-lines", WORDS)
        assert chosen() == tokens


@pytest.mark.parametrize(
    ("drawn", "kept"),
    [
        ((range(3, 5), range(1, 2)), ((4, 6), (2, 4))),  # whole words
        ((range(4), range(99)), ((4, 5), (2, 7))),  # what reaches beyond is cut
        ((range(3), range(1, 3)), None),  # nothing that is shown
        (None, None),  # all of the text
    ],
)
def test_a_window_of_a_part_in_words_is_kept_in_tokens_of_the_whole_text(drawn: Any, kept: Any):
    view_fields.WINDOW.set(((0, 1), (0, 1)))
    view_fields.choose_window(drawn, WORDS)
    assert view_fields.WINDOW.value == kept


def mix() -> list[tuple[int, int]]:
    return [(share.layer, share.head) for share in view_fields.MIX.value]


def test_heads_are_put_together_beginning_with_the_chosen_one_and_taken_away_again():
    view_fields.MEAN.set("layer")
    view_fields.toggle(0, 3)
    assert mix() == [(2, 1), (0, 3)] and view_fields.MEAN.value == ""
    view_fields.toggle(3, 0)
    assert mix() == [(2, 1), (0, 3), (3, 0)]
    view_fields.MEAN.set("all")
    view_fields.toggle(0, 3)
    assert mix() == [(2, 1), (3, 0)] and view_fields.MEAN.value == ""
    assert written([view_fields.MIX]) == {"mix": "2.1+3.0"}
    view_fields.toggle(2, 1)
    assert mix() == [], "a head that is left alone is no mixture"
    view_fields.toggle(2, 1)
    assert mix() == [], "nor is the chosen one with itself"


@pytest.mark.parametrize(
    ("pinned", "mixed", "toasts"),
    [
        (("cross", 0, 3), [(2, 1), (0, 3)], 0),
        (("decoder", 0, 3), [], 1),
        *((pinned, [], 0) for pinned in (("cross", -1, 3), ("cross", 0.0, 3), ("cross", 1), "cross", None)),
    ],
)
def test_only_heads_of_the_same_attention_are_pinned(
    session: dict[str, Any], monkeypatch: pytest.MonkeyPatch, pinned: Any, mixed: Sequence[tuple[int, int]], toasts: int
):
    messages: list[str] = []
    monkeypatch.setattr(prose, "toast", messages.append)
    names = ("attention", "layer", "head")
    sent = dict(zip(names, pinned, strict=False)) if isinstance(pinned, tuple) else pinned
    session[state.OVERVIEW] = {"pinned": sent}
    view_fields.on_pinned()
    assert (mix(), len(messages)) == (mixed, toasts)


def test_what_another_text_or_model_does_not_have_is_let_go():
    shares = [HeadShare(layer=layer, head=head) for layer, head in ((2, 0), (0, 4), (1, 3), (2, 4))]
    view_fields.MIX.set(tuple(shares))
    view_fields.QUERY.set(6)
    view_fields.KEY.set(7)
    view_fields.WINDOW.set(((6, 9), (7, 9)))
    before = written(view_fields.FIELDS)
    view_fields.fit(3, 5, 7, 8)  # all that was chosen is just there
    assert written(view_fields.FIELDS) == before
    view_fields.fit(3, 4, 7, 7)  # a head and a key fewer
    assert mix() == [(2, 0), (1, 3)]
    assert chosen() == (6, None) and view_fields.WINDOW.value is None
    view_fields.WINDOW.set(((6, 9), (2, 9)))
    view_fields.fit(2, 4, 6, 8)  # a layer and a query fewer
    assert mix() == [], "one head is no mixture"
    assert chosen() == (None, None) and view_fields.WINDOW.value is None
