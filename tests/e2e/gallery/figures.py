"""Two figures side by side, which can be pointed at together: all cells of a text, and an overview of its blocks."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from pages.components import figures
from tests.e2e.gate import wait_at
from transformer_core.figures import attention_heatmap

N = 80  # more cells than are sent with their words
ONE_BLOCK = 16
tokens = [f"t{place}" for place in range(N)]
pattern = np.tril(np.full((N, N), 0.25, dtype=np.float32))
mask = np.tril(np.ones((N, N), dtype=bool))
state = st.session_state
state.setdefault("cell", None)
state.setdefault("window", None)


def on_cell() -> None:
    state.cell = figures.sent_cell("one")


def on_window() -> None:
    state.window = figures.sent_window("one")


def on_part() -> None:
    state.window = figures.sent_window("two")


opens = "opens" in st.query_params  # whether the second leads to its parts
queries, keys = state.window or (range(N), range(N))
seen = np.s_[queries.start : queries.stop, keys.start : keys.stop]
labels = tokens[queries.start : queries.stop], tokens[keys.start : keys.stop]
one = attention_heatmap(
    pattern[seen],
    *labels,
    mask=mask[seen],
    title="one",
    first_query=queries.start,
    first_key=keys.start,
)
blocks = pattern.reshape(N // ONE_BLOCK, ONE_BLOCK, -1, ONE_BLOCK).max(axis=(1, 3))
two = attention_heatmap(blocks, tokens, tokens, title="two", blocks=(N, N))
st.html(f"<p class='told'>cell {state.cell}, window {state.window}</p><style>:root {{--hl-stage: 420px}}</style>")
wait_at(st.query_params.get("gate"))
left, right = st.columns(2)
with left:
    figures.live_figure(
        one,
        name="one",
        key="one",
        cell=state.cell,
        on_cell=on_cell,
        on_window=on_window,
        is_window=state.window is not None,
        link="pair",
    )
if "lines" in st.query_params:
    halves, squares = [place / 2 for place in range(4)], [place**2 for place in range(4)]
    lines = go.Figure([go.Scatter(y=halves, name="halves"), go.Scatter(y=squares, name="squares")])
    lines.update_layout(title="lines", xaxis_title="step", yaxis_title="nats", showlegend=True)
    figures.live_figure(lines, name="lines", key="lines", height=300)
with right:
    figures.live_figure(
        two,
        name="two",
        key="two",
        on_window=on_part if opens else None,
        is_window=opens and state.window is not None,
        link="pair",
    )
