"""The editable mask with its scores, pattern and output, and galleries of small masks to choose from.

Toggled cells are sent as a trigger of the component's key, for one run; `sent_turned` validates them. Several edits may
be in flight at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from headlight.figures import isolate
from headlight.figures.theme import CELL, KEY, QUERY, mask_colors
from pages.components.mounting import component, packed
from pages.learn.masks.view_fields import MOST_CELLS
from pages.shared.view.fields import sent
from pages.shared.view.shared_value import SharedValue
from transformer_core.text.labels import border_in


@dataclass(frozen=True, kw_only=True)
class OutputRow:
    """One position of the output, under the model's own masks and under the edited mask."""

    place: int
    word: str  # the expected token
    before: float  # its probability under the model's own masks, in [0, 1]
    now: float | None  # the same under the edited mask; None: still hidden
    previous: str  # the most probable token under the model's own masks
    says: str  # the same under the edited one


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """The output of a model with its own masks and with the edited mask."""

    rows: Sequence[OutputRow]
    words: Sequence[tuple[str, str, bool]]  # name, text, and whether the text changed
    counted: str  # a summary sentence
    are_queries: bool  # whether output positions are rows of the mask


@dataclass(frozen=True, kw_only=True, eq=False)
class Arrays:
    """The values of the three matrices, all of the same shape."""

    scores: Float[np.ndarray, "query key"]  # without the mask
    pattern: Float[np.ndarray, "query key"]
    before: Float[np.ndarray, "query key"]  # the pattern under the model's own masks
    preset: Bool[np.ndarray, "query key"]  # True = may attend; without manual edits
    ran: Bool[np.ndarray, "query key"]  # the mask that the model ran with


def mask_matrix(
    arrays: Arrays,
    outputs: Outputs,
    *,
    query_tokens: Sequence[str],
    key_tokens: Sequence[str],
    n_real: tuple[int, int],
    turned: Sequence[tuple[int, int]],
    captions: Mapping[str, tuple[str, str]],
    hint: str,
    of: str,
    key: str,
    on_turned: Callable[[], None],
) -> None:
    """Draw an editable mask, and its effect on scores, pattern and output.

    A click toggles a cell, and dragging toggles all cells on the way; a click on a label toggles a row or a column.
    Hovering highlights a cell in all three matrices. Edits show at once; the server is notified on release.

    Args:
        arrays: the values that are drawn.
        outputs: the outputs of the model.
        query_tokens: the labels of the rows.
        key_tokens: the labels of the columns.
        n_real: numbers of queries and keys that are not padding.
        turned: cells that differ from the preset.
        captions: title and explanation of `mask`, `scores` and `pattern`.
        hint: shown while no cell is pointed at.
        of: identifies what is edited; a change clears the undo history.
        key: the component's key.
        on_turned: called before the run in which `sent_turned` returns the toggled cells.

    Raises:
        ValueError: the shapes of arrays and labels do not match.
    """
    shape = (len(query_tokens), len(key_tokens))
    parts = asdict(arrays)
    if other := next((part.shape for part in parts.values() if part.shape != shape), None):
        raise ValueError(
            f"There are {shape[0]} query labels and {shape[1]} key labels, but an array of {other[0]} by {other[1]}; "
            "give one label a row and one a column."
        )
    header = {
        "query": [isolate(token) for token in query_tokens],
        "key": [isolate(token) for token in key_tokens],
        "border": {"query": border_in(query_tokens), "key": border_in(key_tokens)},
        "real": {"query": n_real[0], "key": n_real[1]},
        "turned": _edits(key).payload(sorted(query * shape[1] + column for query, column in turned)),
        "captions": {name: {"title": title, "what": what} for name, (title, what) in captions.items()},
        "hint": hint,
        "of": of,
        "outputs": {
            "rows": [asdict(row) for row in outputs.rows],
            "words": [{"name": name, "text": text, "isChanged": changed} for name, text, changed in outputs.words],
            "counted": outputs.counted,
            "areQueries": outputs.are_queries,
        },
        "colors": mask_colors(),
        "hues": {"query": QUERY, "key": KEY, "cell": CELL},
    }
    floats = (arrays.scores, arrays.pattern, arrays.before)
    values = [part.astype("<f4").tobytes() for part in floats]
    values += [part.astype(np.uint8).tobytes() for part in (arrays.preset, arrays.ran)]
    component(__file__, "mask_matrix", isolated=True)(
        key=key, data=packed(header, b"".join(values)), on_turned_change=on_turned
    )


def sent_turned(key: str) -> list[int] | None:
    """Return the cells that differ from the preset, as row-major indices; None if nothing was toggled."""
    cells = _edits(key).heard()
    if not isinstance(cells, list) or len(cells) > MOST_CELLS:
        return None
    return sorted(set(cells)) if all(type(cell) is int and cell in range(MOST_CELLS) for cell in cells) else None


def _edits(key: str) -> SharedValue:
    return SharedValue(key, "turned")


@dataclass(frozen=True, kw_only=True)
class Miniature:
    """A small mask, and the text about it."""

    name: str  # sent when it is chosen
    title: str
    cells: Bool[np.ndarray, "query key"]  # True = may attend
    words: Mapping[str, str] = field(default_factory=dict)  # further texts, by the keys that the component expects


def mask_gallery(items: Sequence[Miniature], *, chosen: str, key: str, on_chosen: Callable[[], None]) -> None:
    """Draw small masks side by side, in groups; a click chooses one.

    Args:
        items: each with the words `group` and `help`; consecutive within a group.
        chosen: the name of one.
        key: the component's key.
        on_chosen: called before the run in which `sent_name` returns the chosen name.
    """
    _mount("mask_gallery", items, {"chosen": chosen}, key, on_chosen)


def mask_which(
    items: Sequence[Miniature],
    *,
    chosen: str,
    joins: Mapping[str, str],
    note: str,
    key: str,
    on_chosen: Callable[[], None],
) -> None:
    """Draw the attentions of a model as arranged in the paper's figure 1, each with its mask; a click chooses one.

    Args:
        items: by the names of attentions, each with the words `from`, `to`, `mask` and `why`.
        chosen: the name of one.
        joins: labels of the arrows into cross-attention, `memory` and `asks`; empty without cross-attention.
        note: the text beside them; "": none.
        key: the component's key.
        on_chosen: called before the run in which `sent_name` returns the chosen name.

    Source: Vaswani et al. 2017, figure 1 and sec. 3.2.3.
    """
    about = {"chosen": chosen, "joins": dict(joins), "note": note, "hues": {"query": QUERY, "key": KEY}}
    _mount("mask_which", items, about, key, on_chosen)


def sent_name(key: str) -> str | None:
    """Return the name that a person chose in the pictures of this key."""
    text = sent(key, "chosen")
    name = text.get("name") if isinstance(text, dict) else None
    return name if isinstance(name, str) else None


def _mount(
    name: str, items: Sequence[Miniature], about: Mapping[str, Any], key: str, on_chosen: Callable[[], None]
) -> None:
    reports = [
        {"name": item.name, "title": item.title, "rows": item.cells.shape[0], "columns": item.cells.shape[1]}
        | dict(item.words)
        for item in items
    ]
    header = {"items": reports, "colors": mask_colors(), **about}
    cells = b"".join(item.cells.astype(np.uint8).tobytes() for item in items)
    component(__file__, name, isolated=True)(key=key, data=packed(header, cells), on_chosen_change=on_chosen)
