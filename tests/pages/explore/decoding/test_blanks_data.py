"""Which blanks are filled, with what, and which is shown: against the tree of the core, step by step."""

from typing import Any

import pytest

from pages.explore.decoding.blanks_data import BlanksData
from tests.pages.explore.decoding.blanks_parts import FILLED, PLACE, REQUEST, STEP, drawn, written
from transformer_core.decoding.filling import Filling, FillingTree

pytestmark = pytest.mark.usefixtures("three_kinds_here")


def current(**session: Any) -> tuple[BlanksData, Any]:
    results: list[BlanksData] = []
    app = drawn(results.append, **session)
    return results[0], app


def looked_at(**session: Any) -> int:
    """The selected blank."""
    results: list[int] = []
    drawn(lambda data: results.append(data.place), **session)
    return results[0]


def pairs(filling: Filling) -> list[tuple[int, int]]:
    return [(step.position, step.chosen.token) for step in filling.steps]


def test_at_first_all_is_open_and_the_surest_blank_is_next(tree: FillingTree):
    data, app = current()
    surest = max(tree.read().blanks.values(), key=lambda blank: blank.best.log_prob)
    assert (data.next_place, looked_at(), data.steps) == (surest.position, surest.position, {})
    assert data.at == data.whole == Filling() and data.beside is None and data.notes == ()
    assert (app.session_state[FILLED], app.session_state[STEP]) == ("", None)
    assert data.labels(data.at) == [*data.given.labels]


@pytest.mark.parametrize("request_of", ["next", "all"])
def test_a_request_fills_one_blank_or_all(tree: FillingTree, request_of: str):
    data, app = current(**{REQUEST: request_of})
    expected = tree.fill() if request_of == "next" else tree.fill_all()
    assert pairs(data.at) == pairs(data.whole) == pairs(expected)
    assert app.session_state[FILLED] == written(expected) and app.session_state[STEP] is None
    assert REQUEST not in app.session_state, "asked once"
    if data.beside is not None:
        alone = tree.read().blanks
        assert pairs(data.beside) == [(place, alone[place].best.token) for place, _ in pairs(expected)]


def test_a_step_back_shows_less_and_forgets_nothing(tree: FillingTree):
    whole = tree.fill_all()
    everything = {FILLED: written(whole)}
    for session, n, step in (
        ({STEP: 1}, 1, 1),
        ({STEP: 0}, 0, 0),
        ({STEP: 9}, 2, None),
        ({STEP: 0, REQUEST: "next"}, 1, 1),  # the same step again keeps what was filled later
        ({STEP: 1, REQUEST: "next"}, 2, None),
    ):
        data, app = current(**everything, **session)
        assert (pairs(data.at), pairs(data.whole)) == (pairs(whole)[:n], pairs(whole))
        assert (app.session_state[FILLED], app.session_state[STEP]) == (written(whole), step)
        assert (data.beside is None) == (n < 2)
        if n < 2:
            assert data.next_place == pairs(whole)[n][0]


def test_another_token_opens_what_came_after_it(tree: FillingTree):
    whole = tree.fill_all()
    (first, _), (second, _) = pairs(whole)
    other = tree.read().blanks[first].candidates(3)[2].token
    data, app = current(**{FILLED: written(whole), REQUEST: (first, other)})
    assert pairs(data.at) == pairs(data.whole) == [(first, other)]
    assert app.session_state[FILLED] == f"{first}:{other}" and data.next_place == second
    assert data.blank(first).best.token == tree.read().blanks[first].best.token, "as before"
    data, _ = current(**{FILLED: written(whole), REQUEST: (second, other)})
    assert pairs(data.at) == [pairs(whole)[0], (second, other)]


def test_a_word_is_put_in_as_its_token_and_an_unknown_one_is_a_note(tree: FillingTree):
    place = tree.masks[1]
    data, _ = current(**{REQUEST: (place, "dog")})
    assert [data.label(token) for _, token in pairs(data.at)] == ["dog"] and pairs(data.at)[0][0] == place
    data, app = current(**{FILLED: written(tree.fill()), REQUEST: (place, "zebra crossing")})
    assert len(data.notes) == 1 and "has 2 tokens, but one is needed" in data.notes[0]
    assert pairs(data.at) == pairs(tree.fill()) and app.session_state[FILLED] == written(tree.fill())


@pytest.mark.parametrize("filled", ["nonsense", "1:2.", "0:5", "x" * 50])
def test_a_link_that_cannot_be_followed_is_a_note(filled: str):
    data, app = current(**{FILLED: filled})
    assert len(data.notes) == 1 and data.notes[0].startswith(
        "The blanks in the link cannot" if filled == "0:5" else f"The link has filled=“{filled[:40]}”; the format"
    )
    assert data.whole == Filling() and app.session_state[FILLED] == ""


def test_the_chosen_blank_is_shown_or_else_the_next_or_the_last(tree: FillingTree):
    for place in tree.masks:
        assert looked_at(**{PLACE: place}) == place
    assert looked_at(**{PLACE: 0}) == looked_at(), "no blank is there"
    results: list[tuple[int, int]] = []
    text = "The ____ sees the ____ and the ____."
    drawn(lambda data: results.append((data.place, data.at.steps[-1].position)), text=text, **{REQUEST: "all"})
    ((place, last),) = results
    assert place == last


def test_a_text_that_is_cut_is_a_note():
    data, _ = current(text="The ____ sees " + "the cat " * 40)
    assert data.given.left_out.start > 20
    assert [f"first {data.given.left_out.start} tokens" in note for note in data.notes] == [True]
