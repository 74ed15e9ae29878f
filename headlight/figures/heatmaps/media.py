"""Where one query attends, on the image or the sound that the model reads."""

import base64
import io
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, UInt8

from headlight.figures import elements
from headlight.figures.labels import escape
from headlight.figures.quantities import rounded
from headlight.figures.theme import STRONG, WARM

_TITLE, _EDGE = 34, 6  # px: margins
_DIM = 0.8  # opacity of black over a patch without weight
_N_POINTS = 600  # of a waveform


def image_weights(
    pixels: UInt8[np.ndarray, "y x 3"],
    weights: Float[np.ndarray, "row column"],
    labels: Sequence[str],
    *,
    title: str,
    query: tuple[int, int] | None = None,
    height: int = 260,
) -> go.Figure:
    """Draw an image darkened where a query does not attend: the patch with the largest weight keeps its colors.

    Args:
        pixels: as the model reads them.
        weights: of each patch.
        labels: of the patches, row by row.
        title: plain text.
        query: row and column of the query's own patch, which is framed; None: a token before the patches.
        height: px.
    """
    from PIL import Image

    n_rows, n_columns = weights.shape
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    picture = {
        "source": f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}",
        **{"xref": "x", "yref": "y", "x": -0.5, "y": -0.5, "sizex": n_columns, "sizey": n_rows},
        **{"sizing": "stretch", "layer": "below", "xanchor": "left", "yanchor": "top"},
    }
    cells = go.Heatmap(
        name="weights",
        z=weights.astype(np.float32),
        zmin=0,
        zmax=_largest(weights),
        colorscale=[(0, f"rgba(0,0,0,{_DIM})"), (1, "rgba(0,0,0,0)")],
        showscale=False,
        **elements.hover(_texts(weights, labels)),
    )
    hidden = {"visible": False, "fixedrange": True}
    layout = elements.figure_layout(title, height=height, margin=(0, 0, _TITLE, _EDGE))
    layout |= {
        "images": [picture],
        "xaxis": elements.cell_axis(n_columns, **hidden, constrain="domain"),
        "yaxis": elements.cell_axis(
            n_rows, is_down=True, **hidden, scaleanchor="x", scaleratio=_shape(pixels, weights), constrain="domain"
        ),
        "shapes": [] if query is None else [elements.cell_frame(*query, color=WARM)],
    }
    return elements.figure_of([cells], layout)


def sound_weights(
    samples: Float[np.ndarray, " sample"],
    weights: Float[np.ndarray, " frame"],
    labels: Sequence[str],
    *,
    title: str,
    query: int | None = None,
    height: int = 180,
) -> go.Figure:
    """Draw the weights of the frames of a sound, and its waveform below.

    Args:
        samples: from the first to the last frame.
        weights: of each frame.
        labels: of the frames.
        title: plain text.
        query: the query's own frame, which is framed; None: another token.
        height: px.
    """
    n = len(weights)
    parts = np.array_split(samples, min(_N_POINTS, len(samples)))
    ends = np.array([(part.min(), part.max()) for part in parts]) / max(1e-9, float(abs(samples).max()))
    times = np.linspace(-0.5, n - 0.5, len(parts))
    cells = go.Heatmap(
        name="weights",
        z=weights[None].astype(np.float32),
        zmin=0,
        zmax=_largest(weights),
        coloraxis="coloraxis",
        **elements.hover(_texts(weights[None], labels)),
    )
    wave = go.Scatter(
        x=np.repeat(times, 2),
        y=1 - 0.45 * ends.ravel(),
        mode="lines",
        line={"color": STRONG, "width": 1},
        hoverinfo="skip",
        showlegend=False,
    )
    step = max(1, n // 6)
    layout = elements.figure_layout(title, height=height, margin=(_EDGE, _EDGE, _TITLE + 20, _EDGE))
    layout |= {
        "coloraxis": {"cmin": 0, "cmax": _largest(weights), "showscale": False},
        "xaxis": elements.cell_axis(n, **elements.label_axis(range(0, n, step), labels[::step]), fixedrange=True),
        "yaxis": elements.cell_axis(2, is_down=True, visible=False, fixedrange=True),
        "shapes": [] if query is None else [elements.cell_frame(0, query, color=WARM)],
    }
    return elements.figure_of([cells, wave], layout)


def _largest(weights: Float[np.ndarray, "..."]) -> float:
    return max(float(np.nan_to_num(weights).max(initial=0)), 1e-9)


def _shape(pixels: UInt8[np.ndarray, "y x 3"], weights: Float[np.ndarray, "row column"]) -> float:
    """Return the height of a patch as a multiple of its width."""
    return (pixels.shape[0] / weights.shape[0]) / (pixels.shape[1] / weights.shape[1])


def _texts(weights: Float[np.ndarray, "row column"], labels: Sequence[str]) -> list[list[str]]:
    n = weights.shape[1]
    return [
        [f"{escape(labels[row * n + column])}: {rounded(value, 3)}" for column, value in enumerate(values)]
        for row, values in enumerate(weights.tolist())
    ]
