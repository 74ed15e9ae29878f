"""Across layers: from which tokens what a position holds at the end may have come."""

import html
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.explore.heads_code import redraw_across
from pages.explore.heads_scene import NAMES, Scene, theme
from pages.shared import heads_state, kept, takeaway
from pages.shared.components import figures
from transformer_core.analysis import pattern_csv
from transformer_core.analysis.table import pattern_arrays
from transformer_core.figures import attention_heatmap

if TYPE_CHECKING:
    from transformer_core.analysis.across_layers import AcrossLayers, Method, Part

MOST_MIB = 32  # of all that was followed across layers
TITLES = {"rollout": "Attention rollout", "flow": "Attention flow"}


def show(scene: Scene) -> None:
    """Draw how attention adds up across the layers, when it is asked for."""
    open_before = bool(heads_state.ACROSS.value)
    with st.expander("Across all layers: rollout and flow", icon=":material/layers:", expanded=open_before):
        key = f"{heads_state.ACROSS.key}-segments"
        st.session_state[key] = heads_state.ACROSS.value
        st.segmented_control(
            "Across all layers",
            ["", *TITLES],
            key=key,
            format_func=lambda name: TITLES.get(name, "none"),
            required=True,
            label_visibility="collapsed",
            on_change=lambda: heads_state.choose(heads_state.ACROSS, st.session_state[key] or ""),
        )
        if heads_state.ACROSS.value:
            _draw(scene, heads_state.ACROSS.value)


def _draw(scene: Scene, method: "Method") -> None:
    """Draw rows of final positions and columns of input tokens, from each side that they may come from."""
    from transformer_core.analysis.across_layers import ASSUMES, MOST_TOKENS, follow

    n_tokens = max(max(attended.shape[2:]) for attended in scene.reading.attended.values())
    if n_tokens > MOST_TOKENS[method]:
        st.html(
            f"<p class='hl-note'>{TITLES[method]} is computed for texts of up to {MOST_TOKENS[method]} tokens; this "
            f"one has {n_tokens:,}. Take a shorter text{'' if method == 'rollout' else ', or look at the rollout'}.</p>"
        )
        return
    followed: kept.Store[AcrossLayers] = kept.store("rollouts and flows", most_mib=MOST_MIB, n_bytes=_n_bytes)
    key = (scene.source, scene.view.text, scene.view.target, method)
    with st.spinner(f"Following {method} through the layers …", show_time=True):
        found = followed.get(key, lambda: follow(scene.reading, method))
    with st.container(key="hl-across"):
        columns = st.columns(max(2, len(found.parts)), gap="medium")
    for place, (column, part) in enumerate(zip(columns, found.parts, strict=False)):
        with column:
            _part(scene, method, place, part)
    st.html(f"<p class='hl-look'><b>What it assumes:</b> {html.escape(ASSUMES[method])}</p>")


def _part(scene: Scene, method: str, place: int, part: "Part") -> None:
    names = {side: NAMES[scene.reading.architecture, side] for side in (part.of, part.side)}
    queries, keys = getattr(scene.reading, part.of), getattr(scene.reading, part.side)
    title = f"{TITLES[method]}, {names[part.of]}"
    figure = attention_heatmap(
        part.values.astype(np.float32),
        queries,
        keys,
        title=title,
        mask=part.mask,
        query_name=f"final state: {names[part.of]}",
        key_name=f"input: {names[part.side]}",
        theme=theme(),
        width=480,
    )
    name = f"{scene.view.model}-{method}-{part.of}-{part.side}"
    table = (part.values.astype(np.float32), queries, keys, part.mask)
    figures.live_figure(
        figure,
        name=name,
        files=lambda: takeaway.files(
            name=name,
            csv=lambda: pattern_csv(*table),
            arrays=lambda: pattern_arrays(*table),
            code=redraw_across(scene, method, place, part.of, part.side, title, name),
            state=st.query_params.to_dict(),
            model=scene.card.path,
        ),
        key=f"heads-across-{part.of}-{part.side}",
    )


def _n_bytes(found: "AcrossLayers") -> int:
    return sum(part.values.nbytes + part.mask.nbytes for part in found.parts)
