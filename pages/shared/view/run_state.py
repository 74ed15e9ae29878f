"""The view of a training: which run, which snapshot, which head, which text; in the session and in the URL.

It stands beside the view of a model (state.py): what is looked at on the pages Train and Film is a run.
"""

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.shared.view import locale, state
from pages.shared.view.address import Address
from pages.shared.view.fields import Kept, sent
from transformer_core.analysis import attentions_of
from transformer_core.config import ModelConfig
from transformer_core.language import say

RUN, SNAPSHOT, OTHER = Kept("run", ""), Kept("snapshot"), Kept("other", "")
TEXT, TARGET = Kept("run-text", ""), Kept("run-target", "")
ATTENTION, LAYER, HEAD = Kept("run-attention", ""), Kept("run-layer", 0), Kept("run-head", 0)
OVERVIEW, HEATMAP, CURVES, HEADS_FIGURE = "run-overview", "run-heatmap", "run-curves", "run-heads"
FILM_OVERVIEW, FILM_HEATMAP, FILM_LOSS, FILM_HEADS = "film-overview", "film-heatmap", "film-loss", "film-heads"
SIGNAL = Kept("film-signal", 0)  # how often the page itself, and not the slider, chose a snapshot
NEW_CHOSEN = Kept("run-new-chosen", False)  # whether a person chose a new training, or came by an address that says so
IS_HERE = Kept("train-is-here", False)  # whether the page Train was drawn since the session came to it
ENDED = Kept("train-ended")  # names of the runs that ended since its last visit to that page, and were not opened yet
NOTE = Kept("run-note", "")  # what was done a moment ago, to be said at the next run of the page
_ADDRESS = Address("run")
_IN_URL = {
    RUN: "run",
    SNAPSHOT: "snapshot",
    OTHER: "other",
    TEXT: "text",
    TARGET: "target",
    ATTENTION: "attention",
    LAYER: "layer",
    HEAD: "head",
}


@dataclass(frozen=True)
class RunView:
    """What is looked at of a training."""

    run: str  # its name; "": none
    snapshot: int | None  # step of a snapshot; None: the last one
    other: str  # what it is compared with: "", a step, or another run's name
    text: str  # "": an example of the corpus
    target: str  # what all snapshots of a film are teacher-forced on; "": what the last one writes
    attention: str  # "": the last one that the model has
    layer: int
    head: int


def seed() -> None:
    """Fill the session from the URL at the first run of a page, and whenever the URL was changed from outside."""
    state.SUBJECT.set((RUN, TEXT))
    if not _ADDRESS.is_from_outside():
        return
    wanted = st.query_params.to_dict()
    RUN.set(wanted.get("run", RUN.value)[:100])
    NEW_CHOSEN.set(wanted.get("run") == "")
    SNAPSHOT.set(_number(wanted.get("snapshot"), default=None))
    OTHER.set(wanted.get("other", "")[:100])
    TEXT.set(state.clean(wanted.get("text", "")))
    TARGET.set(state.clean(wanted.get("target", "")))
    ATTENTION.set(wanted.get("attention", "")[:20])
    LAYER.set(_number(wanted.get("layer"), default=0))
    HEAD.set(_number(wanted.get("head"), default=0))
    _ADDRESS.follow()
    SIGNAL.set(SIGNAL.value + 1)
    unread = [name for name in ("snapshot", "layer", "head") if name in wanted and _number(wanted[name]) is None]
    if unread:
        told = ", ".join(say("{name} “{wanted}”", name=name, wanted=wanted[name][:20]) for name in unread)
        NOTE.set(
            say("The address asks for {told}, which is no whole number from 0 on; you see the usual one.", told=told)
        )


def current() -> RunView:
    """Return the view of this session; `seed` must have run."""
    return RunView(*(one.value for one in _IN_URL))


def leave_train() -> None:
    """Another page than Train is drawn: the next visit there is a new one."""
    IS_HERE.pop()
    ENDED.pop()


def fit(config: ModelConfig) -> None:
    """Keep attention, layer and head within what the model has."""
    attentions = attentions_of(config)
    if ATTENTION.value not in attentions:
        ATTENTION.set([*attentions][-1])
    LAYER.set(min(LAYER.value, attentions[ATTENTION.value].n_layers(config) - 1))
    HEAD.set(min(HEAD.value, config.n_heads - 1))


def publish() -> None:
    """Write the view to the URL; the end of every run."""
    values = {name: str(kept.value) for kept, name in _IN_URL.items() if kept.value not in ("", None)}
    if not RUN.value:
        values = {"run": ""} if NEW_CHOSEN.value else {}
    values |= locale.published()
    _ADDRESS.write(values)


def choose(view: Mapping[Kept, Any]) -> None:
    """A person chose something: what it makes of the view."""
    for kept, value in view.items():
        kept.set(value)


def choose_run(name: str) -> None:
    """Another run was chosen: its own last snapshot and examples come first."""
    choose({RUN: name, NEW_CHOSEN: False, SNAPSHOT: None, OTHER: "", TEXT: "", TARGET: ""})


def on_run(name: str, names: Collection[str]) -> None:
    """One of these runs was chosen.

    A browser may still send a title that was right before the run's state changed; and when the title of the run that
    is shown changes, it sends that run again, which must not cost the text that was typed.
    """
    if name in names and (name != RUN.value or not name):
        choose_run(name)
        choose({NEW_CHOSEN: not name})


def on_text() -> None:
    """A text was typed."""
    choose({TEXT: state.clean(TEXT.value)})


def on_target() -> None:
    """A target was typed; an empty one means what the last snapshot writes."""
    choose({TARGET: state.clean(TARGET.value)})


def on_snapshot() -> None:
    """The slider of a film came to rest; what came from the browser is checked like any input."""
    snapshot = sent(FILM_OVERVIEW, "snapshot")
    step = snapshot.get("step") if isinstance(snapshot, Mapping) else None
    if type(step) is int and step >= 0:
        choose({SNAPSHOT: step})


def go_to(step: int, attention: str, layer: int, head: int) -> None:
    """A snapshot and a head were chosen on the page."""
    choose({SNAPSHOT: step, ATTENTION: attention, LAYER: layer, HEAD: head, SIGNAL: SIGNAL.value + 1})


def on_head(key: str = OVERVIEW) -> None:
    """A head was clicked in an overview; what came from the browser is checked like any input."""
    chosen = sent(key, "chosen")
    if not isinstance(chosen, Mapping):
        return
    attention, layer, head = (chosen.get(name) for name in ("attention", "layer", "head"))
    are_indices = all(type(index) is int and index >= 0 for index in (layer, head))
    if are_indices and isinstance(attention, str):
        choose({ATTENTION: attention, LAYER: layer, HEAD: head})


def _number(text: str | None, *, default: int | None = None) -> int | None:
    try:
        return max(0, int(text)) if text is not None and unicodedata.normalize("NFKC", text).isdecimal() else default
    except ValueError:
        return default
