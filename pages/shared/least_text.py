"""The least size of text: each size in a style sheet is served as the larger one of itself and a CSS variable.

What draws on canvases, and plotly's figures, read the variable, too (headlight/components/kit/theme.js).
"""

import re

VARIABLE = "--hl-least-text"
_SIZE = re.compile(
    r"(\bfont-size:\s*+)(?!0;|inherit)([^;!]+?)(?=\s*(?:!important\s*)?;)"
    r"|(\bfont:\s+(?:\d{3}\s+)?)([\d.]+(?:px|r?em))"
)


def with_least_text(css: str) -> str:
    """Return a style sheet in which no text is smaller than the variable, where that is set."""
    return _SIZE.sub(lambda of: f"{of[1] or of[3]}max({of[2] or of[4]}, var({VARIABLE}, 0px))", css)
