"""The app's style sheets, on top of the theme in .streamlit/config.toml."""

from base64 import b64encode
from functools import cache
from pathlib import Path

import streamlit as st

from headlight.figures.theme import DARK, LIGHT, THEMES, Theme
from headlight.language import ENGLISH, language, say
from pages.shared import prose
from pages.shared.page import pages

SHARED_SHEETS = (
    "frame.css",
    "text.css",
    "bar.css",
    "facts.css",
    "waiting.css",
    "experiments.css",
    "predictions.css",
)  # come first: a page's own sheet has the last word
FORCED_COLORS = Path(__file__).parents[1] / "components" / "kit" / "forced_colors.css"  # components have it, too
# How long something takes, and how large a file may be, is shown by Streamlit, in English only. A rule that
# asks with :has() what the page's language is would have browsers look at all elements again whenever one changes.
# So is what a button for uploads does; its label says whether it takes files or a folder.
_UNSAID = "[data-testid=stSpinner] [role=status] + span, [data-testid=stFileUploaderDropzoneInstructions]"
_UPLOAD = "[data-testid=stFileUploaderDropzone] button p"
ICON = str(Path(__file__).with_name("icon.svg"))


def apply() -> None:
    """Set what follows the theme and the language that the reader has chosen; all else is in the server's page."""
    unsaid: str | prose.Markup = ""
    if language() != ENGLISH:
        quoted = prose.markup("'{}'", say("Upload"))
        hidden = f"{_UNSAID} {{ display: none; }} {_UPLOAD} {{ font-size: 0; }}"
        unsaid = prose.joined(" ", [hidden, f"{_UPLOAD}::after {{ content:", quoted, "; font-size: 0.875rem; }"])
    prose.html("<style>{}{}</style>", _accents(theme()), unsaid)


def theme() -> Theme:
    """Return the colors of what the reader has chosen, light or dark."""
    return THEMES.get(st.context.theme.type or LIGHT.name, LIGHT)


@cache
def sheet() -> str:
    """Return all style sheets, joined.

    The server's page has them from the start: an element of Streamlit's would bring them after the page was drawn
    without them, and everything would jump. The accents are those of the system's theme, until `apply` knows better.
    """
    folder = Path(__file__).with_name("styles")
    of_pages = [sheet for page in pages().values() for sheet in sorted(page.folder.glob("*.css"))]
    icon = f"url('data:image/svg+xml;base64,{b64encode(Path(ICON).read_bytes()).decode()}')"
    below = f":root {{ --hl-icon: {icon}; --hl-below: {LIGHT.diverging[2]}; }}\n"  # below zero; components see it, too
    accents = f"{_accents(LIGHT)}@media (prefers-color-scheme: dark) {{ {_accents(DARK)}}}\n"
    return (
        below
        + accents
        + FORCED_COLORS.read_text(encoding="utf-8")
        + "".join(file.read_text(encoding="utf-8") for file in (*(folder / name for name in SHARED_SHEETS), *of_pages))
    )


def _accents(theme: Theme) -> str:
    """Return the accent and what is written on it, as variables that dialogs and components see, too."""
    return f":root {{ --hl-accent: {theme.accent}; --hl-on-accent: {theme.background}; }}\n"
