"""The view of a training: which run, which snapshot, which head, which text; in the session and in the URL.

It is separate from the view of a model (state.py): the Train and Film pages show a run.
"""

import re
from collections.abc import Collection

import streamlit as st

from headlight.language import say
from pages.shared.view import fields, locale, state
from pages.shared.view.address import Address
from pages.shared.view.chosen_head import HeadChoice
from pages.shared.view.fields import Field, Kept, TextField, number, text_up_to
from pages.shared.view.shared_value import SharedValue

PAGE = "run"


def _step(text: str) -> int:
    """Parse a step; a number far beyond the end means the last step.

    Raises:
        ValueError: it is not a whole number.
    """
    if not re.fullmatch(r"[0-9]+", text):
        raise ValueError(say("it must be a whole number, 0 or more"))
    return int(text[:12])


RUN = Field(PAGE, "run", "", text_up_to(100))  # its name; "": none
SNAPSHOT = Field(PAGE, "snapshot", None, _step)  # its step; None: the last one
OTHER = Field(PAGE, "other", "", text_up_to(100))  # what it is compared with: "", a step, or another run's name
TEXT = TextField(PAGE, "text")  # "": an example of the corpus
TARGET = TextField(PAGE, "target")  # target that all snapshots are teacher-forced on; "": the output of the last one
ATTENTION = Field(PAGE, "attention", "", text_up_to(20))  # "": the last one that the model has
LAYER, HEAD = Field(PAGE, "layer", 0, number), Field(PAGE, "head", 0, number)
SHOWN_HEAD = HeadChoice(ATTENTION, LAYER, HEAD)
FIELDS: tuple[Field, ...] = (RUN, SNAPSHOT, OTHER, TEXT, TARGET, ATTENTION, LAYER, HEAD)
OVERVIEW, HEATMAP, CURVES, HEADS_FIGURE = "run-overview", "run-heatmap", "run-curves", "run-heads"
FILM_OVERVIEW, FILM_HEATMAP, FILM_LOSS, FILM_HEADS = "film-overview", "film-heatmap", "film-loss", "film-heads"
NEW_CHOSEN = Kept("run-new-chosen", False)  # whether the user chose a new training, or the address did
IS_HERE = Kept("train-is-here", False)  # whether the Train page was drawn since the session came to it
ENDED = Kept("train-ended")  # names of the runs that ended since its last visit to that page, and were not opened yet
NOTE = Kept("run-note", "")  # notice of the last action, to be shown at the next run of the page
FILM_SNAPSHOT = SharedValue(FILM_OVERVIEW, "snapshot")  # the step that the film's slider shows
_ADDRESS = Address("run")


def seed() -> None:
    """Fill the session from the URL at the first run of a page, and whenever the URL was changed from outside."""
    state.SUBJECT.set((RUN, TEXT))
    if not _ADDRESS.is_from_outside():
        return
    wanted, run = st.query_params.to_dict(), RUN.value
    notes = fields.fill(FIELDS, wanted)
    if "run" not in wanted:
        RUN.set(run)
    NEW_CHOSEN.set(wanted.get("run") == "")
    _ADDRESS.follow()
    FILM_SNAPSHOT.forget()
    NOTE.set(" ".join(notes) or NOTE.value)


def in_words() -> dict[str, str]:
    """Return the whole view as URL parameters."""
    return fields.written(FIELDS)


def publish() -> None:
    """Write the view to the URL; call at the end of every run."""
    values = in_words()
    if not RUN.value:
        values = {"run": ""} if NEW_CHOSEN.value else {}
    values |= locale.published()
    _ADDRESS.write(values)


def choose_run(name: str) -> None:
    """Choose another run, which starts with its own last snapshot and examples."""
    RUN.set(name)
    for control in (NEW_CHOSEN, SNAPSHOT, OTHER, TEXT, TARGET):
        control.pop()


def on_run(name: str, names: Collection[str]) -> None:
    """Choose one of these runs by its title.

    A browser may still send a title from before the run's state changed, which is ignored. When the title of the
    shown run changes, the browser sends that run again, which must not discard the typed text.
    """
    if name in names and (name != RUN.value or not name):
        choose_run(name)
        NEW_CHOSEN.set(not name)


def on_snapshot() -> None:
    """Choose the snapshot at which a film's slider came to rest; the browser's value is checked like any input."""
    step = FILM_SNAPSHOT.heard()
    if type(step) is int and step >= 0:
        SNAPSHOT.set(step)


def go_to(step: int, attention: str, layer: int, head: int) -> None:
    """Choose a snapshot and a head on the page."""
    FILM_SNAPSHOT.forget()  # the slider may be elsewhere
    SNAPSHOT.set(step)
    SHOWN_HEAD.set(attention, layer, head)
