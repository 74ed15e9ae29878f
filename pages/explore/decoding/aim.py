"""Whose attention the Decoding page shows: a head, the mean of a layer, or of all heads; and where that is chosen."""

from typing import TYPE_CHECKING

import streamlit as st

from pages.explore.decoding import view_fields
from pages.shared.view import state
from transformer_core.errors import mark
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.decoding.attention_rows import Aim

MEANS = {"": mark("one head"), "layer": mark("layer mean"), "all": mark("mean of all heads")}


def current(n_layers: int) -> "Aim":
    """Return whose attention is shown, in a stack of this many layers."""
    from transformer_core.decoding.attention_rows import Aim

    view = state.current()
    return Aim(layer=min(view.layer, n_layers - 1), head=view.head, mean=view_fields.MEAN.value)


def choose(n_layers: int, n_heads: int) -> None:
    """Draw where it is chosen."""
    aim = current(n_layers)
    with st.popover(say("Select heads"), type="tertiary"):
        view_fields.MEAN.selectbox(say("Attention of"), [*MEANS], name=lambda mean: say(MEANS[mean]))
        state.LAYER.selectbox(say("Layer"), range(n_layers), shown=aim.layer, disabled=aim.mean == "all")
        state.HEAD.selectbox(say("Head"), range(n_heads), disabled=bool(aim.mean))
