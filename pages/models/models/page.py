"""Models: which models are here, what is each good for, and how do I bring in my own?"""

from collections.abc import Mapping

import streamlit as st

from headlight.language import say, say_message, say_number
from pages.models import model_store
from pages.models.models import details, importing, proof
from pages.shared import downloads, models, owners, prose
from pages.shared.glossary.links import definitions
from pages.shared.models import ModelCard
from pages.shared.view import state
from transformer_core.errors import HeadlightError, mark

LEAD = mark("All available models. Inspect a model, download it, or import your own.")
KIND_IN_WORDS = {
    "encoder-decoder": mark("Transforms one text into another"),
    "decoder-only": mark("Continues a text"),
    "encoder-only": mark("Fills in the blanks of a text"),
}
LONG_LIST, LIST_HEIGHT = 5, 620  # models; a longer list is as high as this many pixels, and scrolls on its own
NO_PREDICTIONS = mark("Encodes a text; has no language-modeling head")


def page() -> None:
    """Draw the page, in the order of all pages."""
    prose.heading(say("Models"), say(LEAD))
    cards = models.available()
    chosen = cards.get(state.current().model) if cards else None
    if cards and chosen is None:  # its folder was deleted a moment ago
        st.rerun()
    with st.container(key="hl-models"):
        # a form, such as that of a mapping, needs room
        left, right = st.columns([7, 5] if importing.PENDING.value else [5, 7], gap="medium")
    with left:
        choose(cards, chosen)
        importing.show()
        not_usable(cards)
    if chosen is not None:
        with right:
            show(chosen)


def choose(cards: Mapping[str, ModelCard], chosen: ModelCard | None) -> None:
    """List the models; a click makes one the model of all pages."""
    if not cards:
        return
    prose.subheading(say_number(len(cards), "{n} model", "{n} models"))
    with st.container(height=LIST_HEIGHT if len(cards) > LONG_LIST else "content", border=False, key="hl-models-list"):
        for index, (name, card) in enumerate(cards.items()):
            is_chosen = card is chosen
            key = "hl-model-list-chosen" if is_chosen else f"hl-model-list-{index}"
            with st.container(border=True, horizontal=True, vertical_alignment="center", key=key):
                about = card.description if card.is_shipped else f"{_kind(card)}."
                size = say("{kind}, {n} parameters", kind=say(card.kind), n=prose.amount(card.n_parameters))
                prose.html(
                    "<div class='hl-model'>{}</div><p class='hl-small'>{}</p><p class='hl-small'>{}</p>",
                    *(card.title, about, size),
                )
                if is_chosen:
                    prose.badge(say("chosen"), "primary")
                else:
                    st.button(say("Choose"), key=f"choose-{name}", on_click=state.choose_model, args=(name, cards))


def _kind(card: ModelCard) -> str:
    return say(KIND_IN_WORDS[card.kind] if card.config.unembed else NO_PREDICTIONS)


def not_usable(cards: Mapping[str, ModelCard]) -> None:
    """Say which folders among the models hold no usable model, and why."""
    folders = model_store.unusable(cards)
    if not folders:
        return
    with st.expander(say_number(len(folders), "{n} folder is not a usable model", "{n} folders are not usable models")):
        for folder in folders:
            with st.container(horizontal=True, vertical_alignment="center", key=f"hl-model-folder-{folder.name}"):
                prose.html("<div class='hl-model'>{}</div><p class='hl-small'>{}</p>", folder.name, folder.reason)
                can_be_brought_in = folder.is_foreign and not owners.is_shared()
                if can_be_brought_in and st.button(say("Import"), key=f"bring-in-{folder.name}"):
                    importing.bring_in(str(models.folder() / folder.name))
                    st.rerun()
                if folder.can_be_deleted and st.button(say("Delete …"), key=f"delete-{folder.name}"):
                    confirm_deletion(folder.name, folder.name)


def show(card: ModelCard) -> None:
    """Show one model in detail."""
    own = say("your own") if owners.is_mine(models.place_of(card.path)) else say("made by someone else")
    whose = say("trained elsewhere") if card.is_imported else own
    prose.subheading(card.title, say("included with Headlight") if card.is_shipped else whose)
    measured_by = "exact-match" if card.config.architecture == "encoder_decoder" else "accuracy"
    prose.paragraph(f"{_kind(card)}: {card.claim()}.", definitions(measured_by) if card.success else ())
    if card.is_imported and (notes := model_store.import_notes(card.path)):
        prose.small(" ".join(map(say_message, notes)))
    if card.guided_head is not None:
        layer, head = card.guided_head
        prose.paragraph(say(models.GUIDED, layer=layer, head=head), definitions("guided-head"))
    if card.heads:
        title, known = say("Known roles of its heads"), prose.each("<li>{}</li>", card.heads)
        prose.html("<p class='hl-look'><b>{}</b></p><ul class='hl-look'>{}</ul>", title, known)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        address, label = downloads.address(card), say("Download (.zip)")
        prose.html("<a class='hl-download' href='{}' download>{}</a>", address, label)
        is_mine = not card.is_shipped and owners.is_mine(models.place_of(card.path))
        if is_mine and st.button(say("Delete …"), icon=":material/delete:", key=f"delete-{card.name}"):
            confirm_deletion(card.name, card.title)
        st.page_link("explore/heads/page.py", label=say("Look at its heads"), icon=":material/grid_view:")
    details.show(card)
    if card.is_imported and not card.is_viewed:
        proof.show(card)


def confirm_deletion(name: str, title: str) -> None:
    """Ask before a model is deleted."""

    @st.dialog(say("Delete this model?"))
    def confirm() -> None:
        prose.text(
            say("“{title}” will be deleted permanently. Keep a copy if you might need it. Its folder is", title=title)
        )
        st.code(models.at_root(models.folder() / name), language=None, wrap_lines=True)
        with st.container(horizontal=True):
            is_kept = st.button(say("Keep it"), type="primary")
            if st.button(say("Delete it"), on_click=delete, args=(name, title)) or is_kept:
                st.rerun()

    confirm()


def delete(name: str, title: str) -> None:
    """Delete a model, and say so; if it was the chosen one, choose another."""
    cards = models.available()
    try:
        model_store.delete(name)
    except HeadlightError as error:
        state.MODELS_NOTE.set(say("“{title}” was not deleted: {error}.", title=title, error=error))
        return
    state.MODELS_NOTE.set(say("“{title}” was deleted.", title=title))
    others = [other for other in cards if other != name]
    if others and name == state.MODEL.value:
        state.choose_model(others[0], cards)


page()
