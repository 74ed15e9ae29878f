"""Cells of a heatmap whose numbers are hidden: a question mark each."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool

from headlight.language import say
from transformer_core.errors import mark

HIDDEN = mark("hidden until you answer the question")
_MOST_MARKS = 400  # cells with a question mark; more would overlap
_CLEAR = [[0, "rgba(0,0,0,0)"], [1, "rgba(0,0,0,0)"]]


def hidden_cells(hidden: Bool[np.ndarray, "row column"]) -> list[Any]:
    """Return the traces that cover cells of a heatmap over integer positions; [] if none is hidden.

    Args:
        hidden: True = the cell gets a question mark, and a hover text in place of that of its number.
    """
    if not hidden.any():
        return []
    z, words = np.where(hidden, 0.0, np.nan).astype(np.float32), f"{say(HIDDEN)}<extra></extra>"
    look: dict[str, Any] = {"colorscale": _CLEAR, "showscale": False, "hoverongaps": False}
    traces: list[Any] = [go.Heatmap(name=say(HIDDEN), z=z, hovertemplate=words, **look)]
    if hidden.size <= _MOST_MARKS:
        rows, columns = np.nonzero(hidden)
        marks: dict[str, Any] = {"mode": "text", "text": "?", "textfont": {"size": 15}, "hoverinfo": "skip"}
        traces.append(go.Scatter(x=columns, y=rows, showlegend=False, **marks))
    return traces
