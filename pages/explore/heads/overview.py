"""The overview of all heads: its controls, the picture and the measure of each head, and a still figure to save."""

from functools import partial
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
import streamlit as st

from headlight.analysis.heads.measure_texts import MEASURE_TEXTS
from headlight.analysis.heads.text_measures import MEASURES, range_of
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures.heatmaps.all_heads import all_heads, fit_side
from headlight.figures.theme import category_hues
from headlight.language import language, say, speaking
from pages.components.overview import MeasuredHeads, Pictures, head_overview
from pages.explore import overviews
from pages.explore.heads import view_fields
from pages.explore.heads.data import HeadsData
from pages.shared import cache, model_bar, prose
from pages.shared.drawing import draw
from pages.shared.recipe import Lines, Unwritten, call, literal, named, value_of
from pages.shared.view import state
from pages.shared.view.state import View
from transformer_core.errors import Message, mark

if TYPE_CHECKING:
    from headlight.analysis.trace.attention_maps import PooledHeads

WIDTH = 560  # px, of the still figure
MOST_SAVED_CELLS = 6_000_000  # heads x queries x keys of a saved page, which then has about 2 MB
ORDERS = {"": mark("by layer"), "descending": mark("descending"), "ascending": mark("ascending")}
ORDER_ICONS = {"": ":material/sort:", "descending": ":material/arrow_downward:", "ascending": ":material/arrow_upward:"}
SHOWN = {"": mark("All"), "one": mark("Selected")}
SHAPES = """
for name, of_all in heads.items():
    print(name, of_all.patterns.shape)  # layer, head, query, key
"""
Order = Literal["", "ascending", "descending"]
Pooled = dict[str, "PooledHeads"]
"""By name of attention."""


def show(data: HeadsData) -> None:
    """Draw all heads of every attention, or of the chosen attention, and the controls above them."""
    _controls(data)
    view, hues = data.view, category_hues(len(view_fields.MIX.value))
    groups, thumbnails = overviews.read(data.source, view.text, view.target)
    pictures = Pictures(
        groups=groups,
        levels=thumbnails,
        version=repr((data.source, view.text, view.target)),
        only=(view.attention,) if view_fields.ONLY.value else None,
        divided=data.share_before_divider,
        is_pair=data.model_run.border is not None,
    )
    with st.container(key="hl-overview"):
        head_overview(
            pictures,
            state.SHOWN_HEAD,
            key=state.OVERVIEW,
            measured=_measured(data),
            pinned=[
                {"attention": view.attention, "layer": share.layer, "head": share.head, "hue": hue}
                for share, hue in zip(view_fields.MIX.value, hues, strict=True)
            ],
            on_pinned=view_fields.on_pinned,
        )


def _controls(data: HeadsData) -> None:
    """Draw the choices of measure, order and attentions, and a popover for saving a figure."""
    with st.container(key="hl-overview-bar", horizontal=True, gap="small", vertical_alignment="center"):
        view_fields.TINT.selectbox(
            say("Measure"),
            ["", *MEASURES],
            name=lambda name: say(MEASURE_TEXTS[name].title) if name else say("No measure"),
            label_visibility="collapsed",
            help=say("Scores every head on this text; shown as a bar below its thumbnail"),
            width=165,
        )
        _order()
        if len(data.model_run.attention_maps) > 1:
            view_fields.ONLY.segmented(say("Attentions"), [*SHOWN], name=lambda name: say(SHOWN[name]))
        with st.popover(say("Save"), type="tertiary", key="heads-overview-still", on_change="rerun") as still:
            if still.open:
                with st.container(width=WIDTH):
                    _save_page(data)
                    _draw(data)


def _save_page(data: HeadsData) -> None:
    """Draw the button that saves all heads as an interactive page."""
    n_cells = sum(prod(attention_maps.shape) for attention_maps in data.model_run.attention_maps.values())
    is_too_large = n_cells > MOST_SAVED_CELLS
    explanation = (
        say("This text is too long for a file; save the page for a shorter one.")
        if is_too_large
        else say("One file with all heads, their measures and the decoding steps; it opens in any browser, offline.")
    )
    st.download_button(
        say("Save this page"),
        data=partial(_page, data, data.view, view_fields.TINT.value, view_fields.ORDER.value, language()),
        file_name="heads.html",
        mime="text/html",
        icon=":material/download:",
        disabled=is_too_large,
        help=prose.plain(explanation),
        on_click="ignore",
    )


def _page(data: HeadsData, view: View, measure: str, order: Order, reader: str) -> str:
    """Return the heads of a text as an interactive page; called later, outside of the session."""
    from headlight.notebook.attention_view import AttentionView, Start
    from headlight.notebook.show import record_of

    text = view.text if isinstance(view.text, str) else " ".join(view.text)
    start = Start(attention=view.attention, layer=view.layer, heads=(view.head,), measure=measure, order=order)
    with speaking(reader):
        computed_by = Message(model_bar.VIEWED if data.card.is_viewed else "")
        record = record_of(data.model_run, text, computed_by)
        return AttentionView(record, start=start, title=f"{data.card.title}: {record.model}").page()


def _order() -> None:
    """Draw the button that switches to the next order of the heads; it is disabled if no measure is chosen."""
    order = view_fields.ORDER.value
    after = [*ORDERS][([*ORDERS].index(order) + 1) % len(ORDERS)]
    st.button(
        say("Sort heads"),
        key="heads-order-next",
        icon=ORDER_ICONS[order],
        type="tertiary",
        disabled=not view_fields.TINT.value,
        help=prose.plain(
            say("Sorting: {order}. Click to change: {after}", order=say(ORDERS[order]), after=say(ORDERS[after]))
        ),
        on_click=view_fields.ORDER.set,
        args=(after,),
    )


def _measured(data: HeadsData) -> MeasuredHeads | None:
    """Return the chosen measure of every head; None if no measure is chosen."""
    name = view_fields.TINT.value
    if not name:
        return None
    by_attention = overviews.measures(data.source, data.view.text, data.view.target)
    values = {attention: by_name[name] for attention, by_name in by_attention.items() if name in by_name}
    n_keys = max(data.model_run.attention_maps[attention].shape[3] for attention in values)
    ends, order = range_of(name, n_keys), view_fields.ORDER.value
    return MeasuredHeads(measure=MEASURE_TEXTS[name], values=values, ends=ends, order=order)


def _draw(data: HeadsData) -> None:
    """Draw the heads of every attention, or only of the chosen one if the overview shows no other."""
    view, model_run = data.view, data.model_run
    attentions = [view.attention] if view_fields.ONLY.value else [*model_run.attention_maps]
    side = fit_side(
        sum(n_layers * n_heads for n_layers, n_heads, *_ in (model_run.attention_maps[a].shape for a in attentions))
    )
    maps = data.recipe.attention_maps
    pooled_maps = literal({name: maps[name].overview(side) for name in attentions})
    result = named("heads", cache.kept(mark("saved overviews"), pooled_maps))
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
    """Return one CSV line per cell: attention, layer, head, query, key, whether it is allowed, and its weight."""
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
    """Return the labels of rows and columns: a position and its token, or the positions of a block."""
    units = {}
    for side, labels, n in zip(("query", "key"), data.model_run.labels(attention), heads.mask.shape[1:], strict=True):
        starts = [cell * len(labels) // n for cell in range(n + 1)]
        units[side] = [
            f"{start} {labels[start]}" if end - start == 1 else f"{start} to {end - 1}"
            for start, end in pairwise(starts)
        ]
    return units
