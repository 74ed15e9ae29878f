"""The app's style sheets, on top of the theme in .streamlit/config.toml."""

from base64 import b64encode
from functools import cache
from pathlib import Path

import streamlit as st

from transformer_core.figures.theme import LIGHT

ICON = str(Path(__file__).with_name("icon.svg"))


@cache
def icon() -> str:
    """Return the app's icon, to stand inside HTML."""
    return f"<img alt='' src='data:image/svg+xml;base64,{b64encode(Path(ICON).read_bytes()).decode()}'>"


def apply() -> None:
    """Add the style sheets to the page."""
    st.html(f"<style>{_sheet()}</style>")


@cache
def _sheet() -> str:
    sheets = sorted(Path(__file__).with_name("styles").glob("*.css"))
    below = f":root {{ --hl-below: {LIGHT.diverging[2]}; }}\n"  # negative numbers; components see it, too
    return below + "".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
