"""The view: model, text, target, attention, layer and head, in the session and in the URL, and what it runs on.

A link or a step back in the browser's history fills the session from the URL; what a person does fills it through the
callbacks here; and at the end of each run the session is written to the URL (address.py). What else defines a page's
view are its fields (fields.py). The device and the precision belong to the machine and not to the view: they stay in
the session. Every session key that pages share is in this file.
"""

import base64
import binascii
import re
import unicodedata
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.shared import fields, locale
from pages.shared.address import Address
from pages.shared.fields import Field, one_of
from pages.shared.models import CPU, PRECISIONS, ModelCard
from pages.shared.sources import Source
from transformer_core.analysis import ATTENTIONS
from transformer_core.language import say, say_number
from transformer_core.text.interface import WRITTEN_MASK

MODEL, TEXT, ATTENTION, LAYER, HEAD = "model", "text", "attention", "layer", "head"
PACKED_TEXT = "packed"  # in the URL, in the place of a long text
TARGET = "target"  # what a person makes an encoder-decoder write; None: what it writes by itself
DEVICE, PRECISION = "device", "precision"
TARGET_BOX = "target-box"  # where the target is typed
CONTINUE = Field("view", "continue", "", one_of("on", "off"))  # "": as is usual with the model
CONTINUES = "continues"  # whether the reading that is shown includes what the model writes
OVERVIEW, HEATMAP = "overview", "heatmap"  # keys of components
LONG_TEXT = "long-text"  # where a long text is pasted
EXAMPLES = "examples"  # whether the list of examples is open
LONG_TEXT_OPEN = "long-text-open"  # whether the box for a long text is
NEXT_MODEL = "next-model"  # the model that the next run begins with
MODELS_NOTE = "models-note"  # what was done to the models, to be said at the next run
_TITLE = "title"  # of the model
SUBJECT = "subject"  # the keys of what a page shows: the name of a model or a training, and the text that it reads
_OWN = "own-fields"  # of the page that is open
_BY_LINK = "by-link"  # the view came from the URL, and no run has come to its end since
_ADDRESS = Address("view")

IDS = re.compile(r"[\d\s,;]*")  # a text of token ids

MAX_CHARACTERS = 30_000  # of a text: more than 4,096 tokens
MAX_PLAIN = 1000  # characters of a text that stands in the URL as it is; a longer one is packed


@dataclass(frozen=True)
class View:
    """What is looked at, one head of one model on one text, and what the model runs on."""

    model: str
    text: str
    target: str | None
    attention: str
    layer: int
    head: int
    device: str
    precision: str
    continues: bool

    def source(self, card: ModelCard) -> Source:
        """Return what reads the text."""
        return Source.of(card, self.device, self.precision, continues=self.continues)


def current() -> View:
    """Return the view of this session; `seed` must have run."""
    keys = (MODEL, TEXT, TARGET, ATTENTION, LAYER, HEAD, DEVICE, PRECISION, CONTINUES)
    return View(*map(st.session_state.__getitem__, keys))


def about() -> str:
    """Return which model or training a page shows, and the text that it reads."""
    names = map(st.session_state.get, st.session_state.get(SUBJECT, ()))
    return ": ".join(filter(None, names))


def wants_continuation(card: ModelCard) -> bool:
    """Return whether a model is to write: a decoder-only one as a person chose, or as is usual with it."""
    chosen = CONTINUE.value if card.config.architecture == "decoder_only" else ""
    return card.continues if not chosen else chosen == "on"


def set_continuation(card: ModelCard, is_wanted: bool) -> None:
    """A person chose whether texts are continued."""
    CONTINUE.set("" if is_wanted == card.continues else "on" if is_wanted else "off")


def seed(cards: Mapping[str, ModelCard], own: Sequence[Field] = ()) -> list[str]:
    """Fill the session from the URL at the first run, and whenever the URL was changed from outside.

    Args:
        cards: the models that are here, at least one.
        own: what else defines the view of the page that is opened.

    Returns:
        One sentence for each wish of the URL that could not be met; the session holds the nearest view that exists.
    """
    state, wanted = st.session_state, st.query_params.to_dict()
    state.setdefault(DEVICE, CPU)
    state.setdefault(PRECISION, PRECISIONS[0])
    notes: list[str] = []
    if (name := state.pop(NEXT_MODEL, None)) in cards:
        if _ADDRESS.is_known:
            state[MODEL] = name
            on_model(cards)
        else:  # the first model that is here
            wanted = {MODEL: name}
    if _ADDRESS.is_from_outside():
        notes += _fill(cards, wanted) + fields.fill((*own, CONTINUE), wanted)
        _ADDRESS.follow()
        state[_BY_LINK] = True
    elif state[MODEL] not in cards:  # its folder was removed meanwhile
        notes += _fill(cards, {TEXT: state[TEXT], MODEL: state[MODEL]})
    card = cards[state[MODEL]]
    fit(card)
    state[CONTINUES] = wants_continuation(card)
    state[_TITLE], state[SUBJECT] = card.title, (_TITLE, TEXT)
    state[_OWN] = (*own, *((CONTINUE,) if card.config.architecture == "decoder_only" else ()))
    return notes


def came_by_link() -> bool:
    """Whether text, model and the page's own fields were filled from the URL together, and belong to each other."""
    return bool(st.session_state.get(_BY_LINK))


def in_words() -> dict[str, str]:
    """Return the view as the URL says it."""
    view = current()
    values = {
        MODEL: view.model,
        **({TEXT: view.text} if len(view.text) <= MAX_PLAIN else {PACKED_TEXT: packed(view.text)}),
        ATTENTION: view.attention,
        LAYER: str(view.layer),
        HEAD: str(view.head),
    }
    if view.target is not None:
        values[TARGET] = view.target
    return values | fields.written(st.session_state[_OWN]) | locale.published()


def publish() -> None:
    """Write the view to the URL; the end of every run."""
    _ADDRESS.write(in_words())
    st.session_state[_BY_LINK] = False


def fit(card: ModelCard) -> None:
    """Keep attention, layer, head and target within what the model has."""
    state = st.session_state
    if state[ATTENTION] not in card.attentions:
        state[ATTENTION] = [*card.attentions][-1]
    state[LAYER] = min(state[LAYER], card.n_layers(state[ATTENTION]) - 1)
    state[HEAD] = min(state[HEAD], card.config.n_heads - 1)
    if card.config.architecture != "encoder_decoder":
        state[TARGET] = None


def clean(text: str) -> str:
    """Return the text on one line, without control characters, at most `MAX_CHARACTERS` long."""
    printable = "".join(" " if unicodedata.category(letter) in ("Cc", "Cs") else letter for letter in text)
    return " ".join(printable[: 10 * MAX_CHARACTERS].split())[:MAX_CHARACTERS]


def packed(text: str) -> str:
    """Return a text as an address holds it: short, and of plain letters."""
    return base64.urlsafe_b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode().rstrip("=")


def unpacked(packed_text: str) -> str | None:
    """Return the text that `packed` packed; None where it is damaged or far too long."""
    try:
        compressed = base64.b64decode(packed_text + "=" * (-len(packed_text) % 4), altchars=b"-_", validate=True)
        return zlib.decompressobj().decompress(compressed, 8 * MAX_CHARACTERS).decode()
    except (binascii.Error, zlib.error, ValueError):
        return None


def on_text() -> None:
    """A text was typed."""
    _take_text(clean(st.session_state[TEXT]))


def on_long_text() -> None:
    """A long text was pasted: the box for it closes, and lets the page be seen."""
    st.session_state[LONG_TEXT_OPEN] = False
    _take_text(clean(st.session_state[LONG_TEXT]))


def on_example(text: str) -> None:
    """An example was clicked; a target that was typed belongs to another text."""
    st.session_state[TARGET] = None
    if EXAMPLES in st.session_state:
        st.session_state[EXAMPLES] = False
    _take_text(text)


def _take_text(text: str) -> None:
    """Another text was chosen: what a link said of the one before says nothing of it."""
    st.session_state[TEXT] = text
    st.session_state[_BY_LINK] = False


def on_target() -> None:
    """A target was typed; an empty one means the model's own."""
    st.session_state[TARGET] = clean(st.session_state[TARGET_BOX]) or None


def set_target(target: str | None) -> None:
    """A target was taken up to be changed; None: back to the model's own."""
    st.session_state[TARGET] = target if target is None else clean(target)


def on_model(cards: Mapping[str, ModelCard]) -> None:
    """Another model was chosen: what a person typed stays, an example of another model gives way to one of its own.

    A text with blanks is nothing to a model that writes, nor one of words to a model that reads token ids.
    """
    state = st.session_state
    card = cards[state[MODEL]]
    of_others = {example for other in cards.values() for example in other.examples} - {*card.examples}
    has_no_ids = card.reads_ids and not IDS.fullmatch(state[TEXT])
    has_lost_its_blanks = card.config.architecture != "encoder_only" and WRITTEN_MASK.search(state[TEXT])
    if card.examples and (not state[TEXT] or state[TEXT] in of_others or has_lost_its_blanks or has_no_ids):
        state[TEXT] = card.examples[0]
    state[TARGET] = None
    state[_BY_LINK] = False


def choose_model(name: str, cards: Mapping[str, ModelCard]) -> None:
    """A model was chosen by its button."""
    st.session_state[MODEL] = name
    on_model(cards)


def on_head() -> None:
    """A head was clicked in the overview; what came from the browser is checked like any input."""
    chosen = st.session_state[OVERVIEW].get("chosen")
    if isinstance(chosen, dict):
        choose_head(*map(chosen.get, (ATTENTION, LAYER, HEAD)))


def choose_head(attention: Any, layer: Any, head: Any) -> None:
    """A head was chosen; what is none changes nothing."""
    are_indices = all(type(index) is int and index >= 0 for index in (layer, head))
    if are_indices and isinstance(attention, str) and attention in ATTENTIONS:
        st.session_state.update({ATTENTION: attention, LAYER: layer, HEAD: head})


def box(field: Field, shown: Any, take: Callable[[Any], None] | None = None, part: str = "box") -> dict[str, Any]:
    """Return the key of a widget that chooses a field, and what is called when it is used.

    Args:
        field: what is chosen.
        shown: what the widget shows now.
        take: is given what a person chose; None: it is the field's value.
        part: tells several widgets of a field apart.
    """
    key = f"{field.key}-{part}"
    st.session_state[key] = shown

    def on_change() -> None:
        value = st.session_state[key]
        value = field.usual if value is None else value
        field.set(value) if take is None else take(value)

    return {"key": key, "on_change": on_change}


def _fill(cards: Mapping[str, ModelCard], wanted: Mapping[str, str]) -> list[str]:
    """Fill the session from the URL's parameters, and say what could not be met."""
    state, notes = st.session_state, []
    name = wanted.get(MODEL, next(iter(cards)))
    if name not in cards:
        notes.append(
            say(
                "There is no model “{name}” here, so you see {title}.",
                name=name[:60],
                title=next(iter(cards.values())).title,
            )
        )
        name = next(iter(cards))
    card = cards[name]
    text, target = wanted.get(TEXT), wanted.get(TARGET)
    if PACKED_TEXT in wanted:
        text = unpacked(wanted[PACKED_TEXT])
        if text is None:
            notes.append(say("The text in the address is damaged, so you see an example; ask for the link again."))
    attention, attention_note = _attention(wanted.get(ATTENTION), card)
    n_layers = card.n_layers(attention)
    layer, layer_note = _index(wanted.get(LAYER), n_layers, default=n_layers - 1, what=LAYER)
    head, head_note = _index(wanted.get(HEAD), card.config.n_heads, default=0, what=HEAD)
    state[MODEL] = name
    state[TEXT] = clean(text) if text is not None else next(iter(card.examples), "")
    state[TARGET] = None if target is None else clean(target)
    state[ATTENTION], state[LAYER], state[HEAD] = attention, layer, head
    return [*notes, *attention_note, *layer_note, *head_note]


def _attention(wanted: str | None, card: ModelCard) -> tuple[str, list[str]]:
    """Return the wanted attention, or the one to look at first, and a note where the model has no such."""
    names = [*card.attentions]
    if wanted is None or wanted in names:
        return wanted or names[-1], []
    if wanted in ATTENTIONS:
        missing, shown = (say(ATTENTIONS[name].inline) for name in (wanted, names[-1]))
        return names[-1], [
            say(
                "This model is {kind} and has no {missing}, so you see its {shown}.",
                kind=say(card.kind),
                missing=missing,
                shown=shown,
            )
        ]
    return names[-1], [
        say_number(
            len(names),
            "There is no attention “{wanted}”; there is {names}.",
            "There is no attention “{wanted}”; there are {names}.",
            wanted=wanted[:60],
            names=", ".join(names),
        )
    ]


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
    values = {"wanted": wanted[:20], "last": size - 1, "nearest": nearest}
    if what == LAYER:
        note = say("This model has no layer “{wanted}”, only 0 to {last}, so you see layer {nearest}.", **values)
    else:
        note = say("This model has no head “{wanted}”, only 0 to {last}, so you see head {nearest}.", **values)
    return nearest, [note]
