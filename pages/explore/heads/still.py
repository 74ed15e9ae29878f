"""All heads as a still figure: the overview, to be taken away for a paper."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st

from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures.heatmaps.all_heads import all_heads, fit_side
from headlight.language import say
from pages.explore.heads import view_fields
from pages.explore.heads.data import HeadsData
from pages.shared import cache
from pages.shared.drawing import draw
from pages.shared.recipe import Lines, Unwritten, call, literal, named, value_of
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.trace.attention_maps import PooledHeads

WIDTH = 560  # px
SHAPES = """
for name, of_all in heads.items():
    print(name, of_all.patterns.shape)  # layer, head, query, key
"""
Pooled = dict[str, "PooledHeads"]
"""By name of attention."""


def save_overview(data: HeadsData) -> None:
    """Draw a button that opens all heads of the overview as a figure."""
    with st.popover(say("Save"), type="tertiary", key="heads-overview-still", on_change="rerun") as still:
        if still.open:
            with st.container(width=WIDTH):
                _draw(data)


def _draw(data: HeadsData) -> None:
    """Draw the heads of every attention, or of the chosen one where the overview shows no other."""
    view, model_run = data.view, data.model_run
    attentions = [view.attention] if view_fields.ONLY.value else [*model_run.attention_maps]
    side = fit_side(
        sum(n_layers * n_heads for n_layers, n_heads, *_ in (model_run.attention_maps[a].shape for a in attentions))
    )
    maps = data.recipe.attention_maps
    overviews = literal({name: maps[name].overview(side) for name in attentions})
    result = named("heads", cache.kept(mark("saved overviews"), overviews))
    pooled: Pooled = value_of(result)
    titles = {attention: say(ATTENTIONS[attention].title) for attention in attentions}
    is_pooled = any(heads.patterns.shape != model_run.attention_maps[name].shape for name, heads in pooled.items())
    title = say("Attention patterns of all heads, max-pooled") if is_pooled else say("Attention patterns of all heads")
    chosen = (titles[view.attention], view.layer, view.head)
    drawn = call(
        all_heads,
        {titles[name]: result[name].patterns for name in attentions},
        {titles[name]: result[name].mask for name in attentions},
        title=title,
        chosen=chosen,
        **({} if data.model_run.border is None else {"border": data.share_before_divider}),
        width=Unwritten(WIDTH),
    )
    draw(
        drawn,
        Lines(SHAPES, (result,)),
        title=title,
        name="-".join([view.model, *([view.attention] if view_fields.ONLY.value else []), "heads"]),
        key="heads-all",
        csv=lambda: _csv(data, pooled),
        arrays=lambda: _arrays(data, pooled),
        model=data.card.path,
        opens=True,
    )


def _csv(data: HeadsData, pooled: Pooled) -> str:
    """Return one line a cell: which attention, layer and head, what its row and column stand for, and its weight."""
    tables = []
    for name, heads in pooled.items():
        n_layers, n_heads, *_ = heads.patterns.shape
        units = {"layer": range(n_layers), "head": range(n_heads), **_units(data, name, heads)}
        cells = pd.MultiIndex.from_product([[name], *units.values()], names=["attention", *units])
        allowed = np.broadcast_to(heads.mask[:, None], heads.patterns.shape).ravel()
        tables.append(pd.DataFrame({"allowed": allowed.astype(int), "weight": heads.patterns.ravel()}, index=cells))
    return pd.concat(tables).to_csv(lineterminator="\n")


def _arrays(data: HeadsData, pooled: Pooled) -> dict[str, np.ndarray]:
    """Return, by name of attention, its patterns [layer, head, query, key], masks [layer, query, key], and labels."""
    arrays: dict[str, np.ndarray] = {}
    for name, heads in pooled.items():
        arrays |= {name: heads.patterns, f"{name}_mask": heads.mask}
        arrays |= {f"{name}_{side}": np.array(units) for side, units in _units(data, name, heads).items()}
    return arrays


def _units(data: HeadsData, attention: str, heads: "PooledHeads") -> dict[str, list[str]]:
    """Return the meaning of rows and columns: a position and its token, or the positions of a block."""
    units = {}
    for side, labels, n in zip(("query", "key"), data.model_run.labels(attention), heads.mask.shape[1:], strict=True):
        starts = [cell * len(labels) // n for cell in range(n + 1)]
        units[side] = [
            f"{start} {labels[start]}" if end - start == 1 else f"{start} to {end - 1}"
            for start, end in pairwise(starts)
        ]
    return units
