"""All heads of a model: a small picture of each pattern, with one number per head; or a film of them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import streamlit as st
from jaxtyping import Float

from headlight.analysis.heads.measure_texts import MeasureTexts
from headlight.figures import DARK, LIGHT, sequential_scale
from headlight.figures.theme import DIVIDER, NOT_FINITE, WARM
from headlight.language import say
from pages.components.mounting import component, packed
from pages.shared.view.chosen_head import HeadChoice
from pages.shared.view.shared_value import SharedValue


@dataclass(frozen=True, kw_only=True, eq=False)
class FilmStrip:
    """The snapshots that an overview can play, and the labels of its slider."""

    steps: Sequence[int]  # ascending
    step: int  # of the chosen snapshot
    strongest: bytes  # query, key and hundredths of the weight (uint16 each), snapshot by snapshot and head by head
    labels: Mapping[str, tuple[Sequence[str], Sequence[str]]]  # of queries and keys, by attention
    lines: Mapping[str, tuple[Sequence[float], tuple[float, float]]]  # two at most: numbers, lowest and highest drawn
    marks: Sequence[tuple[int, str]]  # places of snapshots, each with a sentence
    on_snapshot: Callable[[], None]  # called before the run in which the component's value holds `snapshot`, a step


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredHeads:
    """One number per head: a bar under its picture, and an order."""

    measure: MeasureTexts
    values: Mapping[str, Float[np.ndarray, "layer head"]]  # by attention; NaN where it does not apply
    ends: tuple[float, float]  # of the bars, which begin at zero if it is between them
    order: Literal["", "ascending", "descending"] = ""  # of the heads, NaN last; "": layers are rows


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """The pictures of all heads.

    Each group is an attention: `attention`, `title`, `layers`, `heads`, `queries` and `keys` (rows and columns of its
    pictures, of a long text fewer than tokens), and without a film `strongest`: for each layer and head the query, the
    key and the weight.
    """

    groups: Sequence[Mapping[str, Any]]
    levels: bytes  # one byte per cell, group by group, as `figures.levels` returns; with a film, snapshot by snapshot
    version: str  # the component redraws when it changes
    only: Sequence[str] | None = None  # names of the attentions that are drawn; None: all
    divided: float | None = None  # fraction of the tokens before a dotted line: what the model generated is after it
    is_pair: bool = False  # the line is between two texts, and solid


def head_overview(
    pictures: Pictures,
    control: HeadChoice,
    *,
    key: str,
    film: FilmStrip | None = None,
    measured: MeasuredHeads | None = None,
    pinned: Sequence[Mapping[str, Any]] = (),
    on_pinned: Callable[[], None] | None = None,
) -> None:
    """Draw all heads; a click, or Enter on a focused head, chooses one.

    With a film there is a player above them. The pictures of all snapshots are sent once, so that moving the slider
    sends nothing to the server; where the slider stops, the component's value holds the snapshot.

    Args:
        pictures: of the heads.
        control: the choice of the head.
        key: the component's key.
        film: the snapshots of a training.
        measured: drawn under each picture, and written in its tooltip.
        pinned: attention, layer and head of those that are combined, and their `hue`, which suits light and dark.
        on_pinned: called before the run in which the component's value holds `pinned`: attention, layer and head of
            the one that was clicked with Shift, or that had the focus when P was pressed. None: none can be pinned.
    """
    groups, divided = pictures.groups, pictures.divided
    scales = {
        theme.name: {"sequential": sequential_scale(theme), "forbidden": theme.forbidden, "notFinite": NOT_FINITE}
        for theme in (LIGHT, DARK)
    }
    header = {
        "groups": [{**group, **_words_of(group)} for group in groups],
        "chosen": SharedValue(key, "chosen").payload(control.value._asdict()),
        "version": pictures.version,
        "scales": scales,
        "measure": _measure(measured, groups) if measured else None,
        "order": measured.order if measured else "",
        "pinned": pinned,
        "canPin": on_pinned is not None,
        "only": pictures.only,
        "divided": divided and {"share": divided, "dash": 0 if pictures.is_pair else 2, "color": DIVIDER},
    }
    callbacks: dict[str, Callable[[], None]] = {"on_chosen_change": partial(control.take, key)}
    callbacks |= {"on_pinned_change": on_pinned} if on_pinned else {}
    overview = component(__file__, "overview", isolated=True)
    if film is None:
        overview(key=key, data=packed(header, pictures.levels), **callbacks)
        return
    frames = {"id": pictures.version, "frames": len(film.steps), "groups": header["groups"]}
    with st.container(key="hl-film-pictures"):  # which takes no room
        component(__file__, "film", isolated=True)(
            key=f"{key}-pictures", data=packed(frames, film.strongest + pictures.levels)
        )
    header["film"] = {
        "id": pictures.version,
        "steps": film.steps,
        "step": SharedValue(key, "snapshot").payload(film.step),
        "labels": {name: {"queries": queries, "keys": keys} for name, (queries, keys) in film.labels.items()},
        "lines": [{"name": name, "values": values, "ends": ends} for name, (values, ends) in film.lines.items()],
        "marks": [{"place": place, "words": words} for place, words in film.marks],
        "color": WARM,
    }
    overview(key=key, data=packed(header, b""), on_snapshot_change=film.on_snapshot, **callbacks)


def _words_of(group: Mapping[str, Any]) -> dict[str, Any]:
    """Return the texts of a group in this reader's language; the rest is cached for all readers."""
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


def _measure(measured: MeasuredHeads, groups: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a measure as JSON: a value for each layer and head of each attention, or null."""
    values: dict[str, list[list[float | None]]] = {}
    for group in groups:
        of_group = measured.values.get(group["attention"], np.full((group["layers"], group["heads"]), np.nan))
        values[group["attention"]] = [
            [value if math.isfinite(value) else None for value in layer] for layer in of_group.tolist()
        ]
    measure = measured.measure
    words = {"name": say(measure.inline), "title": say(measure.meaning), "unit": say(measure.unit)}
    return words | {"values": values, "ends": measured.ends}
