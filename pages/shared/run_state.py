"""The view of a training: which run, which snapshot, which head, which text; in the session and in the URL.

It stands beside the view of a model (state.py): what is looked at on the pages Train and Film is a run.
"""

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.shared import locale, state
from pages.shared.address import Address
from transformer_core.analysis import attentions_of
from transformer_core.config import ModelConfig
from transformer_core.language import say

RUN, SNAPSHOT, OTHER = "run", "snapshot", "other"
TEXT, TARGET = "run-text", "run-target"
ATTENTION, LAYER, HEAD = "run-attention", "run-layer", "run-head"
OVERVIEW, HEATMAP, CURVES, HEADS_FIGURE = "run-overview", "run-heatmap", "run-curves", "run-heads"
FILM_OVERVIEW, FILM_HEATMAP, FILM_LOSS, FILM_HEADS = "film-overview", "film-heatmap", "film-loss", "film-heads"
SIGNAL = "film-signal"  # how often the page itself, and not the slider, chose a snapshot
NEW_CHOSEN = "run-new-chosen"  # whether a person chose a new training, or came by an address that says so
IS_HERE = "train-is-here"  # whether the page Train was drawn since the session came to it
ENDED = "train-ended"  # names of the runs that ended since its last visit to that page, and were not opened yet
NOTE = "run-note"  # what was done a moment ago, to be said at the next run of the page
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
    st.session_state[state.SUBJECT] = RUN, TEXT
    if not _ADDRESS.is_from_outside():
        return
    session, wanted = st.session_state, st.query_params.to_dict()
    session[RUN] = wanted.get("run", session.get(RUN, ""))[:100]
    session[NEW_CHOSEN] = wanted.get("run") == ""
    session[SNAPSHOT] = _number(wanted.get("snapshot"), default=None)
    session[OTHER] = wanted.get("other", "")[:100]
    session[TEXT] = state.clean(wanted.get("text", ""))
    session[TARGET] = state.clean(wanted.get("target", ""))
    session[ATTENTION] = wanted.get("attention", "")[:20]
    session[LAYER] = _number(wanted.get("layer"), default=0)
    session[HEAD] = _number(wanted.get("head"), default=0)
    _ADDRESS.follow()
    session[SIGNAL] = session.get(SIGNAL, 0) + 1
    unread = [name for name in ("snapshot", "layer", "head") if name in wanted and _number(wanted[name]) is None]
    if unread:
        told = ", ".join(say("{name} “{wanted}”", name=name, wanted=wanted[name][:20]) for name in unread)
        session[NOTE] = say(
            "The address asks for {told}, which is no whole number from 0 on; you see the usual one.", told=told
        )


def current() -> RunView:
    """Return the view of this session; `seed` must have run."""
    return RunView(*map(st.session_state.__getitem__, (RUN, SNAPSHOT, OTHER, TEXT, TARGET, ATTENTION, LAYER, HEAD)))


def leave_train() -> None:
    """Another page than Train is drawn: the next visit there is a new one."""
    for key in (IS_HERE, ENDED):
        st.session_state.pop(key, None)


def fit(config: ModelConfig) -> None:
    """Keep attention, layer and head within what the model has."""
    session, attentions = st.session_state, attentions_of(config)
    if session[ATTENTION] not in attentions:
        session[ATTENTION] = [*attentions][-1]
    session[LAYER] = min(session[LAYER], attentions[session[ATTENTION]].n_layers(config) - 1)
    session[HEAD] = min(session[HEAD], config.n_heads - 1)


def publish() -> None:
    """Write the view to the URL; the end of every run."""
    values = {
        name: str(st.session_state[key]) for key, name in _IN_URL.items() if st.session_state[key] not in ("", None)
    }
    if not st.session_state[RUN]:
        values = {"run": ""} if st.session_state[NEW_CHOSEN] else {}
    values |= locale.published()
    _ADDRESS.write(values)


def choose(view: Mapping[str, Any]) -> None:
    """A person chose something: what it makes of the view, by its keys here."""
    st.session_state.update(view)


def choose_run(name: str) -> None:
    """Another run was chosen: its own last snapshot and examples come first."""
    choose({RUN: name, NEW_CHOSEN: False, SNAPSHOT: None, OTHER: "", TEXT: "", TARGET: ""})


def on_run(key: str, names: Collection[str]) -> None:
    """One of these runs was chosen.

    A browser may still send a title that was right before the run's state changed; and when the title of the run that
    is shown changes, it sends that run again, which must not cost the text that was typed.
    """
    name = st.session_state[key]
    if name in names and (name != st.session_state[RUN] or not name):
        choose_run(name)
        choose({NEW_CHOSEN: not name})


def on_text() -> None:
    """A text was typed."""
    choose({TEXT: state.clean(st.session_state[TEXT])})


def on_target() -> None:
    """A target was typed; an empty one means what the last snapshot writes."""
    choose({TARGET: state.clean(st.session_state[TARGET])})


def on_snapshot() -> None:
    """The slider of a film came to rest; what came from the browser is checked like any input."""
    snapshot = st.session_state[FILM_OVERVIEW].get("snapshot")
    step = snapshot.get("step") if isinstance(snapshot, Mapping) else None
    if type(step) is int and step >= 0:
        choose({SNAPSHOT: step})


def go_to(step: int, attention: str, layer: int, head: int) -> None:
    """A snapshot and a head were chosen on the page."""
    choose({SNAPSHOT: step, ATTENTION: attention, LAYER: layer, HEAD: head, SIGNAL: st.session_state[SIGNAL] + 1})


def on_head(key: str = OVERVIEW) -> None:
    """A head was clicked in an overview; what came from the browser is checked like any input."""
    chosen = st.session_state[key].get("chosen")
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
