"""Interventions: records of what is changed in a model, the context that applies them, and what they cause.

Records need no torch; what runs a model is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from transformer_core.analysis.interventions.records import (
    Ablation,
    CellEdit,
    Component,
    Entry,
    Patch,
    Stack,
    TokenSwap,
)
from transformer_core.analysis.interventions.stack_json import from_json, to_json

if TYPE_CHECKING:
    from transformer_core.analysis.interventions.attributing import Estimate, attribution, exact_top
    from transformer_core.analysis.interventions.comparison import (
        Base,
        Consequences,
        consequences,
        free_output,
        read_base,
    )
    from transformer_core.analysis.interventions.constants import FittedConstant, corpus_mean, fit_constant
    from transformer_core.analysis.interventions.context import Applied, SourceUse, applied, prepare
    from transformer_core.analysis.interventions.metric import Metric
    from transformer_core.analysis.interventions.path_patching import Edge, Node, edges, run_with_edges
    from transformer_core.analysis.interventions.run_comparison import RunComparison, compare_with_source
    from transformer_core.analysis.interventions.source_runs import Pairing, SourceRuns
    from transformer_core.analysis.interventions.standing import with_interventions
    from transformer_core.analysis.interventions.sweeping import (
        SweepResult,
        source_difference,
        sweep,
        sweep_components,
    )

__all__ = [
    "Ablation",
    "Applied",
    "Base",
    "CellEdit",
    "Component",
    "Consequences",
    "Edge",
    "Entry",
    "Estimate",
    "FittedConstant",
    "Metric",
    "Node",
    "Pairing",
    "Patch",
    "RunComparison",
    "SourceRuns",
    "SourceUse",
    "Stack",
    "SweepResult",
    "TokenSwap",
    "applied",
    "attribution",
    "compare_with_source",
    "consequences",
    "corpus_mean",
    "edges",
    "exact_top",
    "fit_constant",
    "free_output",
    "from_json",
    "prepare",
    "read_base",
    "run_with_edges",
    "source_difference",
    "sweep",
    "sweep_components",
    "to_json",
    "with_interventions",
]

_HOMES = {
    "attributing": ("Estimate", "attribution", "exact_top"),
    "constants": ("FittedConstant", "corpus_mean", "fit_constant"),
    "context": ("Applied", "SourceUse", "applied", "prepare"),
    "comparison": ("Base", "Consequences", "consequences", "free_output", "read_base"),
    "metric": ("Metric",),
    "path_patching": ("Edge", "Node", "edges", "run_with_edges"),
    "run_comparison": ("RunComparison", "compare_with_source"),
    "source_runs": ("Pairing", "SourceRuns"),
    "standing": ("with_interventions",),
    "sweeping": ("SweepResult", "source_difference", "sweep", "sweep_components"),
}


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
