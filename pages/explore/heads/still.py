"""All heads as a still figure: the overview, to be taken away for a paper."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import streamlit as st

from pages.components import figures
from pages.explore.heads import view_fields
from pages.explore.heads.code import read_again
from pages.explore.heads.data import HeadsData
from pages.shared import cache, export
from pages.shared.style import theme
from pages.shared.view import state
from transformer_core.analysis import ATTENTIONS
from transformer_core.errors import mark
from transformer_core.figures.heatmaps.all_heads import all_heads, fit_side
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.analysis.trace.attention_maps import PooledHeads

WIDTH = 560  # px
AGAIN = """from transformer_core.figures.heatmaps.all_heads import all_heads

names = {names!r}
heads = {{title: model_run.attention_maps[name].overview({side}) for name, title in names.items()}}
figure = all_heads(
    {{title: of_all.patterns for title, of_all in heads.items()}},
    {{title: of_all.mask for title, of_all in heads.items()}},
    title={title!r},
    chosen={chosen!r},
)
figure.write_html({name!r}, include_plotlyjs=True)
for title, of_all in heads.items():
    print(title, of_all.patterns.shape)  # layer, head, query, key
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
    pooled: Pooled = cache.get(
        mark("saved overviews"),
        (data.source, view.text, view.target, *attentions),
        lambda: {attention: model_run.attention_maps[attention].overview(side) for attention in attentions},
    )
    titles = {attention: say(ATTENTIONS[attention].title) for attention in attentions}
    is_pooled = any(heads.mask.shape != model_run.attention_maps[name].shape[2:] for name, heads in pooled.items())
    pooled_title, plain_title = (
        mark("Attention patterns of all heads, max-pooled"),
        mark("Attention patterns of all heads"),
    )
    title = say(pooled_title if is_pooled else plain_title)
    chosen = (titles[view.attention], view.layer, view.head)
    figure = all_heads(
        {titles[name]: heads.patterns for name, heads in pooled.items()},
        {titles[name]: heads.mask for name, heads in pooled.items()},
        title=title,
        chosen=chosen,
        theme=theme(),
        width=WIDTH,
    )
    name = "-".join([view.model, *([view.attention] if view_fields.ONLY.value else []), "heads"])
    told = {"names": titles, "side": side, "title": title, "chosen": chosen, "name": f"{name}.html"}
    figures.live_figure(
        figure,
        name=name,
        key="heads-all",
        files=lambda: export.files(
            name=name,
            csv=lambda: _csv(data, pooled),
            arrays=lambda: _arrays(data, pooled),
            code=read_again(data) + AGAIN.format(**told),
            state=state.in_words(),
            model=data.card.path,
        ),
        height=int(figure.layout.height),
        opens=True,
    )


def _csv(data: HeadsData, pooled: Pooled) -> str:
    """Return one line a cell: which attention, layer and head, what its row and column stand for, and its weight."""
    tables = []
    for name, heads in pooled.items():
        n_layers, n_heads, *_ = heads.patterns.shape
        units = {"layer": range(n_layers), "head": range(n_heads), **_units(data, name, heads)}
        cells = pd.MultiIndex.from_product([[name], *units.values()], names=["attention", *units])
        allowed = np.broadcast_to(heads.mask, heads.patterns.shape).ravel()
        tables.append(pd.DataFrame({"allowed": allowed.astype(int), "weight": heads.patterns.ravel()}, index=cells))
    return pd.concat(tables).to_csv(lineterminator="\n")


def _arrays(data: HeadsData, pooled: Pooled) -> dict[str, np.ndarray]:
    """Return, by name of attention, its patterns [layer, head, query, key], its mask, and its labels."""
    arrays: dict[str, np.ndarray] = {}
    for name, heads in pooled.items():
        arrays |= {name: heads.patterns, f"{name}_mask": heads.mask}
        arrays |= {f"{name}_{side}": np.array(units) for side, units in _units(data, name, heads).items()}
    return arrays


def _units(data: HeadsData, attention: str, heads: "PooledHeads") -> dict[str, list[str]]:
    """Return what rows and columns stand for: a place in the text and its token, or the places of a block."""
    units = {}
    for side, labels, n in zip(("query", "key"), data.model_run.labels(attention), heads.mask.shape, strict=True):
        starts = [cell * len(labels) // n for cell in range(n + 1)]
        units[side] = [
            f"{start} {labels[start]}" if end - start == 1 else f"{start} to {end - 1}"
            for start, end in pairwise(starts)
        ]
    return units
