"""What the model runs on: the device and the precision, chosen beside every page."""

import streamlit as st

from headlight.language import say
from pages.shared import devices, prose
from pages.shared.view import state
from transformer_core.errors import mark

WIDTH = 320  # px
OPEN = "hl-machine"  # whether it is open
ABOUT = mark(
    "bfloat16 uses half the memory of float32 and has two to three significant digits. Device and precision are not "
    "part of links."
)


def choose() -> None:
    """Draw the choice, folded; torch is loaded, to list the devices, only when it is opened."""
    view = state.current()
    label = f"{devices.name_of(view.device)}, {view.precision}"
    icon = ":material/memory:"
    with (
        st.sidebar,
        st.popover(prose.plain(label), type="tertiary", icon=icon, key=OPEN, on_change="rerun") as folded,
        st.container(width=WIDTH),
    ):
        if not folded.open:
            return
        there = devices.available()
        if len(there) > 1:
            state.DEVICE.segmented(say("Device"), there, name=devices.name_of, label_visibility="visible")
        else:
            alone = say("This machine has only a {device}.", device=devices.name_of(there[0]))
            prose.small(alone)
        state.PRECISION.segmented(say("Precision"), devices.PRECISIONS, label_visibility="visible")
        prose.small(say(ABOUT))
