"""The residual stream through the layers on this text: how long its vectors are, and what each sub-layer adds."""

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from headlight.analysis.heads.table import matrix_csv
from headlight.figures.architecture.stream import stream_figure
from headlight.figures.hues import PART_HUES
from headlight.language import say
from pages.learn.architecture.data import ArchitectureData
from pages.learn.architecture.labels import STACKS, place_in_words
from pages.shared import prose
from pages.shared.drawing import draw_figure
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Lines, script
from transformer_core.errors import HeadlightError, mark

if TYPE_CHECKING:
    from headlight.analysis.trace.residual_stream import Stream

HUES = {"self_attn": "self-attention", "cross_attn": "cross-attention", "mlp": "feed-forward"}
LOOK_PRE = mark(
    "with pre-norm, the norm of the residual stream grows from layer to layer, so late sub-layers contribute "
    "relatively less. A single position with a much larger norm is often the first one."
)
LOOK_POST = mark(
    "with post-norm, each sum is normalized, so the residual stream enters each sub-layer with about the same norm. A "
    "high bar means that the sub-layer changed it a lot."
)
HEIGHT = 480  # px
NORMS = """
for stack, stream in captured.streams().items():
    print(stack, stream.names)
    print(stream.sums)  # [place, pos]: norm of the residual stream
    print(stream.read)  # [place, pos]: norm of what each sub-layer reads
    print(stream.added)  # [sublayer, pos]: norm of what is added
    print(stream.shares)  # [sublayer, pos]: norm of what is added, as a part of what was there
"""


def show(data: ArchitectureData) -> None:
    """Draw the stream of each stack."""
    try:
        streams = data.streams()
    except HeadlightError as error:
        prose.warning(say("This cannot be captured: {why}.", why=error))
        return
    with st.container(key="hl-arch-stream"):
        columns = st.columns(len(streams), gap="medium")
    for column, (stack, stream) in zip(columns, streams.items(), strict=True):
        with column:
            _figure(data, stack, stream)
    words = LOOK_PRE if data.card.config.norm_position == "pre" else LOOK_POST
    prose.look_for(say(words), definitions("residual-stream", "pre-norm"))


def code(data: ArchitectureData) -> str:
    """Return the lines that measure it."""
    return script(Lines(NORMS, (data.captured,)))


def _figure(data: ArchitectureData, stack: str, stream: "Stream") -> None:
    is_pair = len(data.plan.stacks) > 1
    places = [place_in_words(name) for name in stream.names]
    title = say("Residual stream: {stack}", stack=say(STACKS[stack])) if is_pair else say("Residual stream")
    figure = stream_figure(
        stream.sums,
        stream.added,
        stream.shares,
        places=places,
        hues=[PART_HUES[HUES[name.rpartition(".")[2]]] for name in stream.names[1:]],
        tokens=data.labels[stack],
        title=title,
        read=stream.read if data.card.config.norm_position == "post" else None,
        height=HEIGHT,
    )
    positions = [f"{place} {label}" for place, label in enumerate(data.labels[stack])]
    arrays = {"sums": stream.sums, "read": stream.read, "added": stream.added, "places": np.array(places)}
    draw_figure(
        figure,
        name=data.file_name("stream", stack),
        key=f"architecture-stream-{stack}",
        csv=lambda: matrix_csv(stream.sums, "place", places, "position", positions, "length"),
        arrays=lambda: arrays,
        code=lambda: code(data),
        model=data.card.path,
    )
