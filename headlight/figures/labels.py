"""Texts in figures: tokens as plain labels, their width, and the title of a figure."""

import unicodedata
from typing import Any

LABEL_LENGTH = 13  # characters of a token on an axis; the whole token is in the hover text
LINE = 14  # px: the height of a tick text
_CHARACTER = 7.0  # px: the width of a letter


def shorten(token: str, length: int = LABEL_LENGTH) -> str:
    """Return the token, or its beginning and an ellipsis if it has more than `length` characters."""
    return token if len(token) <= length else token[: length - 1] + "\u2026"


def isolate(token: str) -> str:
    """Return the token, isolated from the text around it if it is written from right to left."""
    is_rightward = all(unicodedata.bidirectional(letter) not in ("R", "AL") for letter in token)
    return token if is_rightward else f"\u2068{token}\u2069"


def escape(token: str) -> str:
    """Return the token as plain text for plotly, which reads tags and entities in labels."""
    return token.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def text_width(text: str) -> float:
    """Return the approximate width of a tick text in px; East Asian letters and emoji are twice as wide."""
    return _CHARACTER * sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def heading(title: str, subtitle: str = "") -> dict[str, Any]:
    """Return the title of a figure, as a part of its layout.

    Args:
        title: plain text; names the quantity.
        subtitle: plain text, smaller, below it.
    """
    at_top_left = {"x": 0, "xref": "container", "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 4, "l": 2}}
    below = {"subtitle": {"text": escape(subtitle), "font": {"size": 12}}} if subtitle else {}
    return {"text": escape(title)} | at_top_left | below
