"""The hue of each kind of part, the same on the drawing of a model and in the figures of its parameters and costs."""

from headlight.figures.hues import FAINT, HUES

PART_HUES = {
    "token embedding": HUES[3],
    "segment embedding": HUES[6],
    "positions": HUES[4],
    "self-attention": HUES[0],
    "cross-attention": HUES[7],
    "feed-forward": HUES[2],
    "normalization": FAINT,
    "last layer": HUES[5],
}
"""By the names of parts in `analysis.inventory`."""

COST_HUES = {
    "projections": HUES[0],
    "attention": HUES[3],
    "feed_forward": HUES[2],
    "unembedding": HUES[5],
}
"""By the names of costs in `blueprint.cost`."""
