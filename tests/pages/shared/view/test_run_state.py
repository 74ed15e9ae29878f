"""The view of a training: what a browser sends is checked, and what it sends late changes nothing."""

from typing import Any

import pytest

from pages.shared.view import run_state


@pytest.mark.usefixtures("session")
def test_only_a_run_that_is_there_can_be_chosen():
    for sent, run, text in (
        ("copy · running", "copy", "mine"),  # its title until a moment ago: it has stopped since
        ("copy", "copy", "mine"),  # sent again, since its title is another one now
        ("dates", "dates", ""),
        ("", "", ""),  # a new training
    ):
        run_state.choose({run_state.RUN: "copy", run_state.TEXT: "mine"})
        run_state.on_run(sent, ["", "copy", "dates"])
        assert (run_state.RUN.value, run_state.TEXT.value) == (run, text)
        assert run_state.NEW_CHOSEN.value == (sent == "")


def test_the_slider_of_a_film_chooses_a_snapshot(session: dict[str, Any]):
    sent: Any
    for sent in (4, 0, None, "4", [], {}, -4, 4.0, True):
        run_state.SNAPSHOT.set(20)
        session[run_state.FILM_OVERVIEW] = {"snapshot": {"revision": 1, "value": sent}}
        run_state.on_snapshot()
        assert run_state.SNAPSHOT.value == (sent if type(sent) is int and sent >= 0 else 20), sent


def test_a_click_in_an_overview_chooses_a_head(session: dict[str, Any]):
    for sent in ({"attention": "cross", "layer": 0, "head": 3}, {"attention": "cross", "layer": -1, "head": 0}, [1]):
        session[run_state.OVERVIEW] = {"chosen": {"revision": 1, "value": sent}}
        run_state.SHOWN_HEAD.take(run_state.OVERVIEW)
        assert run_state.SHOWN_HEAD.value == ("cross", 0, 3)
