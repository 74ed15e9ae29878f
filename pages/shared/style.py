"""The app's style sheets, on top of the theme in .streamlit/config.toml."""

from base64 import b64encode
from functools import cache
from pathlib import Path

import streamlit as st

import headlight
from headlight.figures.theme import DARK, LIGHT, THEMES, Theme
from headlight.language import ENGLISH, language, say
from pages.shared import least_text, presenter, prose
from pages.shared.page import pages

SHARED_SHEETS = (
    "frame.css",
    "text.css",
    "bar.css",
    "facts.css",
    "waiting.css",
    "experiments.css",
    "predictions.css",
)  # come first, so that a page's own sheet overrides them
FORCED_COLORS = Path(headlight.__file__).with_name("components") / "kit" / "forced_colors.css"  # components use it, too
# Streamlit shows elapsed times and upload limits in English only. A CSS rule that tests the page's language with
# :has() would make browsers re-evaluate all elements whenever one changes.
# The text of upload buttons is English, too; their labels say whether they take files or a folder.
_UNSAID = "[data-testid=stSpinner] [role=status] + span, [data-testid=stFileUploaderDropzoneInstructions]"
_UPLOAD = "[data-testid=stFileUploaderDropzone] button p"
ICON = str(Path(__file__).with_name("icon.svg"))


def apply() -> None:
    """Apply the styles that depend on the reader's theme and language; all others are in the server's page."""
    unsaid: str | prose.Markup = ""
    if language() != ENGLISH:
        quoted = prose.markup("'{}'", say("Upload"))
        hidden = f"{_UNSAID} {{ display: none; }} {_UPLOAD} {{ font-size: 0; }}"
        unsaid = prose.joined(" ", [hidden, f"{_UPLOAD}::after {{ content:", quoted, "; font-size: 0.875rem; }"])
    prose.html("<style>{}{}{}</style>", _accents(theme()), presenter.style(), unsaid)


def theme() -> Theme:
    """Return the colors of the reader's theme, light or dark."""
    return THEMES.get(st.context.theme.type or LIGHT.name, LIGHT)


@cache
def sheet() -> str:
    """Return all style sheets, joined.

    The server's page has them from the start: a Streamlit element would add them only after the first drawing, and
    the layout would jump. The accents are those of the system's theme until `apply` sets the reader's.
    """
    folder = Path(__file__).with_name("styles")
    of_pages = [sheet for page in pages().values() for sheet in sorted(page.folder.glob("*.css"))]
    icon = f"url('data:image/svg+xml;base64,{b64encode(Path(ICON).read_bytes()).decode()}')"
    below = f":root {{ --hl-icon: {icon}; --hl-below: {LIGHT.diverging[2]}; }}\n"  # below zero; components see it, too
    accents = f"{_accents(LIGHT)}@media (prefers-color-scheme: dark) {{ {_accents(DARK)}}}\n"
    sheets = (FORCED_COLORS, *(folder / name for name in SHARED_SHEETS), *of_pages)
    return below + accents + least_text.with_least_text("".join(file.read_text(encoding="utf-8") for file in sheets))


def _accents(theme: Theme) -> str:
    """Return the accent color and the text color on it, as CSS variables that dialogs and components see, too."""
    return f":root {{ --hl-accent: {theme.accent}; --hl-on-accent: {theme.background}; }}\n"
