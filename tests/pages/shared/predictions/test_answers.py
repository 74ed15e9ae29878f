"""The session's predictions: the first of an edit counts, and those of earlier sessions come from the browser."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pages.shared.predictions import answers
from pages.shared.predictions.prediction import Edit, Prediction
from tests.pages.learn.bare import Bare, drawn_bare

ONE = Prediction(guess=0, probability=0.5, confidence=80, is_right=True, error=0.1)
OTHER = Prediction(guess=None, probability=None, confidence=50, is_right=False, error=None)
HALF = np.array([0.5])


@pytest.fixture
def bare() -> Iterator[Bare]:
    with drawn_bare() as drawn:
        yield drawn


def edit(of: str) -> Edit:
    return Edit(of=of, labels=("a",), before=HALF, after=HALF)


def test_the_first_prediction_of_an_edit_counts(bare: Bare):
    answers.give(edit("a"), ONE)
    answers.give(edit("b"), None)
    for of in ("a", "b"):
        answers.give(edit(of), OTHER)
    assert answers.given() == {edit("a").name: ONE, edit("b").name: None}
    assert answers.predictions() == [ONE]


def sent(bare: Bare) -> dict[str, Any]:
    answers.keep()
    return dict(bare.components["browser_storage"]["data"])


def test_what_the_browser_kept_is_there_again_and_what_this_session_has_stays(bare: Bare):
    assert sent(bare) == {"store": answers.STORE, "parts": {}, "isRestored": False}
    answers.give(edit("a"), ONE)
    kept = {edit("a").name: OTHER.payload(), edit("b").name: OTHER.payload(), edit("c").name: None}
    bare.session[f"{answers.STORE}-kept"] = {"kept": kept}
    take = bare.components["browser_storage"]["on_kept_change"]
    take()
    assert answers.given() == {edit("a").name: ONE, edit("b").name: OTHER, edit("c").name: None}
    data = sent(bare)
    parts = {edit("a").name: ONE.payload(), edit("b").name: OTHER.payload(), edit("c").name: None}
    assert data == {"store": answers.STORE, "parts": parts, "isRestored": True}
    bare.session[f"{answers.STORE}-kept"] = {"kept": {edit("d").name: ONE.payload()}}
    take()  # a browser says it once a session
    assert edit("d").name not in answers.given()


def test_the_switch_is_known_before_anything_is_drawn_and_kept_for_the_next_session(
    bare: Bare, browser_that_was_here: dict[str, str]
):
    assert not answers.is_on()
    answers.keep()
    assert answers.COOKIE not in bare.words
    for kept, is_on in (("on", True), ("off", False), ("<script>", False)):
        browser_that_was_here[answers.COOKIE] = kept
        assert answers.is_on() == is_on
    for is_on, kept in ((True, "=on;"), (False, "=off;")):
        answers.IS_ON.set(is_on)
        answers.keep()
        assert answers.is_on() == is_on
        assert f"{answers.COOKIE}{kept}" in bare.words


@pytest.mark.parametrize("kept", [None, 3, [ONE.payload()], {"x": ONE.payload()}, {edit("a").name: {"guess": 1}}])
def test_what_is_damaged_is_left_out(bare: Bare, kept: object):
    answers.restore(kept)
    assert not answers.given()


def test_no_more_is_taken_than_may_be_kept(bare: Bare):
    answers.restore({edit(str(n)).name: None for n in range(answers.MOST_KEPT + 5)})
    assert len(answers.given()) == answers.MOST_KEPT
