"""The mask that is edited by hand, with its scores, its pattern and the output; and masks in small, to choose from.

What a person turned over comes back as a trigger of the component's key, for one run; `sent_turned` checks it like any
input. Several edits may be on their way at once.
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
    """One place of the output, under the model's own masks and under the edited one."""

    place: int
    word: str  # the token that is requested
    before: float  # its probability under the model's own masks, in [0, 1]
    now: float | None  # the same under the edited one; None: it is not to be seen yet
    previous: str  # the most probable token under the model's own masks
    says: str  # the same under the edited one


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """What a model says, with its own masks and with the edited one."""

    rows: Sequence[OutputRow]
    words: Sequence[tuple[str, str, bool]]  # a name, a text, and whether it is another one than before
    counted: str  # in a sentence
    are_queries: bool  # whether the places are the rows of the mask


@dataclass(frozen=True, kw_only=True, eq=False)
class Arrays:
    """The numbers of the three pictures, all of one shape."""

    scores: Float[np.ndarray, "query key"]  # without the mask
    pattern: Float[np.ndarray, "query key"]
    before: Float[np.ndarray, "query key"]  # the pattern under the model's own masks
    preset: Bool[np.ndarray, "query key"]  # True = may attend; without what was turned over
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
    """Draw a mask to be edited, and what becomes of it.

    A click turns a cell over, and a hand that is drawn over others does the same to them; a click on a label turns a
    row or a column. The three matrices are pointed at together. All is seen at once; on release the server is notified.

    Args:
        arrays: what is drawn.
        outputs: what the model says.
        query_tokens: the labels of the rows.
        key_tokens: the labels of the columns.
        n_real: how many queries and how many keys are no padding.
        turned: cells that differ from the preset.
        captions: title and explanation of `mask`, `scores` and `pattern`.
        hint: shown while no cell is pointed at.
        of: what is edited; with another one, the way back is forgotten.
        key: the component's key.
        on_turned: called before the run in which `sent_turned` gives what a person turned over.

    Raises:
        ValueError: arrays and labels do not fit together.
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
    """Return the cells that differ from the preset, counted row by row; None: nothing was turned over."""
    cells = _edits(key).heard()
    if not isinstance(cells, list) or len(cells) > MOST_CELLS:
        return None
    return sorted(set(cells)) if all(type(cell) is int and cell in range(MOST_CELLS) for cell in cells) else None


def _edits(key: str) -> SharedValue:
    return SharedValue(key, "turned")


@dataclass(frozen=True, kw_only=True)
class Miniature:
    """A small mask, and the text about it."""

    name: str  # what comes back where it is chosen
    title: str
    cells: Bool[np.ndarray, "query key"]  # True = may attend
    words: Mapping[str, str] = field(default_factory=dict)  # further ones, as the component asks for them


def mask_gallery(items: Sequence[Miniature], *, chosen: str, key: str, on_chosen: Callable[[], None]) -> None:
    """Draw masks beside each other, in groups; a click chooses.

    Args:
        items: each with the words `group` and `help`; those of a group after each other.
        chosen: the name of one.
        key: the component's key.
        on_chosen: called before the run in which `sent_name` gives what a person chose.
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
    """Draw the attentions of a model as they lie in the paper's figure 1, each with its mask; a click chooses.

    Args:
        items: by the names of attentions, each with the words `from`, `to`, `mask` and `why`.
        chosen: the name of one.
        joins: what is written on the arrows into cross-attention, `memory` and `asks`; empty where there is none.
        note: the text beside them; "": none.
        key: the component's key.
        on_chosen: called before the run in which `sent_name` gives what a person chose.

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
