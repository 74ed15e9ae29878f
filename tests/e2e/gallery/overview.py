"""A page with an overview of two attentions and nothing else: measured, ordered and combined as its address says."""

import numpy as np
import streamlit as st

from pages.components.overview import Measure, PinnedHead, head_overview
from pages.shared.view.shared_value import SharedValue
from transformer_core.figures import levels

SHAPES = {"encoder": ("Encoder self-attention", 2, 3), "cross": ("Cross-attention", 1, 4)}  # title, layers, heads
VALUES = {"encoder": np.array([[0.5, 2.0, 1.0], [0.1, np.nan, 3.0]]), "cross": np.array([[1.0, 2.0, 0.0, 1.5]])}
SIDE = 6  # rows and columns of a picture
ENTROPY = Measure(
    name="entropy",
    title="How widely a head looks",
    unit="nats",
    low="looks at one token",
    high="looks at all",
    values=VALUES,
    ends=(0.0, 4.0),
)


def received(name: str) -> None:
    """Keep what the overview sent."""
    sent = st.session_state["overview"][name]
    st.session_state[name] = SharedValue("overview", name).heard() if name == "chosen" else sent


def page() -> None:
    """Draw the overview, and in words what it sent last."""
    asked = st.query_params
    pinned = st.session_state.get("pinned")
    thumbnails = b""
    for seed, (_, n_layers, n_heads) in enumerate(SHAPES.values()):
        patterns = np.random.default_rng(seed).dirichlet(np.ones(SIDE), (n_layers, n_heads, SIDE))
        thumbnails += levels(patterns, np.ones((SIDE, SIDE), dtype=bool)).tobytes()
    head_overview(
        groups=[
            {"attention": name, "title": title, "layers": n_layers, "heads": n_heads, "queries": SIDE, "keys": SIDE}
            | {
                "strongest": [
                    [("a", "b", 0.5 + layer / 10 + head / 100) for head in range(n_heads)] for layer in range(n_layers)
                ]
            }
            for name, (title, n_layers, n_heads) in SHAPES.items()
        ],
        levels=thumbnails,
        chosen=st.session_state.get("chosen") or {"attention": "encoder", "layer": 0, "head": 0},
        version="1",
        key="overview",
        on_chosen=lambda: received("chosen"),
        measure=ENTROPY if "measure" in asked else None,
        order="ascending" if "order" in asked else "",
        pinned=[PinnedHead(**pinned, hue="#C75F12")] if pinned else (),
        on_pinned=(lambda: received("pinned")) if "combine" in asked else None,
        only=asked.get_all("only") or None,
        given=float(asked["given"]) if "given" in asked else None,
    )
    st.text(f"sent {st.session_state.get('chosen')} {pinned}")


page()
