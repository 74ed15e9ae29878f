"""Register components with Streamlit, and pack the arrays that they receive."""

import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from headlight.language import ENGLISH, language
from pages.components import modules

# Streamlit treats a text of several lines as a module, and one of a single line as a path.
_LOADER = """\
const address = location.origin + "{address}";
export default (await import(address)).default;
"""


def component(file: str, name: str, *, isolated: bool) -> Callable[..., Any]:
    """Register a component, and return the function that puts it on the page.

    Args:
        file: the Python module that asks for it, `__file__`; the component's own module, `{name}.js`, is beside it.
        name: also the class of the component's root.
        isolated: whether its styles and those of the page do not affect each other.
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

    It is the header's length (uint32, little endian), the header as JSON, then the values. Streamlit passes bytes
    on unchanged only if they are all of a component's data.

    Args:
        header: serializable as JSON, without NaN, which a browser rejects.
        values: as the component reads them.

    Raises:
        ValueError: a number of the header is not finite.
    """
    text = json.dumps(header, allow_nan=False).encode()
    return struct.pack("<I", len(text)) + text + values
