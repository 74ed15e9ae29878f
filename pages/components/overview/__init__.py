"""All heads of a model at once, each by a small picture of its pattern, with one number a head; or a film of them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import streamlit as st
from jaxtyping import Float

from headlight.figures import DARK, LIGHT, sequential_scale
from headlight.figures.hues import DIVIDER, NOT_FINITE, WARM
from pages.components.mounting import component
from pages.components.packing import packed
from pages.shared.view.shared_value import SharedValue
from transformer_core.language import say


@dataclass(frozen=True, kw_only=True, eq=False)
class FilmStrip:
    """The snapshots that an overview can play, and what its slider says of them."""

    steps: Sequence[int]  # ascending
    step: int  # of the chosen snapshot
    strongest: bytes  # query, key and hundredths of the weight (uint16 each), snapshot by snapshot and head by head
    labels: Mapping[str, tuple[Sequence[str], Sequence[str]]]  # of queries and keys, by attention
    lines: Mapping[str, tuple[Sequence[float], tuple[float, float]]]  # two at most: numbers, lowest and highest drawn
    marks: Sequence[tuple[int, str]]  # places of snapshots, each with a sentence
    on_snapshot: Callable[[], None]  # called before the run in which the component's value holds `snapshot`, a step


@dataclass(frozen=True, kw_only=True, eq=False)
class Measure:
    """One number a head: a bar under its picture, and what heads can be ordered by."""

    name: str  # for one head: "entropy"
    title: str  # a sentence for the tip of the legend
    unit: str  # "nats"; "" where there is none
    low: str  # what a head at the low end does, "looks at one token"; "" where the name says it
    high: str
    values: Mapping[str, Float[np.ndarray, "layer head"]]  # by attention; NaN where it does not apply
    ends: tuple[float, float]  # of the bars; if they are on both sides of zero, a bar begins there


@dataclass(frozen=True, kw_only=True)
class PinnedHead:
    """A head that is combined with others, and the color that it has wherever it is drawn."""

    attention: str
    layer: int
    head: int
    hue: str  # "#RRGGBB", good in light and in dark


def head_overview(
    *,
    groups: Sequence[Mapping[str, Any]],
    levels: bytes,
    chosen: Mapping[str, Any],
    version: str,
    key: str,
    on_chosen: Callable[[], None],
    film: FilmStrip | None = None,
    measure: Measure | None = None,
    order: Literal["", "ascending", "descending"] = "",
    pinned: Sequence[PinnedHead] = (),
    on_pinned: Callable[[], None] | None = None,
    only: Sequence[str] | None = None,
    divided: float | None = None,
    is_pair: bool = False,
) -> None:
    """All heads at once; a click, or Enter on a focused head, chooses one.

    With a film there is a player above them. The pictures of all snapshots are sent once. While a person moves along
    them nothing is requested from the server; where the slider comes to rest, the component's value holds the snapshot.

    Args:
        groups: for each attention: attention, title, layers, heads, queries and keys, the rows and columns of its
            pictures (of a long text fewer than tokens), and `strongest`, for each layer and head the query, the key and
            the weight; with a film, without `strongest`.
        levels: one byte a cell, group by group, as `figures.levels` makes them; with a film, snapshot by snapshot.
        chosen: attention, layer and head of the chosen one.
        version: the component draws again where this changes.
        key: the component's key; its value holds `chosen` in the run after a click.
        on_chosen: called before that run.
        film: the snapshots of a training.
        measure: drawn under each picture, and said in its tip.
        order: by the measure, those that it does not apply to last; "": layers are rows.
        pinned: the heads that are combined.
        on_pinned: called before the run in which the component's value holds `pinned`: attention, layer and head of
            the one that was clicked with Shift, or that had the focus when P was pressed. None: none can be pinned.
        only: names of the attentions that are drawn; None: all.
        divided: the share of the tokens before the lines that each picture has: dotted ones between what the model was
            given and what it wrote. None: it has none.
        is_pair: the lines are between two texts, and solid.

    Raises:
        ValueError: an order without a measure.
    """
    if order and measure is None:
        raise ValueError(f"Heads cannot be ordered ({order}) without a measure; give one, or no order.")
    scales = {
        theme.name: {"sequential": sequential_scale(theme), "forbidden": theme.forbidden, "notFinite": NOT_FINITE}
        for theme in (LIGHT, DARK)
    }
    header = {
        "groups": [{**group, **_words_of(group)} for group in groups],
        "chosen": SharedValue(key, "chosen").payload(chosen),
        "version": version,
        "scales": scales,
        "measure": _said(measure, groups) if measure else None,
        "order": order,
        "pinned": [asdict(head) for head in pinned],
        "canPin": on_pinned is not None,
        "only": only,
        "divided": divided and {"share": divided, "dash": 0 if is_pair else 2, "color": DIVIDER},
    }
    callbacks = {"on_chosen_change": on_chosen} | ({"on_pinned_change": on_pinned} if on_pinned else {})
    overview = component(__file__, "overview", isolated=True)
    if film is None:
        overview(key=key, data=packed(header, levels), **callbacks)
        return
    pictures = {
        "id": version,
        "frames": len(film.steps),
        "groups": [
            {
                "attention": group["attention"],
                "heads": group["layers"] * group["heads"],
                "rows": group["queries"],
                "columns": group["keys"],
            }
            for group in groups
        ],
    }
    with st.container(key="hl-film-pictures"):  # which takes no room
        component(__file__, "film", isolated=True)(
            key=f"{key}-pictures", data=packed(pictures, film.strongest + levels)
        )
    header["film"] = {
        "id": version,
        "steps": film.steps,
        "step": SharedValue(key, "snapshot").payload(film.step),
        "labels": {name: {"queries": queries, "keys": keys} for name, (queries, keys) in film.labels.items()},
        "lines": [{"name": name, "values": values, "ends": ends} for name, (values, ends) in film.lines.items()],
        "marks": [{"place": place, "words": words} for place, words in film.marks],
        "color": WARM,
    }
    overview(key=key, data=packed(header, b""), on_snapshot_change=film.on_snapshot, **callbacks)


def _words_of(group: Mapping[str, Any]) -> dict[str, Any]:
    """Return a group in the reader's language; its content is cached for all readers."""
    words: dict[str, Any] = {"title": say(group["title"])}
    if "strongest" in group:
        words["strongest"] = [
            [
                say("“{query}” → “{key}” {weight:.2f}", query=query, key=key, weight=weight)
                if math.isfinite(weight)
                else say("not finite")
                for query, key, weight in of_layer
            ]
            for of_layer in group["strongest"]
        ]
    return words


def _said(measure: Measure, groups: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a measure as the component reads it: a value for each layer and head of each attention, or null."""
    words = {name: getattr(measure, name) for name in ("name", "title", "unit", "low", "high")}
    values: dict[str, list[list[float | None]]] = {}
    for group in groups:
        of_group = measure.values.get(group["attention"], np.full((group["layers"], group["heads"]), np.nan))
        values[group["attention"]] = [
            [value if math.isfinite(value) else None for value in layer] for layer in of_group.tolist()
        ]
    return words | {"values": values, "ends": [float(end) for end in measure.ends]}
