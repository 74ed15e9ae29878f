"""Attention step by step: one head of a model on one text, every matrix on the way, and each number proved.

What runs a model is loaded, and torch with it, when it is first used: a page need not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from transformer_core.analysis.walkthrough.formulas import Tree, formula_tree
from transformer_core.analysis.walkthrough.records import Number, Proof, Quantity, Stage, Term

if TYPE_CHECKING:
    from transformer_core.analysis.walkthrough.walking import walk
    from transformer_core.analysis.walkthrough.walkthrough import Walkthrough

__all__ = [
    "Number",
    "Proof",
    "Quantity",
    "Stage",
    "Term",
    "Tree",
    "Walkthrough",
    "formula_tree",
    "walk",
]

_HOMES = {"walking": ("walk",), "walkthrough": ("Walkthrough",)}


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
