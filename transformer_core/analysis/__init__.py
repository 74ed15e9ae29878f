"""Questions asked of captured activations; the answers are numpy arrays and plain words.

What runs a model is loaded, and torch with it, when it is first used: a page need not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from transformer_core.analysis.heads.measures import HeadMeasures, HeadName, Share
from transformer_core.analysis.heads.picture import HeadPicture, HeadShare, ViewSpec, picture
from transformer_core.analysis.heads.table import pattern_csv
from transformer_core.analysis.trace.attentions import ATTENTIONS, Attention, attentions_of
from transformer_core.analysis.trace.cells import Cell, strongest_cell, strongest_cells
from transformer_core.analysis.training.curves import Curve, curves_of
from transformer_core.analysis.training.head_history import Appearance, HeadHistory, appearances

if TYPE_CHECKING:
    from transformer_core.analysis.heads.matching import HeadMatching, match_heads
    from transformer_core.analysis.heads.meter import HeadMeter, measure_heads
    from transformer_core.analysis.trace.model_run import Blank, Candidate, ModelRun, run_text

__all__ = [
    "ATTENTIONS",
    "Appearance",
    "Attention",
    "Blank",
    "Candidate",
    "Cell",
    "Curve",
    "HeadHistory",
    "HeadMatching",
    "HeadMeasures",
    "HeadMeter",
    "HeadName",
    "HeadPicture",
    "HeadShare",
    "ModelRun",
    "Share",
    "ViewSpec",
    "appearances",
    "attentions_of",
    "curves_of",
    "match_heads",
    "measure_heads",
    "pattern_csv",
    "picture",
    "run_text",
    "strongest_cell",
    "strongest_cells",
]

_HOMES = {
    "heads.matching": ("HeadMatching", "match_heads"),
    "heads.meter": ("HeadMeter", "measure_heads"),
    "trace.model_run": ("Blank", "Candidate", "ModelRun", "run_text"),
}


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
