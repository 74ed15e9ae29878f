"""Interventions in words, as the stack and the figures call them."""

from collections.abc import Sequence

from transformer_core.analysis import ATTENTIONS
from transformer_core.analysis.interventions import Ablation, CellEdit, Component, Entry, Patch
from transformer_core.errors import mark
from transformer_core.figures import isolate
from transformer_core.language import say, say_number

METHODS = {  # of ablation
    "resample": mark("Resample"),
    "mean": mark("Mean"),
    "zero": mark("Zero"),
    "constant": mark("Optimal constant"),
}
KINDS = {  # of components
    "head": mark("Head"),
    "attention": mark("Attention layer"),
    "feed_forward": mark("Feed-forward"),
    "resid_pre": mark("Residual stream before the layer"),
    "resid_post": mark("Residual stream after the layer"),
}
DIRECTIONS = {
    "denoising": mark("Denoising"),
    "noising": mark("Noising"),
}
OPERATIONS = {"set": mark("Set"), "scale": mark("Scale"), "knock_out": mark("Knock out")}
N_NAMED = 4  # cells of a group
_METHOD_OF = {
    "resample": mark("resample-ablate {component}, values from “{text}”"),
    "mean": mark("mean-ablate {component}, over “{text}”"),
    "zero": mark("zero-ablate {component}"),
    "constant": mark("ablate {component} by the optimal constant"),
}
_OF_CELLS = {
    "set": mark("set {cells} of {heads} to {number:g}{rest}"),
    "scale": mark("scale {cells} of {heads} by {number:g}{rest}"),
    "knock_out": mark("knock out {cells} of {heads} before the softmax"),
    "uniform": mark("make the attention of {heads} uniform"),
}


def sentence(entry: Entry) -> str:
    """Return what an intervention does, after the name that a person gave it."""
    return f"{entry.name}: {_does(entry)}" if entry.name else _does(entry)


def _does(entry: Entry) -> str:
    match entry:
        case Ablation():
            text = _cut(" / ".join(entry.texts))
            return say(_METHOD_OF[entry.method], component=component(entry.component), text=text)
        case Patch():
            part = component(entry.component)
            return say(
                "patch {component} from “{text}” ({direction})",
                component=part,
                text=_cut(entry.text),
                direction=say(DIRECTIONS[entry.direction]),
            )
        case CellEdit():
            rest = say(", the rest of the row rescaled") if entry.renormalize else ""
            return say(
                _OF_CELLS[entry.operation],
                cells=_cells(entry),
                heads=heads(entry.attention, entry.layer, entry.heads),
                number=entry.number or 0,
                rest=rest,
            )
    swapped = ", ".join(f"{position} → {token}" for position, token in zip(entry.positions, entry.tokens, strict=True))
    return say("swap input tokens (position → id): {swapped}", swapped=swapped)


def component(of: Component) -> str:
    """Return what is replaced, and where."""
    if of.kind == "head":
        name = heads(of.attention, of.layer, of.heads)
    else:
        stack = say(ATTENTIONS[of.attention].inline) if of.kind == "attention" else say(STACKS[of.attention])
        name = say("{kind} ({stack}, layer {layer})", kind=say(KINDS[of.kind]), stack=stack, layer=of.layer)
    if of.positions is None:
        return name
    positions = ", ".join(map(str, of.positions))
    return say_number(
        len(of.positions),
        "{name} at position {positions}",
        "{name} at positions {positions}",
        name=name,
        positions=positions,
    )


STACKS = {"encoder": mark("encoder"), "decoder": mark("decoder"), "cross": mark("decoder")}


def heads(attention: str, layer: int, of: Sequence[int] | None) -> str:
    """Return some heads of a layer."""
    names = ", ".join(f"L{layer}.H{head}" for head in of) if of else say("layer {layer}", layer=layer)
    return f"{say(ATTENTIONS[attention].inline)} {names}"


def _cells(entry: CellEdit) -> str:
    """Return which cells, rows or columns are edited; of many cells their number."""
    cells = entry.cells or ((None, None),)
    if len(cells) > 1 and all(None not in cell for cell in cells):
        first = ", ".join(f"{query} → {key}" for query, key in cells[:N_NAMED])
        more = ", …" if len(cells) > N_NAMED else ""
        return say_number(len(cells), "{n} cell ({cells})", "{n} cells ({cells})", cells=first + more)
    named = []
    for query, key in cells:
        if query is None and key is None:
            named.append(say("all cells"))
        elif key is None:
            named.append(say("row {query}", query=query))
        elif query is None:
            named.append(say("column {key}", key=key))
        else:
            named.append(say("cell {query} → {key}", query=query, key=key))
    return ", ".join(named)


def _cut(text: str) -> str:
    return isolate(text if len(text) <= 40 else f"{text[:39]}…")
