"""The live figures that a lesson can have, by name."""

from collections.abc import Mapping

from pages.learn.tour.lesson_engine import drawing_heads, drawing_numbers, drawing_predictions
from pages.learn.tour.lesson_engine.figure_kind import FigureKind

KINDS: Mapping[str, FigureKind] = {
    kind.name: kind
    for module in (drawing_heads, drawing_numbers, drawing_predictions)
    for kind in vars(module).values()
    if isinstance(kind, FigureKind)
}
