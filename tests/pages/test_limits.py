"""Named limits at their edge: what is just within a limit is taken whole, and one more is cut, refused, or told."""

import html
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.components.sampling import MOST_TOP_K, sent_sampling
from pages.explore.compare import head as compare_head
from pages.explore.compare import view_fields as compare_fields
from pages.explore.decoding import blanks_figures
from pages.explore.decoding import view_fields as decoding_fields
from pages.explore.decoding.components.branches import Node, _check, sent_node
from pages.explore.decoding.data import DecodingData
from pages.explore.heads import view_fields as heads_fields
from pages.learn import experiment_runs
from pages.learn.architecture.components import drawing
from pages.learn.architecture.data import ArchitectureData
from pages.learn.masks import leak
from pages.learn.masks.components.masks import matrix
from pages.learn.steps import remarks as steps_remarks
from pages.learn.steps.data import MOST_SHOWN, StepsData
from pages.learn.tour import page as tour_page
from pages.learn.tour import view_fields as tour_fields
from pages.learn.tour.lesson_engine import expression, reader
from pages.learn.tour.lesson_engine.errors import ExpressionError, LessonError
from pages.learn.tour.lesson_engine.typed import MOST_LETTERS as MOST_TYPED
from pages.learn.tour.lesson_engine.typed import number_typed
from pages.shared import prose, runs
from pages.shared.view import long_texts
from pages.train.film import head as film_head
from pages.train.train import batch_probabilities
from tests.pages.conftest import words_of
from transformer_core.analysis.heads.inventory import parameters_by_part
from transformer_core.config import ModelConfig
from transformer_core.decoding.settings import Sampling
from transformer_core.errors import HeadlightError, RunError

OpenApp = Callable[..., AppTest]


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The state of the session, without a page."""
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", state)
    return state


def raises(kind: type[Exception], act: Callable[[], object]) -> bool:
    """Whether it is refused."""
    try:
        act()
    except kind:
        return True
    return False


def tokens(*lengths: int) -> tuple[tuple[int, ...], ...]:
    return tuple((7,) * n for n in lengths)


def with_lessons_text(n: int) -> str:
    """A lesson of so many characters."""
    return "title: A\n\nText.".ljust(n, "x")


REFUSED: Mapping[str, tuple[int, Callable[[int], bool]]] = {  # the largest that is taken, and whether n is refused
    "branches in an address": (
        decoding_fields.MOST_BRANCHES,
        lambda n: raises(ValueError, lambda: decoding_fields._branches("~" * (n - 1))),
    ),
    "heads of a mixture": (
        heads_fields.MOST_MIXED,
        lambda n: raises(ValueError, lambda: heads_fields._mix("+".join(f"0.{head}" for head in range(n)))),
    ),
    "a node's number": (
        2**53 - 1,
        lambda n: raises(ValueError, lambda: _check([Node(id=n, parent=None, position=0, label="")], n, [])),
    ),
    "letters of an expression": (
        expression.MOST_LETTERS,
        lambda n: raises(ExpressionError, lambda: expression.parse("1".ljust(n))),
    ),
    "parts within each other": (
        expression.MOST_DEPTH,
        lambda n: raises(ExpressionError, lambda: expression.parse("(" * (n - 1) + "1" + ")" * (n - 1))),
    ),
    "letters of a number": (MOST_TYPED, lambda n: number_typed("1".ljust(n)) is None),
    "letters of a lesson": (
        reader.MOST_LETTERS,
        lambda n: raises(
            LessonError, lambda: reader.read_lesson(with_lessons_text(n), name="a", file="a.md", pages={})
        ),
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_largest_is_taken_and_one_more_is_refused(what: str):
    most, is_refused = REFUSED[what]
    assert (is_refused(most), is_refused(most + 1)) == (False, True)


HEARD: Mapping[str, tuple[int, Callable[[int], object], Callable[[], object]]] = {  # from the browser
    "a node": (2**53 - 1, lambda n: {"node": {"id": n}}, lambda: sent_node("key")),
    "top-k": (
        MOST_TOP_K,
        lambda n: {
            "sampling": {"revision": 1, "value": {"temperature": 1, "top_k": n, "top_p": 1, "min_p": 0}},
        },
        lambda: sent_sampling("key", Sampling()),
    ),
    "a block's name": (
        drawing._LONGEST,
        lambda n: {"block": {"revision": 1, "value": "x" * n}},
        lambda: drawing.sent_block("key"),
    ),
    "a cell": (
        matrix.MOST_CELLS - 1,
        lambda n: {"turned": {"revision": 1, "value": [n]}},
        lambda: matrix.sent_turned("key"),
    ),
    "cells": (
        matrix.MOST_CELLS,
        lambda n: {"turned": {"revision": 1, "value": [0] * n}},
        lambda: matrix.sent_turned("key"),
    ),
}


@pytest.mark.parametrize("what", HEARD)
def test_the_browser_may_send_as_much_and_no_more(session: dict[str, Any], what: str):
    most, sent, heard = HEARD[what]
    session["key"] = sent(most)
    assert heard() is not None
    session["key"] = sent(most + 1)
    assert heard() is None


def test_names_and_what_follows_them_are_cut_with_a_sign_of_it(monkeypatch: pytest.MonkeyPatch):
    assert film_head._short("x" * film_head.MAX_SHOWN) == "x" * film_head.MAX_SHOWN
    assert film_head._short("x" * (film_head.MAX_SHOWN + 1)) == "x" * (film_head.MAX_SHOWN - 1) + "…"
    tokenizer: Any = SimpleNamespace(labels=lambda ids: tuple(map(str, ids)))
    turned = [
        leak._turned(SimpleNamespace(turned=[(i, 1, 2) for i in range(n)]), tokenizer)[0]  # type: ignore[arg-type]
        for n in (leak.MOST_TURNED, leak.MOST_TURNED + 1)
    ]
    assert [text.count("→") for text in turned] == [leak.MOST_TURNED] * 2
    assert [" …" in text for text in turned] == [False, True]
    pairs = [SimpleNamespace(is_replaced=True, label=f"t{i}") for i in range(compare_head.MOST_NAMED + 1)]
    for n, more in ((len(pairs) - 1, ""), (len(pairs), " and 1 more")):
        sides: Any = SimpleNamespace(pairs=pairs[:n], only_a=(), only_b=())
        said = compare_head._paired(sides, "tokens")
        assert said.replace("\u2068", "").replace("\u2069", "").endswith(f" t{compare_head.MOST_NAMED - 1}{more}).")
    notes: list[str] = []
    monkeypatch.setattr(prose, "note", notes.append)
    names = [f"{i}.txt" for i in range(tour_page.MOST_NAMED + 1)]
    for n, is_cut in ((len(names) - 1, False), (len(names), True)):
        monkeypatch.setattr(tour_page.lessons, "not_read", lambda n=n: names[:n])
        tour_page._tell_of_others()
        assert names[tour_page.MOST_NAMED - 1] in notes[-1] and names[-1] not in notes[-1]
        assert (", …" in notes[-1]) == is_cut


@pytest.mark.usefixtures("session")
def test_answers_that_a_browser_kept_are_taken_up_to_a_limit():
    most, letters = tour_fields.MOST_ANSWERS, tour_fields.MOST_LETTERS
    tour_fields.restore(
        {"all": [None] * most, "more": [None] * (most + 1), "long": ["x" * letters], "longer": ["x" * (letters + 1)]}
    )
    assert [*tour_fields._ANSWERS.value] == ["all", "long"]


@pytest.mark.usefixtures("session")
def test_a_list_or_a_text_stands_in_the_address_up_to_a_limit():
    for n, is_long in ((compare_fields.MOST_LISTED, False), (compare_fields.MOST_LISTED + 1, True)):
        compare_fields.take_list("x" * n)
        assert compare_fields.is_too_long_for_links() == is_long
        assert compare_fields.listed() == "x" * n
    for n, name in ((long_texts.MAX_PLAIN, "text"), (long_texts.MAX_PLAIN + 1, long_texts.packed_name("text"))):
        assert [*long_texts.parameters("text", "x" * n)] == [name]


@pytest.mark.usefixtures("session")
def test_writing_stops_at_the_pages_own_limit():
    limit, tree = decoding_fields.LIMIT.value, SimpleNamespace(is_over=lambda at: False)
    for n, is_at_limit in ((limit - 1, False), (limit, True)):
        data = SimpleNamespace(tree=tree, at=0, n_written=n)
        assert DecodingData.is_at_limit.fget(data) == is_at_limit


def test_all_blanks_are_drawn_up_to_a_limit_and_then_the_most_certain_open_ones():
    most = blanks_figures.MOST_DRAWN
    for n, drawn in ((most, range(most)), (most + 1, range(1, most + 1))):
        open_ones = range(1, n)  # the first is filled
        certain_first = [SimpleNamespace(position=position) for position in reversed(open_ones)]
        data: Any = SimpleNamespace(
            tree=SimpleNamespace(masks=[*range(n)]), state=SimpleNamespace(certain_first=certain_first)
        )
        assert blanks_figures._places(data) == [*drawn]


def test_a_text_is_cut_for_the_activations_of_an_architecture(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pages.learn.architecture.data.MOST_TOKENS", 5)
    for lengths, cut in (((5, 5), (5, 5)), ((5, 6), (5, 5)), ((6, 2), (5, 2))):
        data: Any = SimpleNamespace(model_run=SimpleNamespace(inputs=tokens(*lengths)))
        data.inputs = vars(ArchitectureData)["inputs"].func(data)
        assert data.inputs == tokens(*cut)
        assert vars(ArchitectureData)["is_cut"].fget(data) == (lengths != cut)


def test_a_query_and_its_key_are_shown_together_as_far_as_both_have_room():
    n = 4 * MOST_SHOWN
    for apart in (MOST_SHOWN - 1, MOST_SHOWN):
        data: Any = SimpleNamespace(labels=((0,) * n,) * 2, query=n - 1, strongest_key=n - 1 - apart, is_cross=False)
        queries, keys = StepsData.shown.func(data)
        assert queries == keys and len(queries) == MOST_SHOWN and data.query in queries
        assert (data.strongest_key in keys) == (apart < MOST_SHOWN)


def test_attention_beyond_what_is_shown_is_told_from_a_hundredth_on():
    least = steps_remarks.LEAST_ELSEWHERE
    for share, n in ((np.nextafter(least, 0), 0), (least, 1)):
        data: Any = SimpleNamespace(
            weight_elsewhere=share, strongest_key=30, shown=(range(24), range(24)), labels=(["x"] * 40,) * 2
        )
        assert len(steps_remarks.elsewhere(data)) == n


def test_as_many_experiments_wait_as_may(session: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADLIGHT_RUNS", str(tmp_path))
    started: list[object] = []
    monkeypatch.setattr(runs.launcher(), "start", lambda *arguments: started.append(arguments))
    asked: Any = SimpleNamespace(kind="masks", arguments=[])
    for n_at_work, is_refused in ((experiment_runs.MOST_WAITING, False), (experiment_runs.MOST_WAITING + 1, True)):
        monkeypatch.setattr(experiment_runs, "at_work", lambda n=n_at_work: [None] * n)  # one of them trains
        assert raises(RunError, lambda: experiment_runs.start(asked)) == is_refused
    assert len(started) == 1


def test_an_untrained_model_is_made_up_to_a_size(monkeypatch: pytest.MonkeyPatch):
    config = ModelConfig(vocab_size=10, d_model=8, d_ff=8, n_heads=2, n_encoder_layers=1, n_decoder_layers=1)
    n = sum(parameters_by_part(config).values())
    for most, is_refused in ((n - 1, True), (n, False)):  # what was made is kept
        monkeypatch.setattr(batch_probabilities, "_MOST_PARAMETERS", most)
        assert raises(HeadlightError, lambda: batch_probabilities._untrained(config, 1)) == is_refused


LIST = {"view": "texts", "texts": "list", "list": "The cat.\nThe dog.\nThe cat sees."}
TOLD: Mapping[str, tuple[int, str, dict[str, str], str]] = {  # what the page has, its address, what is told beyond
    "pages.explore.heads.figure.MOST_LINES": (31, "heads", {"as": "lines"}, "The line view is limited to"),
    "pages.explore.compare.data.MOST_TOKENS": (31, "compare", {}, "Comparisons are limited to texts of"),
    "pages.explore.compare.mapped.MOST_WORK": (8**2 * 31 * 12, "compare", {"view": "map"}, "is limited to texts of"),
    "pages.explore.compare.map.MOST_OPENED": (5, "compare", {"view": "map"}, "more</span>"),
    "pages.explore.compare.texts.MOST_LINES": (3, "compare", LIST, "only the first"),
    "pages.explore.decoding.blanks_data.MOST_BLANKS": (
        1,
        "decoding",
        {"model": "gaps"},
        "can be filled; replace some with words",
    ),
    "pages.learn.positions.model.MOST_TOKENS": (
        31,
        "positions",
        {"part": "model"},
        "Scores can be decomposed for texts",
    ),
    "pages.learn.positions.model.MOST_DRAWN": (
        31,
        "positions",
        {"part": "model"},
        "This text is long: the matrices show",
    ),
}


@pytest.mark.slow
@pytest.mark.usefixtures("three_kinds_here")
@pytest.mark.parametrize("limit", TOLD)
def test_a_page_tells_what_is_beyond_its_limit(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, limit: str):
    n, page, parameters, told = TOLD[limit]
    for most, is_told in ((n, False), (n - 1, True)):
        monkeypatch.setattr(limit, most)
        app = open_app(page, **parameters)
        assert not app.exception
        assert (told in html.unescape(words_of(app))) == is_told
