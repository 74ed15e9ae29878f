"""The controls of the page Masks: the attention, the layers, the head, the size of a preset, and the padding."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.learn.masks import view_fields
from pages.learn.masks.data import MasksData
from pages.shared import state
from transformer_core.analysis import ATTENTIONS
from transformer_core.analysis.masks.presets import MOST_PADDING
from transformer_core.language import say


def show(data: MasksData) -> None:
    """Draw what is chosen beside the preset."""
    card, view = data.card, data.view
    with st.container(horizontal=True, vertical_alignment="bottom", key="hl-masks-choices"):
        st.selectbox(
            say("The mask holds in"),
            ["all", "one"],
            format_func=lambda name: (
                say("all layers") if name == "all" else say("layer {layer} alone", layer=view.layer)
            ),
            width=140,
            **view_fields.box("masks-layers-box", view_fields.LAYERS.value, view_fields.LAYERS.set),
        )
        head(data)
        if data.preset.size is not None:
            _number(say(data.preset.size_name), view_fields.SIZE, data.size, (1, view_fields.MOST_SIZE))
        if card.config.pad_id is not None and data.preset.is_shifted:
            _number(say("Padding tokens"), view_fields.PADDING, data.n_padding, (0, MOST_PADDING))


def head(data: MasksData) -> None:
    """Draw where the layer and the head are chosen."""
    card, view = data.card, data.view
    _index(say("Layer"), state.LAYER, range(card.n_layers(view.attention)), view.layer)
    _index(say("Head"), state.HEAD, range(card.config.n_heads), view.head)


def attention(data: MasksData) -> None:
    """Draw where the attention is chosen."""
    st.selectbox(
        say("Attention"),
        [*data.card.attentions],
        format_func=lambda name: say(ATTENTIONS[name].title),
        label_visibility="collapsed",
        width=220,
        **view_fields.box("masks-attention-box", data.view.attention, view_fields.choose_attention),
    )


def _index(label: str, chosen_in: str, choices: Sequence[int], chosen: int) -> None:
    """Draw a box of layers or heads."""

    def take(index: int) -> None:
        st.session_state[chosen_in] = index

    st.selectbox(label, choices, width=76, **view_fields.box(f"masks-{chosen_in}-box", chosen, take))


def _number(label: str, field: Any, value: int, limits: tuple[int, int]) -> None:
    """Draw a number within limits."""
    lowest, highest = limits
    st.number_input(
        label,
        min_value=lowest,
        max_value=highest,
        width=140,
        **view_fields.box(f"masks-{field.name}-box", value, field.set),
    )
