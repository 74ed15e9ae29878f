"""Questions asked of captured activations; the answers are numpy arrays and plain words."""

from transformer_core.analysis.reading import ATTENTIONS, Attention, Cell, Reading, read_translation, strongest_cell
from transformer_core.analysis.table import pattern_csv

__all__ = ["ATTENTIONS", "Attention", "Cell", "Reading", "pattern_csv", "read_translation", "strongest_cell"]
