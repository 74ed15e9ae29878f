"""The figure that flows, and what is chosen above it: the attention, the layer and the head."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from headlight.analysis.trace.attentions import ATTENTIONS
from pages.learn.steps import view_fields
from pages.learn.steps.components.steps import At, attention_steps
from pages.learn.steps.data import StepsData
from pages.shared import prose
from pages.shared.view import state
from pages.shared.view.fields import Choice
from transformer_core.errors import mark
from transformer_core.language import say

MOST_BESIDE = 8  # layers or heads side by side; more are folded up


def controls(data: StepsData) -> None:
    """Draw where attention, layer and head are chosen."""
    card, view = data.card, data.view
    with st.container(key="hl-steps-bar", horizontal=True, vertical_alignment="center", gap="small"):
        if len(card.attentions) > 1:
            _one_of(mark("Attention"), state.ATTENTION, [*card.attentions], _title)
        _one_of(mark("Layer"), state.LAYER, range(card.n_layers(view.attention)))
        _one_of(mark("Head"), state.HEAD, range(card.config.n_heads))


def draw(data: StepsData) -> None:
    """Draw the figure."""
    queries, keys = data.shown
    query_labels, key_labels = data.labels
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
            stage=view_fields.STAGE.value,
            query=view_fields.QUERY.value,
            key=data.key,
            cell=view_fields.CELL.value,
        ),
        place=view_fields.PLACE,
        on_view=view_fields.on_view,
        is_self=not data.is_cross,
        first_query=queries.start,
        first_key=keys.start,
    )


def _title(name: str) -> str:
    return say(ATTENTIONS[name].title)


def _one_of(label: str, choice: Choice, options: Sequence[Any], name: Any = str) -> None:
    """Draw a choice of one out of a few side by side; of many, folded up."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        if name is str:
            prose.html("<span class='hl-steps-label'>{}</span>", say(label), width="content")
        if len(options) > MOST_BESIDE:
            choice.selectbox(say(label), options, width=90, label_visibility="collapsed")
        else:
            choice.segmented(say(label), options, name=name)
