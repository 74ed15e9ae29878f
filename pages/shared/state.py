"""The view: model, text, attention, layer and head, in the session and in the URL. Every session key is in this file.

A link or a step back in the browser's history fills the session from the URL; what a person does fills it through the
callbacks here; and at the end of each run the session is written to the URL.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from pages.shared.models import ModelCard
from transformer_core.analysis import ATTENTIONS

MODEL, TEXT, ATTENTION, LAYER, HEAD = "model", "text", "attention", "layer", "head"
OVERVIEW, HEATMAP = "overview", "heatmap"  # keys of components
EXAMPLES = "examples"  # whether the list of examples is open
_PUBLISHED = "published"  # the URL's parameters as this session last wrote them
_ACTED = "acted"  # the person did something in this run; then the session is right, not the URL

DEFAULT_ATTENTION = "cross"
MAX_CHARACTERS = 1000  # of a text; longer ones do not fit into a URL that can be sent around


@dataclass(frozen=True)
class View:
    """What is looked at: one head of one model on one text."""

    model: str
    text: str
    attention: str
    layer: int
    head: int


def current() -> View:
    """Return the view of this session; `seed` must have run."""
    state = st.session_state
    return View(state[MODEL], state[TEXT], state[ATTENTION], state[LAYER], state[HEAD])


def seed(cards: Mapping[str, ModelCard]) -> list[str]:
    """Fill the session from the URL at the first run, and whenever the URL was changed from outside.

    Args:
        cards: the models that are here, at least one.

    Returns:
        One sentence for each wish of the URL that could not be met; the session holds the nearest view that exists.
    """
    state, wanted = st.session_state, st.query_params.to_dict()
    notes: list[str] = []
    if _PUBLISHED not in state or (wanted != state[_PUBLISHED] and not state.get(_ACTED)):
        notes += _fill(cards, wanted)
    elif state[MODEL] not in cards:  # its folder was removed meanwhile
        notes += _fill(cards, {TEXT: state[TEXT], MODEL: state[MODEL]})
    fit(cards[state[MODEL]])
    return notes


def publish() -> None:
    """Write the view to the URL; the end of every run."""
    view = current()
    values = {
        MODEL: view.model,
        TEXT: view.text,
        ATTENTION: view.attention,
        LAYER: str(view.layer),
        HEAD: str(view.head),
    }
    if st.query_params.to_dict() != values:
        st.query_params.from_dict(values)
    st.session_state[_PUBLISHED] = values
    st.session_state[_ACTED] = False


def fit(card: ModelCard) -> None:
    """Keep layer and head within what the model has."""
    state = st.session_state
    state[LAYER] = min(state[LAYER], card.n_layers(state[ATTENTION]) - 1)
    state[HEAD] = min(state[HEAD], card.config.n_heads - 1)


def clean(text: str) -> str:
    """Return the text on one line, without control characters, at most `MAX_CHARACTERS` long."""
    printable = "".join(" " if unicodedata.category(letter) in ("Cc", "Cs") else letter for letter in text)
    return " ".join(printable[: 10 * MAX_CHARACTERS].split())[:MAX_CHARACTERS]


def on_text() -> None:
    """A text was typed."""
    st.session_state[TEXT] = clean(st.session_state[TEXT])
    st.session_state[_ACTED] = True


def on_example(text: str) -> None:
    """An example was clicked."""
    st.session_state[TEXT] = text
    if EXAMPLES in st.session_state:
        st.session_state[EXAMPLES] = False
    st.session_state[_ACTED] = True


def on_model(cards: Mapping[str, ModelCard]) -> None:
    """Another model was chosen: its own first example takes the place of an example of another model."""
    state = st.session_state
    card = cards[state[MODEL]]
    examples = {example for other in cards.values() for example in other.examples}
    if card.examples and state[TEXT] not in card.examples and (not state[TEXT] or state[TEXT] in examples):
        state[TEXT] = card.examples[0]
    state[_ACTED] = True


def on_head() -> None:
    """A head was clicked in the overview; what came from the browser is checked like any input."""
    chosen = st.session_state[OVERVIEW].get("chosen")
    attention, layer, head = map(chosen.get, (ATTENTION, LAYER, HEAD)) if isinstance(chosen, dict) else (None,) * 3
    are_indices = all(type(index) is int and index >= 0 for index in (layer, head))
    if are_indices and isinstance(attention, str) and attention in ATTENTIONS:
        st.session_state.update({ATTENTION: attention, LAYER: layer, HEAD: head, _ACTED: True})


def _fill(cards: Mapping[str, ModelCard], wanted: Mapping[str, str]) -> list[str]:
    """Fill the session from the URL's parameters, and say what could not be met."""
    state, notes = st.session_state, []
    name = wanted.get(MODEL, next(iter(cards)))
    if name not in cards:
        notes.append(f"There is no model “{name[:60]}” here, so you see {next(iter(cards.values())).title}.")
        name = next(iter(cards))
    card = cards[name]
    text = wanted.get(TEXT)
    attention = wanted.get(ATTENTION, DEFAULT_ATTENTION)
    if attention not in ATTENTIONS:
        notes.append(f"There is no attention “{attention[:60]}”; there are {', '.join(ATTENTIONS)}.")
        attention = DEFAULT_ATTENTION
    n_layers = card.n_layers(attention)
    layer, layer_note = _index(wanted.get(LAYER), n_layers, default=n_layers - 1, what=LAYER)
    head, head_note = _index(wanted.get(HEAD), card.config.n_heads, default=0, what=HEAD)
    state[MODEL] = name
    state[TEXT] = clean(text) if text is not None else next(iter(card.examples), "")
    state[ATTENTION], state[LAYER], state[HEAD] = attention, layer, head
    return [*notes, *layer_note, *head_note]


def _index(wanted: str | None, size: int, *, default: int, what: str) -> tuple[int, list[str]]:
    """Return the wanted index clamped to what the model has, and a note where that is another one."""
    if wanted is None:
        return default, []
    try:
        index = int(wanted)
    except ValueError:
        index = -1
    if 0 <= index < size:
        return index, []
    nearest = min(max(index, 0), size - 1)
    return nearest, [f"This model has no {what} “{wanted[:20]}”, only 0 to {size - 1}, so you see {what} {nearest}."]
