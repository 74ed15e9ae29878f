"""Our own components: plain ES modules and styles beside this file, handed to Streamlit as text.

They write what a person typed with `textContent` only, or onto a canvas, and take their colors from the theme. Both
are as high as the style sheet's `--hl-stage`, so that nothing jumps while they load.
"""

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from transformer_core.figures import DARK, LIGHT, Figure, sequential_scale, template

_FOLDER = Path(__file__).parent


def head_overview(
    *,
    groups: Sequence[Mapping[str, Any]],
    levels: bytes,
    chosen: Mapping[str, Any],
    version: str,
    key: str,
    on_chosen: Callable[[], None],
) -> None:
    """All heads at once; a click, or Enter on a focused head, chooses one.

    Args:
        groups: for each attention: attention, title, layers, heads, queries, keys, and `strongest`, words for each
            layer and head.
        levels: one byte a cell, group by group, as `figures.levels` makes them.
        chosen: attention, layer and head of the chosen one.
        version: the component draws anew where this changes.
        key: the component's key; its value holds `chosen` in the run after a click.
        on_chosen: called before that run.
    """
    scales = {
        theme.name: {"sequential": sequential_scale(theme), "forbidden": theme.forbidden} for theme in (LIGHT, DARK)
    }
    header = {"groups": groups, "chosen": chosen, "version": version, "scales": scales}
    text = json.dumps(header).encode()
    _component("overview", isolated=True)(
        key=key, data=struct.pack("<I", len(text)) + text + levels, on_chosen_change=on_chosen
    )


def live_figure(figure: Figure, *, name: str, csv: str, key: str) -> None:
    """A plotly figure that keeps its place on the page while its data changes, with buttons to take it away.

    Args:
        figure: it takes the width and height of its place.
        name: of the files that are saved, without their endings.
        csv: the numbers in the figure.
        key: the component's key.
    """
    data = {"figure": figure.to_json(), "templates": _templates(), "name": name, "csv": csv}
    _component("figure", isolated=False)(key=key, data=data)


@cache
def _templates() -> dict[str, str]:
    return {theme.name: json.dumps(template(theme).to_plotly_json()) for theme in (LIGHT, DARK)}


def _component(name: str, *, isolated: bool) -> Callable[..., Any]:
    """Register a component: `name`.js after theme.js, and `name`.css."""
    return st.components.v2.component(
        f"headlight.{name}",
        html=f'<div class="{name}"></div>',
        css=_source(f"{name}.css"),
        js=_source("theme.js") + _source(f"{name}.js"),
        isolate_styles=isolated,
    )


@cache
def _source(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
