"""Interventions in words, as the stack and the figures call them."""

from collections.abc import Iterator, Sequence

from headlight.analysis.interventions.records import (
    OF_HEADS,
    Ablation,
    CellEdit,
    Component,
    Patch,
    StackEntry,
    TokenSwap,
)
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures import isolate
from headlight.language import say, say_number
from pages.investigate.interventions.data import InterventionsData
from transformer_core.errors import mark
from transformer_core.text.interface import in_one_line

METHODS = {  # of ablation
    "resample": mark("Resample"),
    "mean": mark("Mean"),
    "zero": mark("Zero"),
    "constant": mark("Optimal constant"),
}
KINDS = {  # of components
    "head": mark("Head"),
    "query": mark("Queries of a head"),
    "key": mark("Keys of a head"),
    "value": mark("Values of a head"),
    "pattern": mark("Pattern of a head"),
    "attention": mark("Attention layer"),
    "feed_forward": mark("Feed-forward"),
    "resid_pre": mark("Residual stream before the layer"),
    "resid_post": mark("Residual stream after the layer"),
}
_INLINE = {  # the same within a sentence, and one that only a stack in an address names
    "query": mark("queries"),
    "key": mark("keys"),
    "value": mark("values"),
    "pattern": mark("attention pattern"),
    "attention": mark("attention layer"),
    "feed_forward": mark("feed-forward network"),
    "resid_pre": mark("residual stream before the layer"),
    "resid_mid": mark("residual stream before the feed-forward network"),
    "resid_post": mark("residual stream after the layer"),
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
    "corpus": mark("mean-ablate {component}, over texts of the corpus {corpus}"),
    "zero": mark("zero-ablate {component}"),
    "constant": mark("ablate {component} by the optimal constant"),
}
_OF_CELLS = {
    "set": mark("set {cells} of {heads} to {number:g}{rest}"),
    "scale": mark("scale {cells} of {heads} by {number:g}{rest}"),
    "knock_out": mark("knock out {cells} of {heads} before the softmax"),
    "uniform": mark("make the attention of {heads} uniform"),
}


def sentence(entry: StackEntry, data: InterventionsData) -> str:
    """Return an intervention in words, after the name that a person gave it."""
    return f"{entry.name}: {does(entry, data)}" if entry.name else does(entry, data)


def does(entry: StackEntry, data: InterventionsData, *, most: int = 40) -> str:
    """Return an intervention in words, without its name; `most`: characters of the other texts."""
    match entry:
        case Ablation():
            method = "corpus" if entry.corpus else entry.method
            texts = " / ".join(map(in_one_line, entry.texts))
            values = {"component": component(entry.component), "text": cut(texts, most)}
            return say(_METHOD_OF[method], **values, corpus=entry.corpus)
        case Patch():
            part = component(entry.component)
            return say(
                "patch {component} from “{text}” ({direction})",
                component=part,
                text=cut(in_one_line(entry.text), most),
                direction=say(DIRECTIONS[entry.direction]),
            )
        case CellEdit():
            is_part = any(key is not None for _, key in entry.cells or ())
            rest = say(", the rest of the row rescaled") if entry.renormalize and is_part else ""
            return say(
                _OF_CELLS[entry.operation],
                cells=_cells(entry),
                heads=heads(entry.attention, entry.layer, entry.heads),
                number=entry.number or 0,
                rest=rest,
            )
    return say("swap input tokens: {swapped}", swapped=", ".join(_swaps(entry, data)))


def _swaps(entry: TokenSwap, data: InterventionsData) -> Iterator[str]:
    """Yield position, token and new token of each swap; ids where this text or model has no such token."""
    labels = data.run.source if entry.side == "source" else data.run.target
    tokenizer = data.input_tokenizer(entry.side)
    for position, token in zip(entry.positions, entry.tokens, strict=True):
        before = f" “{labels[position]}”" if position < len(labels) else ""
        after = f"“{isolate(tokenizer.labels([token])[0])}”" if token < tokenizer.vocab_size else str(token)
        yield f"{position}{before} → {after}"


def component(of: Component) -> str:
    """Return a component in words, with its positions."""
    if of.kind == "head":
        name = heads(of.attention, of.layer, of.heads)
    elif of.kind in OF_HEADS:
        name = say("{kind} of {heads}", kind=say(_INLINE[of.kind]), heads=heads(of.attention, of.layer, of.heads))
    else:
        stack = say(ATTENTIONS[of.attention].inline) if of.kind == "attention" else say(STACKS[of.attention])
        name = say("{kind} ({stack}, layer {layer})", kind=say(_INLINE[of.kind]), stack=stack, layer=of.layer)
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
STACK_OF = {"encoder": "encoder", "decoder": "decoder", "cross": "decoder"}


def heads(attention: str, layer: int, of: Sequence[int] | None) -> str:
    """Return some heads of a layer in words."""
    names = ", ".join(f"L{layer}.H{head}" for head in of) if of else say("layer {layer}", layer=layer)
    return f"{say(ATTENTIONS[attention].inline)} {names}"


def _cells(entry: CellEdit) -> str:
    """Return the edited cells, rows or columns in words; for many cells, only their number."""
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


def cut(text: str, most: int) -> str:
    """Return the beginning and the end of a text, since two texts often differ only in their last words."""
    n_last = most // 2
    return isolate(text if len(text) <= most else f"{text[: most - n_last - 1]}…{text[-n_last:]}")
