"""Models: which models are here, what is each good for, and how do I bring in my own?"""

import html
from collections.abc import Callable, Mapping
from pathlib import Path

import streamlit as st

from pages.shared import models, shelf, state
from pages.shared.models import ModelCard
from transformer_core.devices import in_words
from transformer_core.errors import HeadlightError

LEAD = (
    "Every model that is here, and what it is good for. Look at one from all sides, hand it out as a file, or bring in "
    "your own."
)
KIND_IN_WORDS = {
    "encoder-decoder": "reads a text and writes another",
    "decoder-only": "goes on with a text",
    "encoder-only": "fills in the blanks of a text",
}
FAMILIES = (
    "GPT-2, BERT, MarianMT, T5, Llama, Mistral, Qwen2, Qwen3 and SmolLM models; weights as safetensors. No code of a "
    "model is run, and no pickle is opened."
)


def page() -> None:
    """Draw the page, in the order of all pages."""
    st.html(f"<h1 class='hl-title'>Models</h1><p class='hl-lead'>{html.escape(LEAD)}</p>")
    if note := st.session_state.pop(state.MODELS_NOTE, ""):
        st.info(note, icon=":material/check:")
    cards = models.available()
    chosen = cards.get(state.current().model) if cards else None
    if cards and chosen is None:  # its folder went away a moment ago
        st.rerun()
    with st.container(key="hl-models"):
        left, right = st.columns([5, 7], gap="medium")
    with left:
        choose(cards, chosen)
        not_usable(cards)
        bring_in()
    if chosen is not None:
        with right:
            details(chosen)


def heading(text: str, aside: str = "") -> None:
    """Write a heading within the page."""
    st.html(f"<h2 class='hl-subtitle'>{html.escape(text)}<span>{html.escape(aside)}</span></h2>")


def choose(cards: Mapping[str, ModelCard], chosen: ModelCard | None) -> None:
    """List the models; a click makes one the model of all pages."""
    if cards:
        heading("One model is here" if len(cards) == 1 else f"{len(cards)} models are here")
    for index, (name, card) in enumerate(cards.items()):
        is_chosen = card is chosen
        with st.container(
            border=True,
            horizontal=True,
            vertical_alignment="center",
            key="hl-model-list-chosen" if is_chosen else f"hl-model-list-{index}",
        ):
            st.html(
                f"<div class='hl-model'>{html.escape(card.title)}</div>"
                f"<p class='hl-small'>{html.escape(card.description or f'It {KIND_IN_WORDS[card.kind]}.')}</p>"
                f"<p class='hl-small'>{card.kind}, {card.n_parameters / 1e6:,.1f} M parameters</p>"
            )
            if is_chosen:
                st.badge("chosen", color="primary")
            else:
                st.button("Choose", key=f"choose-{name}", on_click=state.choose_model, args=(name, cards))


def not_usable(cards: Mapping[str, ModelCard]) -> None:
    """Say which folders among the models are none, and why."""
    folders = shelf.unusable(cards)
    if not folders:
        return
    n_folders = "One folder here is" if len(folders) == 1 else f"{len(folders)} folders here are"
    with st.expander(f"{n_folders} no model to use"):
        for folder in folders:
            with st.container(horizontal=True, vertical_alignment="center", key=f"hl-model-folder-{folder.name}"):
                st.html(
                    f"<div class='hl-model'>{html.escape(folder.name)}</div>"
                    f"<p class='hl-small'>{html.escape(folder.reason)}</p>"
                )
                if folder.is_foreign and st.button("Bring it in", key=f"bring-in-{folder.name}"):
                    bring_in_source(str(models.folder() / folder.name))
                if folder.can_be_deleted and st.button("Delete …", key=f"delete-{folder.name}"):
                    confirm_deletion(folder.name, folder.name)


def bring_in() -> None:
    """Bring in a model by id or folder, or as a file."""
    heading("Bring in a model")
    by_id, by_file = st.tabs(["By id or folder", "As a file"])
    with by_id, st.form("bring-in-by-id", border=False):
        source = st.text_input(
            "Id on the Hugging Face Hub, or folder on this machine", placeholder="openai-community/gpt2", help=FAMILIES
        )
        if st.form_submit_button("Bring it in") and source.strip():
            bring_in_source(source.strip())
    with by_file, st.form("bring-in-a-file", border=False, clear_on_submit=True):
        file = st.file_uploader(
            f"A model's folder as a zip file, up to {st.get_option('server.maxUploadSize')} MB",
            type="zip",
            help=f"What was handed out here, or a Hugging Face folder. {FAMILIES}",
        )
        if st.form_submit_button("Take it in") and file is not None:
            with st.spinner("Unpacking and checking the model …", show_time=True):
                take_in(lambda: shelf.unpack(file, Path(file.name).stem))


def bring_in_source(source: str) -> None:
    """Load a model from elsewhere, telling how far it has come, and keep it."""
    place = st.empty()
    place.progress(0.0, text="Looking for the model …")

    def show(done: int, in_all: int, what: str) -> None:
        text = f"{what[:1].upper()}{what[1:]}: {done / 2**20:,.0f} of {in_all / 2**20:,.0f} MiB"
        place.progress(min(1.0, done / max(1, in_all)), text=text)

    take_in(lambda: shelf.bring_in(source, on_progress=show), before_warning=place.empty)


def take_in(take: Callable[[], str], *, before_warning: Callable[[], object] = lambda: None) -> None:
    """Take a model in, and go on with it; or say in one sentence why not."""
    try:
        name = take()
    except HeadlightError as error:
        before_warning()
        st.warning(f"This model was not taken in: {error}.")
        return
    card = models.available().get(name)
    if card is not None:
        st.session_state[state.MODELS_NOTE] = f"“{card.title}” is here now, and chosen on all pages."
        st.session_state[state.NEXT_MODEL] = name
    st.rerun()


def details(card: ModelCard) -> None:
    """Show one model from all sides."""
    heading(card.title, "comes with Headlight" if card.is_shipped else "your own")
    st.html(f"<p class='hl-look'>It {html.escape(KIND_IN_WORDS[card.kind])}: {html.escape(card.claim())}.</p>")
    if card.heads:
        known = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in card.heads)
        st.html(f"<p class='hl-look'><b>What its heads are known to do</b></p><ul class='hl-look'>{known}</ul>")
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        hand_out(card)
        if not card.is_shipped and st.button("Delete …", icon=":material/delete:", key=f"delete-{card.name}"):
            confirm_deletion(card.name, card.title)
        st.page_link("explore/heads.py", label="Look at its heads", icon=":material/grid_view:")
    parameters, configuration, tokenizer, whole_card = st.tabs(["Parameters", "Configuration", "Tokenizer", "Card"])
    for tab, show in (
        (parameters, parameters_of),
        (configuration, configuration_of),
        (tokenizer, tokenizer_of),
        (whole_card, card_of),
    ):
        with tab:
            try:
                show(card)
            except HeadlightError as error:
                st.warning(f"This cannot be shown: {error}.")


def hand_out(card: ModelCard) -> None:
    """Hand the model out as a file, unless it is too large for that."""
    if shelf.n_bytes(card) > shelf.MAX_HANDED_OUT:
        st.html(f"<p class='hl-small'>Too large for one file: to hand it out, copy {html.escape(card.path)}.</p>")
        return
    st.download_button(
        "Hand it out (.zip)",
        data=lambda: shelf.pack(card),
        file_name=f"{card.name}.zip",
        mime="application/zip",
        icon=":material/download:",
        on_click="ignore",
    )


def parameters_of(card: ModelCard) -> None:
    """Show where the parameters are."""
    view = state.current()
    models.load(card.path, card.version, view.device, view.precision)  # so that what is counted is there
    table = shelf.parameter_table(card.path, card.version, card)
    st.html(
        f"<p class='hl-look'>{table['parameters'].sum():,} parameters, "
        f"{in_words(shelf.n_bytes(card))} on the disk. What several parts share is counted once.</p>"
    )
    st.dataframe(
        table,
        hide_index=True,
        height="content",
        column_config={
            "parameters": st.column_config.NumberColumn(format="localized"),
            "share": st.column_config.ProgressColumn(format="%.1f%%", min_value=0.0, max_value=100.0),
        },
    )


def configuration_of(card: ModelCard) -> None:
    """Show the settings that shape the model."""
    st.html(
        "<p class='hl-look'>What shapes this model; settings of parts that it does not have are left out. Sections, "
        "equations and tables are those of “Attention Is All You Need”.</p>"
    )
    st.dataframe(
        shelf.configuration_table(card),
        hide_index=True,
        height="content",
        column_config={"value": st.column_config.TextColumn(width=150)},
    )


def tokenizer_of(card: ModelCard) -> None:
    """Show how the model cuts the text, and all of its tokens."""
    fact = html.escape(shelf.tokenizer_fact(card))
    text = state.current().text
    tokens = "".join(
        f"<span><bdi>{html.escape(label)}</bdi><small>{number}</small></span>"
        for label, number in (shelf.tokens_of(card, text) if text else [])
    )
    st.html(f"<p class='hl-look'>{fact} Your text, as the model reads it:</p><div class='hl-tokens'>{tokens}</div>")
    wanted = st.text_input("Find a token", placeholder="a part of it, or its number")
    table, n_found = shelf.token_table(card, wanted)
    st.dataframe(
        table, hide_index=True, height=360, column_config={"number": st.column_config.NumberColumn(width="small")}
    )
    if n_found > len(table):
        st.caption(f"The first {len(table):,} of {n_found:,} tokens.")


def card_of(card: ModelCard) -> None:
    """Show what is written about the model."""
    values = shelf.whole_card(card.path, card.version)
    command = values.get("trained", {}).get("command") if isinstance(values.get("trained"), dict) else None
    if isinstance(command, str):
        st.html("<p class='hl-look'>This command makes it again:</p>")
        st.code(command, language="bash", wrap_lines=True)
    st.json(values, expanded=1)


@st.dialog("Delete this model?")
def confirm_deletion(name: str, title: str) -> None:
    """Ask once more."""
    st.write(f"“{title}” will be gone for good. Keep a copy if you may want it back. Its folder is")
    st.code(models.at_root(models.folder() / name), language=None, wrap_lines=True)
    with st.container(horizontal=True):
        is_deleted = st.button("Delete it", type="primary", on_click=delete, args=(name, title))
        if st.button("Keep it") or is_deleted:
            st.rerun()


def delete(name: str, title: str) -> None:
    """Delete a model, and say so; if it was the chosen one, another is."""
    cards = models.available()
    try:
        shelf.delete(name)
    except HeadlightError as error:
        st.session_state[state.MODELS_NOTE] = f"“{title}” was not deleted: {error}."
        return
    st.session_state[state.MODELS_NOTE] = f"“{title}” was deleted."
    others = [other for other in cards if other != name]
    if others and name == st.session_state.get(state.MODEL):
        state.choose_model(others[0], cards)


page()
