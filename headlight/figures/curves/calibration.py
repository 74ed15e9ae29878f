"""Calibration: how often predictions were right, over the confidence that was stated for them."""

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from headlight.figures.hues import FAINT, STRONG
from headlight.figures.layout import axis_title, figure_layout, figure_of, hover, note
from transformer_core.language import say, say_number


def calibration(
    confidence: Float[np.ndarray, " bin"],
    share_right: Float[np.ndarray, " bin"],
    counts: Int[np.ndarray, " bin"],
    *,
    height: int = 300,
) -> go.Figure:
    """Draw the share of right predictions over the stated confidence; perfect calibration is the diagonal.

    Args:
        confidence: mean stated confidence of each bin, in [0, 1], rising.
        share_right: share of right predictions of each bin, in [0, 1].
        counts: predictions in each bin.
        height: px.

    Returns:
        A line through the bins, each with its count.

    Source: Murphy and Winkler 1977, the reliability diagram.
    """
    hover_texts = [
        say("stated confidence {confidence:.0%}, correct {share:.0%}; {count}", confidence=p, share=share, count=told)
        for p, share, told in zip(confidence.tolist(), share_right.tolist(), _in_words(counts), strict=True)
    ]
    diagonal = go.Scatter(x=[0, 1], y=[0, 1], mode="lines", line={"color": FAINT, "dash": "dash"}, hoverinfo="skip")
    bins = go.Scatter(
        x=confidence,
        y=share_right,
        mode="lines+markers",
        line={"color": STRONG, "width": 2},
        marker={"color": STRONG, "size": 10},
        **hover(hover_texts),
    )
    numbers = [
        note(f"n = {n}", x=x, y=y, xref="x", yref="y", anchor=("center", "top" if y > 0.5 else "bottom"))
        | {"yshift": -9 if y > 0.5 else 9}
        for x, y, n in zip(confidence.tolist(), share_right.tolist(), counts.tolist(), strict=True)
    ]
    layout = figure_layout(say("Calibration of your predictions"), height=height, margin=(8, 16, 40, 8)) | {
        "showlegend": False,
        "annotations": [
            *numbers,
            note(say("perfect calibration"), x=0, y=0, xref="x", yref="y", anchor=("left", "bottom"), size=11)
            | {"xshift": 90},
        ],
        "xaxis": {"title": axis_title(say("stated confidence"), size=13), "range": [-0.03, 1.03]}
        | {"tickformat": ".0%", "dtick": 0.1, "automargin": True},
        "yaxis": {"title": axis_title(say("fraction correct"), size=13), "range": [-0.05, 1.08]}
        | {"tickformat": ".0%", "dtick": 0.25, "automargin": True, "showgrid": True},
    }
    return figure_of([diagonal, bins], layout)


def _in_words(counts: Int[np.ndarray, " bin"]) -> list[str]:
    return [say_number(n, "{n} prediction", "{n} predictions") for n in counts.tolist()]
