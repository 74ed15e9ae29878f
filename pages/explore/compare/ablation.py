"""The heads that a side of Compare ablates, as a stack of interventions."""

from collections.abc import Iterable
from typing import Any

from headlight.analysis.heads.measures import HeadName, by_layer
from headlight.analysis.interventions.records import Ablation, CellEdit, Component, InterventionStack, StackEntry
from transformer_core.errors import mark

METHODS = {"": mark("none"), "zero": mark("zero ablation"), "uniform": mark("uniform attention")}
OTHER = "other"  # any other stack, which only a link can name


def ablation(method: str, heads: Iterable[tuple[str, int, int]]) -> InterventionStack:
    """Return the stack that ablates the given heads; without a method or heads, an empty stack.

    Args:
        method: one of `METHODS`.
        heads: attention, layer and head of each.

    Raises:
        ConfigError: heads of more layers than a stack has entries.
    """
    return InterventionStack(entries=tuple(_entry(method, *of) for of in by_layer(heads).items()) if method else ())


def _entry(method: str, layer: tuple[str, int], heads: tuple[int, ...]) -> StackEntry:
    place: dict[str, Any] = {"attention": layer[0], "layer": layer[1], "heads": heads}
    if method == "uniform":
        return CellEdit(operation="uniform", **place)
    return Ablation(component=Component(kind="head", **place), method="zero")


def method_of(stack: InterventionStack) -> str:
    """Return the method, one of `METHODS`, with which a stack ablates heads; `OTHER` if it does anything else."""
    methods = {_method(entry) for entry in stack.enabled}
    return methods.pop() if len(methods) == 1 else OTHER if methods else ""


def ablated_heads(stack: InterventionStack) -> list[HeadName]:
    """Return the heads that a stack ablates; none if it changes anything else."""
    if method_of(stack) == OTHER:
        return []
    places: list[Any] = [entry.component if isinstance(entry, Ablation) else entry for entry in stack.enabled]
    return [HeadName(place.attention, place.layer, head) for place in places for head in place.heads or ()]


def _method(entry: StackEntry) -> str:
    match entry:
        case Ablation(component=Component(kind="head", heads=(_, *_), positions=None), method="zero"):
            return "zero"
        case CellEdit(operation="uniform", heads=(_, *_)):
            return "uniform"
    return OTHER
