"""The controls of the Masks page: the attention, the layers, the head, the size of a preset, and the padding."""

import streamlit as st

from headlight.analysis.masks.presets import MOST_PADDING
from headlight.language import say
from pages.learn import head_choice
from pages.learn.masks import view_fields
from pages.learn.masks.data import MasksData
from pages.learn.masks.words import WORDS


def show(data: MasksData) -> None:
    """Draw what is chosen beside the preset, in one line: what is chosen says what it is."""
    card, preset = data.card, data.preset
    with st.container(horizontal=True, gap="small", key="hl-masks-choices"):
        head_choice.attention(card, take=view_fields.choose_attention)
        head_choice.head(card)
        view_fields.LAYERS.selectbox(
            say("Mask applies to"),
            ["all", "one"],
            name=lambda name: say("mask: all layers") if name == "all" else say("mask: this layer"),
            label_visibility="collapsed",
            width=165,
        )
        if preset.size is not None:
            view_fields.SIZE.selectbox(
                say(WORDS[preset.name].size),
                range(1, view_fields.MOST_SIZE + 1),
                name=lambda n: say("{name}: {n}", name=say(WORDS[preset.name].size), n=n),
                shown=data.size,
                label_visibility="collapsed",
                width=150,
            )
        if card.config.pad_id is not None and preset.is_shifted:
            view_fields.PADDING.selectbox(
                say("Padding tokens"),
                range(MOST_PADDING + 1),
                name=lambda n: say("padding: {n}", n=n),
                shown=data.n_padding,
                label_visibility="collapsed",
                width=125,
            )
