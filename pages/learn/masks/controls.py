"""The controls of the page Masks: the attention, the layers, the head, the size of a preset, and the padding."""

import streamlit as st

from pages.learn.masks import view_fields
from pages.learn.masks.data import MasksData
from pages.shared.view import state
from transformer_core.analysis import ATTENTIONS
from transformer_core.analysis.masks.presets import MOST_PADDING
from transformer_core.language import say


def show(data: MasksData) -> None:
    """Draw what is chosen beside the preset."""
    card, view = data.card, data.view
    with st.container(horizontal=True, vertical_alignment="bottom", key="hl-masks-choices"):
        view_fields.LAYERS.selectbox(
            say("The mask holds in"),
            ["all", "one"],
            name=lambda name: say("all layers") if name == "all" else say("layer {layer} alone", layer=view.layer),
            width=140,
        )
        head(data)
        if data.preset.size is not None:
            view_fields.SIZE.number(say(data.preset.size_name), 1, view_fields.MOST_SIZE, shown=data.size, width=140)
        if card.config.pad_id is not None and data.preset.is_shifted:
            view_fields.PADDING.number(say("Padding tokens"), 0, MOST_PADDING, shown=data.n_padding, width=140)


def head(data: MasksData) -> None:
    """Draw where the layer and the head are chosen."""
    card, view = data.card, data.view
    state.LAYER.selectbox(say("Layer"), range(card.n_layers(view.attention)), width=76)
    state.HEAD.selectbox(say("Head"), range(card.config.n_heads), width=76)


def attention(data: MasksData) -> None:
    """Draw where the attention is chosen."""
    state.ATTENTION.selectbox(
        say("Attention"),
        [*data.card.attentions],
        name=lambda name: say(ATTENTIONS[name].title),
        label_visibility="collapsed",
        width=220,
        take=view_fields.choose_attention,
    )
