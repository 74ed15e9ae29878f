"""Which files make up which component, and how Streamlit comes to know it."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from transformer_core.language import ENGLISH, language, messages

_FOLDER = Path(__file__).parent
_FILES = {  # of a component, in this order; modules of one component see each other
    "overview": (
        "theme.js",
        "packing.js",
        "player.js",
        "thumbnails.js",
        "arrangement.js",
        "overview.js",
        "overview.css",
        "player.css",
    ),
    "film": ("packing.js", "player.js", "film.js"),
    "chapter": ("chapter.js",),
    "dials": ("theme.js", "positions_dials.js", "positions_dials.css"),
    "writing": (
        "theme.js",
        "place.js",
        "packing.js",
        "chips.js",
        "looking.js",
        "play_buttons.js",
        "stepper.js",
        "writing.js",
        "writing.css",
        "chips.css",
        "play_buttons.css",
        "stepper.css",
    ),
    "mask_gallery": ("theme.js", "place.js", "packing.js", "mask_paint.js", "mask_gallery.js", "mask_gallery.css"),
    "mask_which": ("theme.js", "place.js", "packing.js", "mask_paint.js", "mask_which.js", "mask_which.css"),
    "mask_matrix": (
        "theme.js",
        "place.js",
        "packing.js",
        "mask_paint.js",
        "mask_cells.js",
        "mask_grid.js",
        "mask_hands.js",
        "mask_outputs.js",
        "mask_matrix.js",
        "mask_matrix.css",
    ),
    "lines": ("theme.js", "packing.js", "curves.js", "spotlight.js", "lines.js", "lines.css"),
    "branches": ("theme.js", "lanes.js", "branch_words.js", "branch_walk.js", "branches.js", "branches.css"),
    "steps": (
        "theme.js",
        "place.js",
        "packing.js",
        "steps_numbers.js",
        "steps_colors.js",
        "steps_columns.js",
        "steps_links.js",
        "steps_paint.js",
        "steps_travel.js",
        "play_buttons.js",
        "steps_player.js",
        "steps_tokens.js",
        "steps_lens.js",
        "steps_formula.js",
        "steps_stage.js",
        "steps_pointing.js",
        "steps.js",
        "play_buttons.css",
        "steps.css",
        "steps_player.css",
        "steps_stage.css",
        "steps_tokens.css",
        "steps_lens.css",
    ),
    "steps_number": ("theme.js", "steps_formula.js", "steps_number.js", "steps_number.css"),
    "drawing": (
        "theme.js",
        "place.js",
        "drawing_layout.js",
        "drawing_arrows.js",
        "drawing_flow.js",
        "drawing_walk.js",
        "drawing.js",
        "drawing.css",
    ),
    "candidates": (
        "theme.js",
        "place.js",
        "packing.js",
        "sampling.js",
        "sliders.js",
        "candidates.js",
        "candidates.css",
        "sliders.css",
    ),
}


def component(name: str, *, isolated: bool) -> Callable[..., Any]:
    """Register a component, and return what puts it on the page.

    Args:
        name: one of those in `_FILES`.
        isolated: it keeps its styles to itself, and the page's away.
    """
    modules, styles = ([_source(file) for file in _FILES[name] if file.endswith(end)] for end in (".js", ".css"))
    return st.components.v2.component(
        name_of(name),
        html=f'<div class="{name}" lang="{language()}"></div>',  # another place for another language
        css="".join(styles) or None,
        js=with_words("".join(modules), language()),
        isolate_styles=isolated,
    )


def name_of(component: str) -> str:
    """Return the name under which Streamlit knows a component, another one in each language."""
    return f"headlight.{component}" + ("" if language() == ENGLISH else f".{language()}")


@cache
def with_words(script: str, language: str) -> str:
    """Return a component's script with the functions that all share, and the reader's words for all that it says."""
    words = {text: said for text, said in messages(language).items() if json.dumps(text, ensure_ascii=False) in script}
    told = f"const LANGUAGE = {json.dumps(language)}, WORDS = {json.dumps(words, ensure_ascii=False)};\n"
    return told + _source("say.js") + _source("leaving.js") + script


@cache
def _source(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
