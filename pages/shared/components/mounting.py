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
    "writing": (
        "theme.js",
        "packing.js",
        "chips.js",
        "looking.js",
        "stepper.js",
        "writing.js",
        "writing.css",
        "chips.css",
        "stepper.css",
    ),
    "lines": ("theme.js", "packing.js", "curves.js", "spotlight.js", "lines.js", "lines.css"),
    "branches": ("theme.js", "lanes.js", "branch_words.js", "branch_walk.js", "branches.js", "branches.css"),
    "candidates": (
        "theme.js",
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
        html=f'<div class="{name}"></div>',
        css="".join(styles) or None,
        js=with_words("".join(modules), language()),
        isolate_styles=isolated,
    )


def name_of(component: str) -> str:
    """Return the name under which Streamlit knows a component, another one in each language."""
    return f"headlight.{component}" + ("" if language() == ENGLISH else f".{language()}")


@cache
def with_words(script: str, language: str) -> str:
    """Return a component's script with the function `say` and the reader's words for all that it says."""
    words = {text: said for text, said in messages(language).items() if json.dumps(text, ensure_ascii=False) in script}
    return f"const WORDS = {json.dumps(words, ensure_ascii=False)};\n{_source('say.js')}{script}"


@cache
def _source(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
