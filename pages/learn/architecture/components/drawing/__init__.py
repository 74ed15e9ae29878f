"""A model drawn like figure 1 of the paper: clickable boxes with arrows between them.

A click is sent as a trigger of the component's key, for one run; `sent_block` validates it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headlight.analysis.blueprint.plan import Blueprint, Box
from headlight.figures.theme import KEY, PART_HUES, QUERY, VALUE
from headlight.language import localized, say
from pages.components.mounting import component
from pages.shared.view.shared_value import SharedValue

_LONGEST = 100  # maximum length of a name sent by a browser
_TEXT = 34  # characters of the text shown under a stack
_HUES = {  # of a box by its kind, as named in `PART_HUES`
    "embedding": "token embedding",
    "projection": "token embedding",
    "positions": "positions",
    "segments": "segment embedding",
    "feed_forward": "feed-forward",
    "transform": "last layer",
    "linear": "last layer",
    "softmax": "last layer",
}


@dataclass(frozen=True, kw_only=True)
class BoxLabel:
    """The label and the tooltip of a box, in the reader's language."""

    title: str
    sub: str = ""  # in smaller type below the title
    tip: Sequence[str] = ()  # one string per line


def drawing(
    plan: Blueprint,
    *,
    label_of: Callable[[Box], BoxLabel],
    texts: Mapping[str, str],
    output: str,
    lengths: Mapping[str, int],
    chosen: str,
    open_layers: Mapping[str, int],
    key: str,
    on_block: Callable[[], None],
) -> None:
    """Draw a model with one layer of each stack open; the others are plates that open on click.

    Arrow keys move between boxes, Enter chooses one.

    Args:
        plan: of the model.
        label_of: returns the label of a box; the same for all layers of a stack.
        texts: the text that each stack reads, by name of the stack.
        output: the output of the model.
        lengths: number of tokens that each stack reads, by name of the stack.
        chosen: the name of a box.
        open_layers: the open layer, by name of the stack.
        key: the component's key.
        on_block: called before the run in which `sent_block` returns the chosen name.
    """
    inputs = {"encoder": say("Inputs"), "decoder": say("Outputs (shifted right)")}
    is_pair = len(plan.stacks) > 1
    shown = [box for box in plan.boxes.values() if _is_shown(box, open_layers)]
    boxes = [_sent(plan, box, label_of(box)) for box in shown]
    stacks = []
    for stack in plan.stacks:
        own = [box for box in boxes if box["stack"] == stack]
        inside = [box for box in own if "*" in box["name"]]
        stacks.append(
            {
                "name": stack,
                "input": inputs[stack] if is_pair else say("Inputs"),
                "text": _short(texts[stack]),
                "shape": f"{localized(lengths[stack])} × {localized(plan.config.d_model)}",
                "layers": plan.layers(stack),
                "layer": open_layers[stack],
                "whole": next(box for box in inside if box["kind"] == "layer"),
                "before": [box for box in own if "*" not in box["name"] and not box["name"].endswith("ln_final")],
                "inside": [box for box in inside if box["kind"] != "layer"],
                "after": [box for box in own if box["name"].endswith("ln_final")],
            }
        )
    last = lengths[plan.stacks[-1]]
    head = [
        box | {"shape": f"{localized(last)} × {localized(plan.config.vocab_size)}" if box["kind"] == "linear" else ""}
        for box in boxes
        if not box["stack"]
    ]
    data = {
        "name": say("Drawing of the model"),
        "stacks": stacks,
        "head": head,
        "output": {
            "name": say("Output probabilities") if plan.config.unembed else say("Final states"),
            "text": _short(output),
        },
        "memory": say("memory, {shape}", shape=stacks[0]["shape"]),
        "arrows": list(_arrows(plan, open_layers)),
        "chosen": _block(key).payload(chosen),
        "hues": {name.replace(" ", "-"): hue for name, hue in PART_HUES.items()}
        | {"query": QUERY, "key": KEY, "value": VALUE},
    }
    component(__file__, "drawing", isolated=True)(key=key, data=data, on_block_change=on_block)


def sent_block(key: str) -> str | None:
    """Return the chosen name in the drawing of this key, without checking that such a box exists; None if invalid."""
    match _block(key).heard():
        case str(name) if 0 < len(name) <= _LONGEST:
            return name
    return None


def _block(key: str) -> SharedValue:
    return SharedValue(key, "block")


def _is_shown(box: Box, open_layers: Mapping[str, int]) -> bool:
    """Whether a box is outside the layers, or in the open one."""
    return box.layer is None or box.layer == open_layers[box.stack]


def _arrows(plan: Blueprint, open_layers: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the arrows of the open layer of each stack and those outside the layers, with "*" as the layer number.

    The input of a layer comes from "below". The browser, which lays out the plates, draws the paths of the memory and
    between layers.
    """
    results = []
    for arrow in plan.arrows:
        start, end = plan.boxes[arrow.start], plan.boxes[arrow.end]
        if not _is_shown(end, open_layers) or (start.layer is not None and end.layer is None):
            continue
        is_memory = end.part == "cross_attn" and arrow.flow in ("key", "value")
        is_entry = start.layer != end.layer and not is_memory and arrow.flow != "inside"
        begins = "" if is_memory else f"{end.stack}.below" if is_entry else _starred(start)
        results.append({"start": begins, "end": _starred(end), "flow": arrow.flow, "memory": is_memory})
    return results


def _sent(plan: Blueprint, box: Box, label: BoxLabel) -> dict[str, Any]:
    hue = _HUES.get(box.kind, "normalization")
    if box.kind == "attention":
        hue = "cross-attention" if box.part == "cross_attn" else "self-attention"
    return {
        "name": _starred(box),
        "kind": box.kind,
        "stack": box.stack,
        "title": label.title,
        "sub": label.sub,
        "tip": [*label.tip],
        "hue": hue.replace(" ", "-"),
        "heads": min(plan.config.n_heads - 1, 2) if box.kind == "attention" else 0,  # besides the front one
        "mask": _mask(plan, box) if box.kind == "attention" else "",
        "added": box.part == "pos_embed",
        "small": box.kind in ("positions", "segments"),
    }


def _mask(plan: Blueprint, box: Box) -> str:
    """Return an example mask of 4 queries by 4 keys, row by row: "1" = may attend; the last key is padding."""
    config = plan.config
    is_causal = box.stack == "decoder" and box.part == "self_attn"
    window = config.at_layer(box.layer or 0).sliding_window if box.part == "self_attn" else None
    cells = ""
    for query in range(4):
        for key in range(4):
            is_ahead = is_causal and key > query
            is_far = window is not None and abs(query - key) > 1
            is_padding = not is_causal and config.pad_id is not None and key == 3
            cells += "0" if is_ahead or is_far or is_padding else "1"
    return cells


def _starred(box: Box) -> str:
    """Return the name of a box with "*" as the layer number."""
    return box.name if box.layer is None else box.name.replace(f".{box.layer}", ".*", 1)


def _short(text: str) -> str:
    return text if len(text) <= _TEXT else text[: _TEXT - 1].rstrip() + "…"
