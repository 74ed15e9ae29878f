"""The view: model, text, target, attention, layer and head, in the session and in the URL; and the device.

A link or a step back in the browser's history fills the session from the URL; the user's actions fill it through the
callbacks here. At the end of each run, whatever differs from the page's defaults (the first model, its first example,
and the head that the page begins with) is written from the session to the URL (address.py). A page's fields
(fields.py) define the rest of its view. The device and the precision belong to the machine rather than to the view,
so they stay in the session.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from headlight.analysis.heads.measures import HeadName
from headlight.language import say, say_message
from headlight.viewing.media import Medium
from pages.shared.devices import CPU, PRECISIONS
from pages.shared.models import ModelCard, available
from pages.shared.sources import Source
from pages.shared.view import fields, files, locale, long_texts, stack_history
from pages.shared.view.address import Address
from pages.shared.view.chosen_head import HeadChoice, nearest_head
from pages.shared.view.fields import Field, Kept, TextField, one_of
from transformer_core.errors import HeadlightError
from transformer_core.text.interface import WRITTEN_MASK, Given


def _stack(text: str) -> str:
    """Read a stack of interventions.

    Raises:
        ValueError: it is none.
    """
    from headlight.analysis.interventions.stacks import from_json, to_json

    try:
        return to_json(from_json(text))
    except HeadlightError as error:
        raise ValueError(say_message(error)) from None


MODEL, TEXT = Kept("model"), Kept("text", "")
SECOND_TEXT = TextField("view", "second-text")  # that an encoder reads after the text; "": none
TAKES_PAIRS = Kept("takes-pairs", False)  # whether the model reads two texts
ATTENTION, LAYER, HEAD = Kept("attention"), Kept("layer"), Kept("head")
SHOWN_HEAD = HeadChoice(ATTENTION, LAYER, HEAD)
TARGET = Kept("target")  # the forced output of an encoder-decoder; None: its own output
DEVICE, PRECISION = Kept("device", CPU), Kept("precision", PRECISIONS[0])
CONTINUE = Field("view", "continue", "", one_of("on", "off"))  # "": the model's default
STACK = Field("view", "stack", "", _stack)  # of interventions that act in the chosen model, as JSON; "": none
CONTINUES = Kept("continues")  # whether the reading that is shown includes what the model writes
OVERVIEW, HEATMAP = "overview", "heatmap"  # keys of components
LONG_TEXT = Kept("long-text", "")  # where a long text is pasted
EXAMPLES = Kept("examples", False)  # whether the list of examples is open
LONG_TEXT_OPEN = Kept("long-text-open", False)  # whether the box for a long text is
NEXT_MODEL = Kept("next-model")  # the model that the next run begins with
MODELS_NOTE = Kept("models-note", "")  # notice of the last change to the models, to be shown at the next run
_TITLE = Kept("title")  # of the model
_LEFT = Kept("left-texts", {})  # the last text, image and sound, by what the chosen models read
SUBJECT = Kept("subject", ())  # what a page shows: the name of a model or a training, and the text that it reads
_OWN = Kept("own-fields", ())  # of the page that is open
_USUAL = Kept("usual-view", {})  # parameters, by name, that the URL leaves out when they have these values
_BY_LINK = Kept("by-link", False)  # the view came from the URL, and no run has ended since
_ADDRESS = Address("view")

IDS = re.compile(r"[\d\s,;]*")  # a text of token ids


@dataclass(frozen=True)
class View:
    """The view, one head of one model on one text, and the model's device."""

    model: str
    text: Given
    target: str | None
    attention: str
    layer: int
    head: int
    device: str
    precision: str
    continues: bool
    stack: str

    @property
    def head_name(self) -> HeadName:
        """The head."""
        return HeadName(self.attention, self.layer, self.head)

    @property
    def whole_text(self) -> str:
        """The text, or both texts, in one line."""
        return files.label(self.text) if isinstance(self.text, str) else " ".join(self.text)

    def source(self, card: ModelCard, *, continues: bool | None = None, is_changed: bool = True) -> Source:
        """Return the call that reads the text.

        Args:
            card: of the model.
            continues: whether it generates; None: as in the view.
            is_changed: the view's interventions act. A stack that does not fit the model does not.
        """
        continues = self.continues if continues is None else continues
        source = Source.of(card, self.device, self.precision, continues=continues)
        if not is_changed or not self.stack or misfit(card):
            return source
        return replace(source, stack=self.stack, text=(self.text, self.target))


def current() -> View:
    """Return the view of this session; `seed` must have run."""
    kept = (TARGET, ATTENTION, LAYER, HEAD, DEVICE, PRECISION, CONTINUES, STACK)
    has_two = TAKES_PAIRS.value and TEXT.value and SECOND_TEXT.value
    text = (TEXT.value, SECOND_TEXT.value) if has_two else TEXT.value
    return View(MODEL.value, text, *(one.value for one in kept))


def card(page: str = "") -> ModelCard:
    """Return the chosen model; if its folder was deleted a moment ago, rerun the page, which chooses another.

    Args:
        page: as for `available`.
    """
    result = available(page).get(MODEL.value)
    if result is None:
        st.rerun()
    return result


def misfit(card: ModelCard) -> HeadlightError | None:
    """Return why the view's interventions do not fit a model; None if they fit or there are none."""
    from headlight.analysis.interventions.stacks import check_stack, from_json

    if card.is_viewed and STACK.value:
        return HeadlightError("Headlight’s core does not compute this model")
    try:
        check_stack(card.config, from_json(STACK.value or "[]"))
    except HeadlightError as error:
        return error
    return None


def about() -> str:
    """Return which model or training a page shows, and the text that it reads."""
    return ": ".join(filter(None, (files.label(one.value) for one in SUBJECT.value)))


def last_head(card: ModelCard) -> HeadName:
    """Return the head that most pages begin with: the first of the last layer of the last attention."""
    attention = [*card.attentions][-1]
    return HeadName(attention, card.n_layers(attention) - 1, 0)


def wants_continuation(card: ModelCard) -> bool:
    """Return whether a model should generate: for a decoder-only one the user's choice, else its default."""
    chosen = CONTINUE.value if card.config.architecture == "decoder_only" else ""
    return card.continues if not chosen else chosen == "on"


def seed(
    cards: Mapping[str, ModelCard],
    own: Sequence[Field] = (),
    usual_head: Callable[[ModelCard], HeadName] | None = last_head,
) -> list[str]:
    """Fill the session from the URL at the first run, and whenever the URL was changed from outside.

    Args:
        cards: the models that are here, at least one.
        own: the fields of the opened page.
        usual_head: gives the head that it shows until one is chosen; None: it finds one, which the URL always names.

    Returns:
        One sentence for each request of the URL that cannot be met; the session holds the nearest view that exists.
    """
    wanted = st.query_params.to_dict()
    notes: list[str] = []
    if (name := NEXT_MODEL.pop()) in cards:
        if _ADDRESS.is_known:
            choose_model(name, cards)
        else:  # the first model that is here
            wanted = {MODEL.key: name}
    if _ADDRESS.is_from_outside():
        before = STACK.value
        of_page = fields.fill((*own, SECOND_TEXT, CONTINUE, STACK), wanted)  # which the head may depend on
        if _ADDRESS.is_known and STACK.value != before:
            stack_history.keep(before)
        notes += _fill(cards, wanted, usual_head or last_head) + of_page
        _ADDRESS.follow()
        _BY_LINK.set(True)
    elif MODEL.value not in cards:  # its folder was removed meanwhile
        notes += _fill(cards, {TEXT.key: TEXT.value, MODEL.key: MODEL.value}, usual_head or last_head)
    card = cards[MODEL.value]
    is_chosen = ATTENTION.is_chosen and not (_ADDRESS.is_arrival() and SHOWN_HEAD.value == last_head(card))
    if usual_head and not is_chosen:
        SHOWN_HEAD.set(*usual_head(card))
    fit(card)
    _USUAL.set(_usual(cards, card, usual_head))
    CONTINUES.set(wants_continuation(card))
    TAKES_PAIRS.set(card.takes_pairs)
    if not card.takes_pairs and SECOND_TEXT.parameters().keys() & wanted.keys():
        notes.append(say("This model reads one text, so the second text of this link is not shown."))
        SECOND_TEXT.pop()
    _TITLE.set(card.title)
    SUBJECT.set((_TITLE, TEXT, *((SECOND_TEXT,) if card.takes_pairs else ())))
    of_kind = {"decoder_only": (CONTINUE,), "encoder_only": (SECOND_TEXT,) if card.takes_pairs else ()}
    _OWN.set((*own, STACK, *of_kind.get(card.config.architecture, ())))
    return notes


def came_by_link() -> bool:
    """Whether text, model and the page's own fields were filled from the same URL and so belong together."""
    return bool(_BY_LINK.value)


def in_words() -> dict[str, str]:
    """Return the whole view as URL parameters."""
    view = current()
    values = {
        MODEL.key: view.model,
        **long_texts.parameters(TEXT.key, TEXT.value),
        ATTENTION.key: view.attention,
        LAYER.key: str(view.layer),
        HEAD.key: str(view.head),
    }
    if view.target is not None:
        values[TARGET.key] = view.target
    return values | fields.written(_OWN.value) | locale.published()


def text_parameters() -> dict[str, str]:
    """Return the text and the second text as URL parameters."""
    second = fields.written([SECOND_TEXT]) if TAKES_PAIRS.value else {}
    return long_texts.parameters(TEXT.key, TEXT.value) | second


def publish() -> None:
    """Write what differs from the defaults to the URL; call at the end of every run."""
    usual = {
        choice.key
        for choices in ((MODEL,), (TEXT,), (ATTENTION, LAYER, HEAD))
        if _is_usual(*choices)
        for choice in choices
    }
    _ADDRESS.write({name: value for name, value in in_words().items() if name not in usual})
    _BY_LINK.set(False)


def _usual(
    cards: Mapping[str, ModelCard], card: ModelCard, usual_head: Callable[[ModelCard], HeadName] | None
) -> dict[str, str]:
    """Return the parameters of the view that a page shows without any."""
    values = {MODEL.key: next(iter(cards)), TEXT.key: next(iter(card.examples), "")}
    if usual_head:
        values |= zip((ATTENTION.key, LAYER.key, HEAD.key), map(str, usual_head(card)), strict=True)
    return values


def _is_usual(*choices: Kept) -> bool:
    """Return whether all these choices have the values that the page shows without parameters."""
    return all(str(choice.value) == _USUAL.value.get(choice.key) for choice in choices)


def fit(card: ModelCard) -> None:
    """Keep attention, layer, head and target within what the model has."""
    SHOWN_HEAD.fit(card.config)
    if card.config.architecture != "encoder_decoder":
        TARGET.set(None)


def on_long_text() -> None:
    """Take a pasted long text and close its box, so that the page is visible."""
    LONG_TEXT_OPEN.set(False)
    take_text(long_texts.clean(LONG_TEXT.value))


def on_example(text: str) -> None:
    """Take the clicked example; reset a typed target or second text, which belongs to another text."""
    TARGET.set(None)
    SECOND_TEXT.set("")
    EXAMPLES.set(False)
    take_text(text)


def on_file(medium: Medium) -> None:
    """Take an uploaded image or sound."""
    if (key := files.take(medium)) is not None:
        on_example(key)


def take_text(text: str) -> None:
    """Take another text; the view no longer counts as filled from a link."""
    TEXT.set(text)
    _BY_LINK.set(False)


def set_target(target: str | None) -> None:
    """Set the target that was typed or is to be edited; None or "" means the model's own output."""
    TARGET.set(target or None)


def choose_model(name: str, cards: Mapping[str, ModelCard]) -> None:
    """Choose another model; a typed text stays, an example of the previous model is replaced by one of the new model.

    A text with blanks does not suit a model that generates, nor a text of words a model that reads token ids.
    """
    before, card = cards.get(MODEL.value), cards[name]
    MODEL.set(name)
    if before is not None and before.medium != card.medium:  # what it reads is kept until such a model is chosen again
        _LEFT.set({**_LEFT.value, before.medium: TEXT.value})
        TEXT.set(_readable(card, _LEFT.value.get(card.medium)))
    of_others = {example for other in cards.values() for example in other.examples} - {*card.examples}
    has_no_ids = card.reads_ids and not IDS.fullmatch(TEXT.value)
    has_lost_its_blanks = card.config.architecture != "encoder_only" and WRITTEN_MASK.search(TEXT.value)
    if card.examples and (not TEXT.value or TEXT.value in of_others or has_lost_its_blanks or has_no_ids):
        TEXT.set(card.examples[0])
        SECOND_TEXT.set("")
    for field in _OWN.value:
        if field.is_of_model:
            field.set(field.usual)
    if _is_usual(ATTENTION, LAYER, HEAD):  # nobody chose it: the new model's is shown
        ATTENTION.pop()
    TARGET.set(None)
    _BY_LINK.set(False)


def _readable(card: ModelCard, text: str | None) -> str:
    """Return the text, or the name of an image or a sound, if the model can read it here; otherwise its first example.

    Args:
        card: of the model.
        text: None: nothing was chosen.
    """
    if text is None or (card.medium and text not in files.keys(card.medium)):
        return next(iter(card.examples), "")
    return text


def _fill(
    cards: Mapping[str, ModelCard], wanted: Mapping[str, str], usual_head: Callable[[ModelCard], HeadName]
) -> list[str]:
    """Fill the session from the URL's parameters; return a sentence for each that cannot be met."""
    notes: list[str] = []
    name = wanted.get(MODEL.key, next(iter(cards)))
    if name not in cards:
        notes.append(
            say(
                "There is no model “{name}” here; {title} is shown instead.",
                name=name[:60],
                title=next(iter(cards.values())).title,
            )
        )
        name = next(iter(cards))
    card = cards[name]
    text = None
    try:
        text = long_texts.asked(TEXT.key, wanted)
    except ValueError:
        notes.append(say("The text in this link is damaged, so an example is shown; ask for the link again."))
    named_head = map(wanted.get, (ATTENTION.key, LAYER.key, HEAD.key))
    head, head_notes = nearest_head(card.config, usual_head(card), *named_head)
    MODEL.set(name)
    if card.medium and text not in (None, *files.keys(card.medium)):
        notes.append(say("This link was made with a file that is not part of it, so an example is shown."))
    TEXT.set(_readable(card, text))
    TARGET.set(long_texts.clean(wanted.get(TARGET.key, "")) or None)
    SHOWN_HEAD.set(*head)
    return [*notes, *head_notes]
