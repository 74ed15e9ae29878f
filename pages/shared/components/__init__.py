"""Our own components: plain ES modules and styles beside this file, handed to Streamlit as text.

They write what a person typed with `textContent` only, or onto a canvas, and take their colors from the theme. Both
are as high as the style sheet's `--hl-stage`, so that nothing jumps while they load.
"""

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from transformer_core.figures import DARK, LIGHT, Figure, sequential_scale, template
from transformer_core.figures.hues import WARM

_FOLDER = Path(__file__).parent
_FILES = {  # of a component, in this order; modules of one component see each other
    "overview": ("theme.js", "player.js", "overview.js", "overview.css", "player.css"),
    "film": ("theme.js", "player.js", "film.js"),
    "figure": ("theme.js", "figure.js", "figure.css"),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class FilmStrip:
    """The moments that an overview can play, and what its slider says of them."""

    steps: Sequence[int]  # ascending
    place: int  # of the chosen moment among them
    wish: int  # grows where the page itself chooses a moment; then the slider goes there, wherever it is
    strongest: bytes  # query, key and hundredths of the weight (uint16 each), moment by moment and head by head
    labels: Mapping[str, tuple[Sequence[str], Sequence[str]]]  # of queries and keys, by attention
    lines: Mapping[str, tuple[Sequence[float], tuple[float, float]]]  # two at most: numbers, lowest and highest drawn
    marks: Sequence[tuple[int, str]]  # places of moments, each with a sentence
    on_moment: Callable[[], None]  # called before the run in which the component's value holds `moment`: its step


def head_overview(
    *,
    groups: Sequence[Mapping[str, Any]],
    levels: bytes,
    chosen: Mapping[str, Any],
    version: str,
    key: str,
    on_chosen: Callable[[], None],
    film: FilmStrip | None = None,
) -> None:
    """All heads at once; a click, or Enter on a focused head, chooses one.

    With a film there is a player above them. The pictures of all moments are sent once, and while a person moves along
    them nothing is asked of the server; where the slider comes to rest, the component's value holds the moment.

    Args:
        groups: for each attention: attention, title, layers, heads, queries, keys, and `strongest`, words for each
            layer and head; with a film, without `strongest`.
        levels: one byte a cell, group by group, as `figures.levels` makes them; with a film, moment by moment.
        chosen: attention, layer and head of the chosen one.
        version: the component draws anew where this changes.
        key: the component's key; its value holds `chosen` in the run after a click.
        on_chosen: called before that run.
        film: the moments of a training.
    """
    scales = {
        theme.name: {"sequential": sequential_scale(theme), "forbidden": theme.forbidden} for theme in (LIGHT, DARK)
    }
    header = {"groups": groups, "chosen": chosen, "version": version, "scales": scales}
    overview = _component("overview", isolated=True)
    if film is None:
        overview(key=key, data=_packed(header, levels), on_chosen_change=on_chosen)
        return
    pictures = {
        "id": version,
        "frames": len(film.steps),
        "groups": [
            {
                "attention": group["attention"],
                "heads": group["layers"] * group["heads"],
                "rows": group["queries"],
                "columns": group["keys"],
            }
            for group in groups
        ],
    }
    with st.container(key="hl-film-pictures"):  # which takes no room
        _component("film", isolated=True)(key=f"{key}-pictures", data=_packed(pictures, film.strongest + levels))
    header["film"] = {
        "id": version,
        "steps": film.steps,
        "place": film.place,
        "wish": film.wish,
        "labels": {name: {"queries": queries, "keys": keys} for name, (queries, keys) in film.labels.items()},
        "lines": [{"name": name, "values": values, "ends": ends} for name, (values, ends) in film.lines.items()],
        "marks": [{"place": place, "words": words} for place, words in film.marks],
        "color": WARM,
    }
    overview(key=key, data=_packed(header, b""), on_chosen_change=on_chosen, on_moment_change=film.on_moment)


def _packed(header: Mapping[str, Any], values: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<I", len(text)) + text + values


def live_figure(figure: Figure, *, name: str, csv: str, key: str, height: int | None = None) -> None:
    """A plotly figure that keeps its place on the page while its data changes, with buttons to take it away.

    Args:
        figure: it takes the width and height of its place.
        name: of the files that are saved, without their endings.
        csv: the numbers in the figure.
        key: the component's key.
        height: px; None: that of the stage.
    """
    data = {"figure": figure.to_json(), "templates": _templates(), "name": name, "csv": csv, "height": height}
    _component("figure", isolated=False)(key=key, data=data)


@cache
def _templates() -> dict[str, str]:
    return {theme.name: json.dumps(template(theme).to_plotly_json()) for theme in (LIGHT, DARK)}


def _component(name: str, *, isolated: bool) -> Callable[..., Any]:
    """Register a component."""
    modules, styles = ([_source(file) for file in _FILES[name] if file.endswith(end)] for end in (".js", ".css"))
    return st.components.v2.component(
        f"headlight.{name}",
        html=f'<div class="{name}"></div>',
        css="".join(styles) or None,
        js="".join(modules),
        isolate_styles=isolated,
    )


@cache
def _source(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
