"""Masks in small: a gallery of presets to choose from, and the attentions of a model with their masks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool

from headlight.figures.mask_colors import mask_colors
from headlight.figures.theme import KEY, QUERY
from pages.components.mounting import component
from pages.components.packing import packed
from pages.shared.view.fields import sent


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
    """Send the pictures to a component."""
    reports = [
        {"name": item.name, "title": item.title, "rows": item.cells.shape[0], "columns": item.cells.shape[1]}
        | dict(item.words)
        for item in items
    ]
    header = {"items": reports, "colors": mask_colors(), **about}
    cells = b"".join(item.cells.astype(np.uint8).tobytes() for item in items)
    component(__file__, name, isolated=True)(key=key, data=packed(header, cells), on_chosen_change=on_chosen)
