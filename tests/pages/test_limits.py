"""Named limits at their edge: what is just within a limit is taken whole, and one more is cut, or told.

That each comparison with a limit has the right sign is checked by tests/lints/limit_signs.py.
"""

import html
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st

from pages.explore.compare import view_fields as compare_fields
from pages.learn.steps.data import MOST_SHOWN, StepsData
from pages.shared.model_bar import left_out
from pages.shared.view import long_texts
from tests.pages.conftest import OpenApp, words_of


def test_a_list_or_a_text_stands_in_the_address_up_to_a_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(st, "session_state", {})
    for n, is_long in ((compare_fields.MOST_LISTED, False), (compare_fields.MOST_LISTED + 1, True)):
        compare_fields.take_list("x" * n)
        assert bool(compare_fields.LONG_LIST.value) == is_long
        assert compare_fields.listed() == "x" * n
    for n, name in ((long_texts.MAX_PLAIN, "text"), (long_texts.MAX_PLAIN + 1, long_texts.packed_name("text"))):
        assert [*long_texts.parameters("text", "x" * n)] == [name]


def test_a_query_and_its_key_are_shown_together_as_far_as_both_have_room():
    n = 4 * MOST_SHOWN
    for apart in (MOST_SHOWN - 1, MOST_SHOWN):
        data: Any = SimpleNamespace(labels=((0,) * n,) * 2, query=n - 1, strongest_key=n - 1 - apart, is_cross=False)
        queries, keys = StepsData.shown.func(data)
        assert queries == keys and len(queries) == MOST_SHOWN and data.query in queries
        assert (data.strongest_key in keys) == (apart < MOST_SHOWN)


def test_a_text_that_fills_the_context_of_a_model_names_it():
    for n, names_context in ((30, False), (31, True), (32, True)):
        text: Any = SimpleNamespace(left_out=range(n, 40), target_left_out=range(0))
        (remark,) = left_out(text, context=32)
        assert ("context of 32 tokens" in remark) == names_context and f"first {n} tokens were read" in remark


LIST = {"view": "texts", "texts": "list", "list": "The cat.\nThe dog.\nThe cat sees."}
TOLD: Mapping[str, tuple[int, str, dict[str, str], str]] = {  # what the page has, its address, the note beyond
    "pages.explore.heads.figure.MOST_LINES": (31, "heads", {"as": "lines"}, "The line view is limited to"),
    "pages.explore.compare.data.MOST_TOKENS": (31, "compare", {}, "Comparisons are limited to texts of"),
    "pages.explore.compare.map.MOST_WORK": (8**2 * 31 * 12, "compare", {"view": "map"}, "is limited to texts of"),
    "pages.explore.compare.map.MOST_OPENED": (5, "compare", {"view": "map"}, "more</span>"),
    "pages.explore.compare.texts.MOST_LINES": (3, "compare", LIST, "only the first"),
    "pages.explore.decoding.blanks_data.MOST_BLANKS": (1, "decoding", {"model": "gaps"}, "can be filled; replace some"),
    "pages.learn.positions.model.MOST_TOKENS": (31, "positions", {"part": "model"}, "Scores can be decomposed for"),
    "pages.learn.positions.model.MOST_DRAWN": (31, "positions", {"part": "model"}, "This text is long: the matrices"),
}


@pytest.mark.usefixtures("three_kinds_here")
@pytest.mark.parametrize("limit", TOLD)
def test_a_page_tells_what_is_beyond_its_limit(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, limit: str):
    n, page, parameters, text = TOLD[limit]
    for most, is_told in ((n, False), (n - 1, True)):
        monkeypatch.setattr(limit, most)
        app = open_app(page, **parameters)
        assert not app.exception
        assert (text in html.unescape(words_of(app))) == is_told
