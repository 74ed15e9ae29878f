"""How Streamlit comes to know a component, and how arrays reach it."""

import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from headlight.language import ENGLISH, language
from pages.components import modules

# Streamlit takes a text of several lines for a module, and of one line for a path.
_LOADER = """\
const address = location.origin + "{address}";
export default (await import(address)).default;
"""


def component(file: str, name: str, *, isolated: bool) -> Callable[..., Any]:
    """Register a component, and return the function that puts it on the page.

    Args:
        file: the Python module that asks for it, `__file__`; the component's own module, `{name}.js`, is beside it.
        name: also the class of the component's root.
        isolated: it keeps its styles to itself, and the page's away.
    """
    address = modules.address(Path(file).with_name(f"{name}.js"), language())
    return st.components.v2.component(
        f"headlight.{name}" + ("" if language() == ENGLISH else f".{language()}"),
        html=f'<div class="{name}" lang="{language()}"></div>',  # another place for another language
        js=_LOADER.format(address=address),
        isolate_styles=isolated,
    )


def packed(header: Mapping[str, Any], values: bytes) -> bytes:
    """Return a header and the values that it describes as one block, which packing.js takes apart.

    It is the header's length (uint32, little endian), the header as JSON, then the values. Streamlit hands bytes over
    as they are only where they are the whole of a component's data.

    Args:
        header: what JSON can say; no NaN, which a browser refuses.
        values: as the component reads them.

    Raises:
        ValueError: a number of the header is not finite.
    """
    text = json.dumps(header, allow_nan=False).encode()
    return struct.pack("<I", len(text)) + text + values
