"""The output of a large model: it is written while the page already shows the heads of the text.

A small model writes in a few hundredths of a second, and its page is drawn once, with all of it.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import streamlit as st

from pages.shared import prose, readings
from pages.shared.models import ModelCard
from pages.shared.private_streamlit import session_of_run, working_for
from pages.shared.sources import Source
from pages.shared.view import state
from pages.shared.view.fields import Kept
from transformer_core.language import ENGLISH, say, speaking
from transformer_core.text.interface import Given

LARGE = 20_000_000  # parameters, from which writing takes seconds
TICK = 0.3  # s between two looks whether it is there
_AWAITED = Kept("awaited-output")


@dataclass
class _Awaited:
    """An output that a session waits for."""

    source: Source
    text: Given
    is_drawn: bool = False  # the page without it; only then is it begun, so that it does not hold the heads up
    future: "Future[None] | None" = None

    def let_go(self) -> None:
        """Leave it out where nobody has begun with it."""
        if self.future is not None:
            self.future.cancel()


def is_slow(card: ModelCard) -> bool:
    """Whether a model takes seconds to write its output."""
    return card.config.architecture != "encoder_only" and card.n_parameters >= LARGE


def settle(card: ModelCard, source: Source) -> None:
    """Decide whether this run shows the output, or for now the text alone; once per run, before `source` reads it."""
    view, awaited = state.current(), _AWAITED.value
    is_given = not view.continues or view.target is not None  # nothing is to be written
    is_ready = is_given or not is_slow(card) or readings.read.holds(source, view.text)
    if awaited is not None and (is_ready or (awaited.source, awaited.text) != (source, view.text)):
        awaited.let_go()
        awaited = None
        _AWAITED.set(None)
    if is_ready or not view.text:
        return
    if awaited is not None and awaited.future is not None and awaited.future.done():
        return  # it failed, or gave way to others in memory: this run writes it, and says what is wrong
    if awaited is None:
        _AWAITED.set(_Awaited(source, view.text))
    state.CONTINUES.set(False)


def is_awaited() -> bool:
    """Whether the output is still to come."""
    return _AWAITED.value is not None and not state.current().continues


@st.fragment(run_every=TICK)
def wait(label: str) -> None:
    """Say that the output is being written, and draw the page again once it is there."""
    prose.html(
        "<p class='hl-said'><span class='hl-label'>{}</span><span class='hl-answer hl-none'>{}</span></p>",
        *(say(label), say("Generating …")),
    )
    awaited: _Awaited | None = _AWAITED.value
    if awaited is None:
        return
    if awaited.future is not None and awaited.future.done():
        st.rerun()
    if awaited.future is None and awaited.is_drawn:
        awaited.future = _writer().submit(_write, session_of_run(), awaited.source, awaited.text)
    awaited.is_drawn = True


def _write(session: str, source: Source, text: Given) -> None:
    """Read a text with its output while the session is there; what goes wrong is found again, and said, where shown."""
    with working_for(session), speaking(ENGLISH), suppress(Exception):
        readings.read(source, text)


@st.cache_resource(show_spinner=False)
def _writer() -> ThreadPoolExecutor:
    """Return the generator: one text at a time for all sessions, so that pages stay responsive."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="output")
