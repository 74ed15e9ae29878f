"""Whose attention the page Decoding shows: a head, the mean of a layer, or of all heads; and where that is chosen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.explore.decoding import view_fields
from pages.shared import state
from transformer_core.errors import mark
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.decoding.looking import Aim

MEANS = {"": mark("one head"), "layer": mark("mean of the layer"), "all": mark("mean of all heads")}


def current(n_layers: int) -> "Aim":
    """Return whose attention is shown, in a stack of so many layers."""
    from transformer_core.decoding.looking import Aim

    view = state.current()
    return Aim(layer=min(view.layer, n_layers - 1), head=view.head, mean=view_fields.MEAN.value)


def choose(n_layers: int, n_heads: int) -> None:
    """Draw where it is chosen."""
    aim = current(n_layers)
    with st.popover(say("Whose attention"), type="tertiary"):
        _box(mark("Of"), view_fields.MEAN.key, [*MEANS], aim.mean, format_func=lambda mean: say(MEANS[mean]))
        _box(mark("Layer"), state.LAYER, range(n_layers), aim.layer, disabled=aim.mean == "all")
        _box(mark("Head"), state.HEAD, range(n_heads), aim.head, disabled=bool(aim.mean))


def _box(label: str, chosen_in: str, choices: Sequence[Any], chosen: Any, **options: Any) -> None:
    """Draw a box that shows what is chosen, wherever it was chosen."""
    key = f"decoding-aim-{label.lower()}-box"

    def on_change() -> None:
        st.session_state[chosen_in] = st.session_state[key]

    st.session_state[key] = chosen
    st.selectbox(say(label), choices, key=key, on_change=on_change, **options)
