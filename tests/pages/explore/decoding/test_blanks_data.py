"""Which blanks are filled, with what, and which is looked at: against the tree of the core, step by step."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import transformer_core as tc
from pages.explore.decoding import blanks_data, view_fields
from pages.explore.decoding.blanks_data import BlanksData
from pages.shared import models
from pages.shared.sources import Source
from tests.pages.conftest import GAPS
from tests.pages.explore.parts import shown
from transformer_core.decoding.filling import Filling, FillingTree
from transformer_core.errors import TextError

pytestmark = pytest.mark.usefixtures("three_kinds_here")
TEXT = GAPS[1]  # two blanks
VIEW = {"model": "gaps", "text": TEXT, "attention": "encoder", "layer": 0, "head": 0, "continues": True}
FILLED, STEP = view_fields.FILLED.key, view_fields.STEP.key
REQUEST, PLACE = "decoding-blanks-request", "decoding-blanks-place"


@pytest.fixture(scope="module")
def tree(three_kinds: Path) -> FillingTree:
    model, tokenizer = tc.load(three_kinds / "gaps")
    return FillingTree(model, torch.tensor([tokenizer.encode_for(TEXT, "encoder_only")]), mask_id=tokenizer.mask_id)


def drawn(draw: Callable[[BlanksData], object], **session: Any) -> Any:
    view = VIEW | session

    def part() -> None:
        card = models.available()["gaps"]
        draw(blanks_data.current(card, Source.of(card), str(view["text"])))

    return shown(part, **view)


def current(**session: Any) -> tuple[BlanksData, Any]:
    found: list[BlanksData] = []
    app = drawn(found.append, **session)
    return found[0], app


def looked_at(**session: Any) -> int:
    """The blank that is looked at."""
    found: list[int] = []
    drawn(lambda data: found.append(data.place), **session)
    return found[0]


def written(filling: Filling) -> str:
    return ".".join(f"{step.position}:{step.chosen.token}" for step in filling.steps)


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
    open_ones = [place for place in tree.masks if place not in dict(pairs(expected))]
    assert data.next_place == (open_ones[0] if open_ones else None)
    place = looked_at(**{REQUEST: request_of})
    assert place == (open_ones[0] if open_ones else expected.steps[-1].position)
    assert (data.beside is None) == bool(open_ones)
    labels = [*data.given.labels]
    for place, token in pairs(expected):
        labels[place] = data.tokenizer.labels([token])[0]
        assert data.steps[place].chosen.token == token
    assert data.labels(data.at) == labels


def test_all_at_once_is_what_each_blank_says_alone_in_the_order_of_the_filling(tree: FillingTree):
    data, _ = current(**{REQUEST: "all"})
    alone = tree.read().blanks
    assert data.beside is not None
    assert pairs(data.beside) == [(place, alone[place].best.token) for place, _ in pairs(tree.fill_all())]


def test_a_step_back_shows_less_and_forgets_nothing(tree: FillingTree):
    whole = tree.fill_all()
    data, app = current(**{FILLED: written(whole), STEP: 1})
    assert (pairs(data.at), pairs(data.whole)) == (pairs(whole)[:1], pairs(whole))
    assert (app.session_state[FILLED], app.session_state[STEP]) == (written(whole), 1)
    assert data.next_place == pairs(whole)[1][0] and data.beside is None
    data, app = current(**{FILLED: written(whole), STEP: 0})
    assert pairs(data.at) == [] and app.session_state[STEP] == 0
    data, app = current(**{FILLED: written(whole), STEP: 9})
    assert pairs(data.at) == pairs(whole) and app.session_state[STEP] is None


def test_the_same_step_again_keeps_what_was_filled_later(tree: FillingTree):
    whole = tree.fill_all()
    data, app = current(**{FILLED: written(whole), STEP: 0, REQUEST: "next"})
    assert pairs(data.at) == pairs(whole)[:1] and pairs(data.whole) == pairs(whole)
    assert app.session_state[STEP] == 1
    data, app = current(**{FILLED: written(whole), STEP: 1, REQUEST: "next"})
    assert pairs(data.at) == pairs(whole) and app.session_state[STEP] is None


def test_another_token_opens_what_came_after_it(tree: FillingTree):
    whole = tree.fill_all()
    (first, _), (second, _) = pairs(whole)
    other = tree.read().blanks[first].candidates(3)[2].token
    data, app = current(**{FILLED: written(whole), REQUEST: (first, other)})
    assert pairs(data.at) == pairs(data.whole) == [(first, other)]
    assert app.session_state[FILLED] == f"{first}:{other}" and data.next_place == second
    assert data.blank(first).best.token == tree.read().blanks[first].best.token, "as it was said before"
    data, _ = current(**{FILLED: written(whole), REQUEST: (second, other)})
    assert pairs(data.at) == [pairs(whole)[0], (second, other)]


def test_a_word_is_put_in_as_its_token_and_an_unknown_one_is_a_note(tree: FillingTree):
    place = tree.masks[1]
    data, _ = current(**{REQUEST: (place, "dog")})
    assert [data.label(token) for _, token in pairs(data.at)] == ["dog"] and pairs(data.at)[0][0] == place
    data, app = current(**{FILLED: written(tree.fill()), REQUEST: (place, "zebra crossing")})
    assert data.notes == ("“zebra crossing” has 2 tokens, but one is needed; type another word.",)
    assert pairs(data.at) == pairs(tree.fill()) and app.session_state[FILLED] == written(tree.fill())


@pytest.mark.parametrize(
    ("filled", "note"),
    [
        ("nonsense", "The link has filled=“nonsense”; the format is position:token, joined by dots."),
        ("1:2.", "The link has filled=“1:2.”; the format"),
        ("0:5", "The blanks in the link cannot be filled: "),
        ("x" * 50, f"The link has filled=“{'x' * 40}”;"),
    ],
)
def test_an_address_that_fills_what_cannot_be_filled_is_told(filled: str, note: str):
    data, app = current(**{FILLED: filled})
    assert data.notes[0].startswith(note) and len(data.notes) == 1
    assert data.whole == Filling() and app.session_state[FILLED] == ""


def test_a_blank_is_looked_at_where_one_was_chosen(tree: FillingTree):
    for place in tree.masks:
        assert looked_at(**{PLACE: place}) == place
    assert looked_at(**{PLACE: 0}) == looked_at(), "no blank is there"


@pytest.mark.parametrize(("most", "is_refused"), [(2, False), (1, True)])
def test_a_text_of_too_many_blanks_is_refused(most: int, is_refused: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blanks_data, "MOST_BLANKS", most)
    errors: list[str] = []

    def part() -> None:
        card = models.available()["gaps"]
        try:
            blanks_data.current(card, Source.of(card), TEXT)
        except TextError as error:
            errors.append(str(error))

    shown(part, **VIEW)
    assert bool(errors) == is_refused
    assert all(f"this text has 2 blanks, but at most {most} can be filled" in error for error in errors)


def test_a_text_that_is_cut_is_told():
    words = "The ____ sees " + "the cat " * 40
    found: list[BlanksData] = []
    drawn(found.append, text=words)
    (note,) = found[0].notes
    assert note == f"The text is too long; only its first {found[0].given.left_out.start} tokens are used."
    assert found[0].given.left_out.start > 20


def test_asking_and_going_back_look_at_the_next_blank_again():
    def after(act: Callable[[], None]) -> Any:
        return shown(act, **VIEW | {PLACE: 3, FILLED: "1:5.3:6", STEP: 2}).session_state

    state = after(lambda: blanks_data.ask("all"))
    assert (state[REQUEST], state[PLACE], state[FILLED]) == ("all", None, "1:5.3:6")
    state = after(lambda: blanks_data.go_back(1))
    assert (state[STEP], state[PLACE], state[FILLED]) == (1, None, "1:5.3:6")
    state = after(blanks_data.start_again)
    assert (state[STEP], state[PLACE], state[FILLED]) == (None, None, "")
    assert after(lambda: blanks_data.look_at(1))[PLACE] == 1


def test_what_was_filled_is_forgotten_with_another_model_or_text_and_kept_with_the_same(tree: FillingTree):
    filled, source = written(tree.fill()), Source.of(models.available()["gaps"])
    for of, left in (
        ((source, TEXT), filled),
        ((replace(source, version="another"), TEXT), ""),
        ((source, GAPS[0]), ""),
    ):
        _, app = current(**{FILLED: filled, "decoding-of": of})
        assert app.session_state[FILLED] == left


def test_with_three_blanks_filled_the_last_one_is_looked_at():
    text = "The ____ sees the ____ and the ____."
    found: list[tuple[int, int]] = []
    drawn(lambda data: found.append((data.place, data.at.steps[-1].position)), text=text, **{REQUEST: "all"})
    ((place, last),) = found
    assert place == last
