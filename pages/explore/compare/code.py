"""The lines of Python that give what the page Compare shows, for a notebook, and for whoever takes a figure away."""

from pages.explore.compare.sides import Side
from pages.shared import readings
from pages.shared.models import CPU, PRECISIONS
from pages.shared.sources import parse_change
from transformer_core.analysis import ATTENTIONS

EDITS = {"off": ("hook_z", "zero_heads({heads})"), "even": ("hook_attn_scores", "replace(0.0, heads={heads})")}


def opening(*sides: Side) -> str:
    """Return the lines that load the models of some sides and read their texts, as `a` and `b`."""
    imports = ["import transformer_core as tc", "from transformer_core.analysis import run_text"]
    if any(side.weights.run for side in sides):
        imports = ["from pathlib import Path", "", *imports, "from transformer_core.training.run.film import Film"]
    if any(side.change for side in sides):
        imports += [
            "from transformer_core.instrument.intervene import intervene",
            "from transformer_core.instrument.interventions import replace, zero_heads",
        ]
    lines = [*imports, ""]
    for side in sides:
        letter = side.letter.lower()
        lines += [f"model_{letter}, tokenizer_{letter} = {_loaded(side)}", *changed(side, f"{letter} = {_read(side)}")]
    return "\n".join(lines) + "\n"


def changed(side: Side, *lines: str) -> list[str]:
    """Return lines that run a side's model, with what is changed in it."""
    kind, heads = parse_change(side.change)
    if not kind:
        return list(lines)
    stem, edit = EDITS[kind]
    numbers: dict[str, list[int]] = {}
    for attention, layer, head in heads:
        numbers.setdefault(ATTENTIONS[attention].site(layer, stem), []).append(head)
    edits = ", ".join(f"{site!r}: {edit.format(heads=of_site)}" for site, of_site in numbers.items())
    return [f"with intervene(model_{side.letter.lower()}, {{{edits}}}):", *(f"    {line}" for line in lines)]


def read_of(side: Side, text: str, target: str | None) -> str:
    """Return the expression that reads a text; `text` and `target` as Python writes them."""
    letter = side.letter.lower()
    n_new = readings.max_new_tokens(side.source)
    room = f"max_tokens={readings.max_tokens(side.weights.config)}, max_new_tokens={n_new}"
    argument = "" if target is None else f"target={target!r}, "
    return f"run_text(model_{letter}, tokenizer_{letter}, {text}, {argument}{room})"


def _read(side: Side) -> str:
    return read_of(side, repr(side.text), side.target)


def _loaded(side: Side) -> str:
    """Return the expression that loads a model."""
    source = side.weights.source
    if source.step is not None:
        return f"Film(Path({source.path!r})).load({source.step})"
    device = "" if source.device == CPU else f", device={source.device!r}"
    precision = "" if source.precision == PRECISIONS[0] else f", dtype={source.precision!r}"
    return f"tc.load({source.path!r}{device}{precision})"
