"""The figure that flows, and what is chosen above it: the attention, the layer and the head."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.learn.steps import view_fields
from pages.learn.steps.components.steps import At, attention_steps
from pages.learn.steps.data import StepsData
from pages.shared import prose, state
from transformer_core.analysis import ATTENTIONS
from transformer_core.errors import mark
from transformer_core.language import say

MOST_BESIDE = 8  # layers or heads side by side; more are folded up


def controls(data: StepsData) -> None:
    """Draw where attention, layer and head are chosen."""
    card, view = data.card, data.view
    with st.container(key="hl-steps-bar", horizontal=True, vertical_alignment="center", gap="small"):
        if len(card.attentions) > 1:
            _segments(mark("Attention"), state.ATTENTION, [*card.attentions], view.attention, _title)
        _segments(mark("Layer"), state.LAYER, range(card.n_layers(view.attention)), view.layer)
        _segments(mark("Head"), state.HEAD, range(card.config.n_heads), view.head)


def draw(data: StepsData) -> None:
    """Draw the figure."""
    queries, keys = data.shown
    query_labels, key_labels = data.labels
    signal = view_fields.control_signal(data.shown, data.key)
    config = data.card.config
    attention_steps(
        stages=data.walk.stages,
        quantities=data.quantities,
        query_tokens=query_labels[queries.start : queries.stop],
        key_tokens=key_labels[keys.start : keys.stop],
        n_queries=len(query_labels),
        n_keys=len(key_labels),
        head=data.view.head,
        n_heads=config.n_heads,
        d_head=config.d_head,
        at=At(
            stage=signal.stage,
            query=queries.index(signal.query),
            key=keys.index(signal.key) if signal.key in keys else None,
            cell=data.where_shown(signal.cell, signal.query),
        ),
        signal=signal.count,
        key=view_fields.FIGURE,
        on_view=view_fields.on_view,
        is_self=not data.is_cross,
        first_query=queries.start,
        first_key=keys.start,
    )


def _title(name: str) -> str:
    return say(ATTENTIONS[name].title)


def _segments(label: str, chosen_in: str, choices: Sequence[Any], chosen: Any, name: Any = str) -> None:
    """Draw a choice of one out of a few side by side; of many, folded up."""
    key = f"steps-{chosen_in}-box"

    def on_change() -> None:
        st.session_state[chosen_in] = st.session_state[key]

    st.session_state[key] = chosen
    options: dict[str, Any] = {"key": key, "on_change": on_change, "label_visibility": "collapsed"}
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        if name is str:
            st.html(f"<span class='hl-steps-label'>{say(label)}</span>", width="content")
        if len(choices) > MOST_BESIDE:
            st.selectbox(say(label), choices, width=90, **options)
        else:
            st.segmented_control(
                prose.plain(say(label)),
                choices,
                format_func=lambda choice: prose.plain(name(choice)),
                required=True,
                **options,
            )
