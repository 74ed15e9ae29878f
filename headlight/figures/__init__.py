"""Figures: pure functions from numpy arrays to plotly figures.

Data are positional, options keyword-only; inputs are never modified, nothing is shown. Every color comes from `theme`.
Figures have the light theme; `figure.update_layout(template=template(DARK))` gives one the dark theme.
"""

from plotly.graph_objects import Figure

from headlight.figures.bars.row_bars import row_bars
from headlight.figures.bars.spread import texts_spread
from headlight.figures.bipartite import bipartite_lines
from headlight.figures.curves.heads_over_time import heads_over_time
from headlight.figures.curves.training import training_curves
from headlight.figures.heatmaps.attention import attention_heatmap, difference_heatmap
from headlight.figures.heatmaps.head_grid import head_grid
from headlight.figures.heatmaps.head_map import head_map_figure
from headlight.figures.heatmaps.model_matrices import head_matrix, layer_matrix
from headlight.figures.heatmaps.overview import levels
from headlight.figures.labels import isolate
from headlight.figures.theme import DARK, LIGHT, THEMES, Theme, sequential_scale, template
from headlight.figures.token_grid import TokenGrid

__all__ = [
    "DARK",
    "LIGHT",
    "THEMES",
    "Figure",
    "Theme",
    "TokenGrid",
    "attention_heatmap",
    "bipartite_lines",
    "difference_heatmap",
    "head_grid",
    "head_map_figure",
    "head_matrix",
    "heads_over_time",
    "isolate",
    "layer_matrix",
    "levels",
    "row_bars",
    "sequential_scale",
    "template",
    "texts_spread",
    "training_curves",
]
