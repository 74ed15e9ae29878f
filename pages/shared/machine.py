"""What the model runs on: the device and the precision, chosen beside every page."""

from collections.abc import Callable

import streamlit as st

from headlight.language import say
from pages.shared import models, prose
from pages.shared.view import state
from transformer_core.errors import mark

WIDTH = 320  # px
OPEN = "hl-machine"  # whether it is open
ABOUT = mark(
    "bfloat16 uses half the memory of float32 and has two to three significant digits. Device and precision are not "
    "part of links."
)


def choose() -> None:
    """Draw the choice, folded up; only where it is open torch must be loaded, to know the devices."""
    view = state.current()
    label = f"{models.device_name(view.device)}, {view.precision}"
    icon = ":material/memory:"
    with (
        st.sidebar,
        st.popover(prose.plain(label), type="tertiary", icon=icon, key=OPEN, on_change="rerun") as folded,
        st.container(width=WIDTH),
    ):
        if not folded.open:
            return
        devices = models.devices()
        if len(devices) > 1:
            _choice(say("Device"), devices, state.DEVICE.key, models.device_name)
        else:
            alone = say("This machine has only a {device}.", device=models.device_name(devices[0]))
            prose.small(alone)
        _choice(say("Precision"), models.PRECISIONS, state.PRECISION.key)
        prose.small(say(ABOUT))


def _choice(label: str, options: tuple[str, ...], key: str, name: Callable[[str], str] = str) -> None:
    st.segmented_control(
        prose.plain(label),
        options,
        key=key,
        format_func=lambda option: prose.plain(name(option)),
        required=True,
        persist_state="session",
    )
