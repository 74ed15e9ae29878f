"""The KV cache at this step: what it holds, what this step computed, and what the step would cost without it."""

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.components import figures
from pages.explore.decoding.code import opening
from pages.explore.decoding.data import DecodingData
from pages.shared import export, prose
from pages.shared.code import KEEP
from pages.shared.glossary.links import definitions
from pages.shared.style import theme
from pages.shared.view import state
from transformer_core.analysis.heads.table import matrix_csv
from transformer_core.errors import mark
from transformer_core.figures.heatmaps.kv_cache import cost_lines, kv_cache_grid
from transformer_core.language import grouped, say

if TYPE_CHECKING:
    from transformer_core.decoding.decoding_step import DecodingStep
    from transformer_core.decoding.prediction import NextTokenPrediction

KIB = 1 << 10
LOOK_FOR = mark(
    "With the cache, each step processes one token, and only the cost of attention grows with the text. Without it, "
    "every step recomputes all tokens."
)
GRID = """
from transformer_core.decoding.cost import cache_bytes
from transformer_core.figures.heatmaps.kv_cache import kv_cache_grid

figure = kv_cache_grid(
    {labels!r},
    n_layers=model.config.n_decoder_layers,
    n_cached={n_cached},
    source_labels={sources!r},
)
{keep}print(cache_bytes(model.config, {n_positions}, {n_src}, bytes_per_number={width}))
"""
LINES = """
import numpy as np

from transformer_core.decoding.cost import step_costs
from transformer_core.figures.heatmaps.kv_cache import cost_lines

cached, uncached = (
    np.array([
        step.total
        for step in step_costs(model.config, {n_steps}, n_given={n_given}, n_src={n_src}, cached=is_cached)
    ])
    for is_cached in (True, False)
)
figure = cost_lines(cached, uncached, at={at})
{keep}print(cached, uncached)  # multiply-adds [step]
"""


def show(data: DecodingData) -> None:
    """Draw what is stored and what was new, then what it costs."""
    last = data.at if data.prediction is not None else data.at.parent  # what ends a text is not read
    if last is None or last.prediction is None:
        return
    _grid(data, last, last.prediction)
    _facts(data, last, last.prediction)
    _costs(data, last)
    st.html(f"<p class='hl-small'>{html.escape(say(LOOK_FOR))}{prose.linked(definitions('kv-cache'))}</p>")


def _grid(data: DecodingData, last: "DecodingStep", prediction: "NextTokenPrediction") -> None:
    """Draw the keys and values of every layer and position."""
    labels = data.output_labels[: last.position + 1]
    figure = kv_cache_grid(
        labels,
        n_layers=data.card.config.n_decoder_layers,
        n_cached=prediction.n_cached,
        source_labels=data.source_labels,
        theme=theme(),
    )
    name = data.file_name("cache", f"step{data.n_written}")

    def files() -> Mapping[str, bytes]:
        kinds = np.array([["stored" if place < prediction.n_cached else "new" for place in range(len(labels))]]).T
        places = [f"{place} {label}" for place, label in enumerate(labels)]
        told = {
            "labels": list(labels),
            "sources": list(data.source_labels),
            "n_cached": prediction.n_cached,
            "n_positions": len(labels),
            "n_src": len(data.source_labels),
            "width": _bytes_per_number(last),
            "keep": KEEP.format(title=say("Contents of the KV cache"), text=state.about(), file=f"{name}.html"),
        }
        return export.files(
            name=name,
            csv=lambda: matrix_csv(kinds, "position", places, "of", ["keys and values"], "state"),
            arrays=lambda: {"state": kinds[:, 0], "tokens": np.array(labels)},
            code=opening(data) + GRID.format(**told),
            state=state.in_words(),
            model=data.card.path,
        )

    figures.live_figure(figure, name=name, key="decoding-cache", files=files, height=int(figure.layout.height))


def _facts(data: DecodingData, last: "DecodingStep", prediction: "NextTokenPrediction") -> None:
    """Tell how much is stored, and what this step cost with and without that."""
    from transformer_core.decoding.cost import cache_bytes, step_cost

    config, n_src, width = data.card.config, len(data.source_labels), _bytes_per_number(last)
    held, of_one = (cache_bytes(config, n, n_src, width) for n in (last.position + 1, 1))
    n_new = last.position + 1 - prediction.n_cached
    cached, uncached = (
        step_cost(config, prediction.n_cached, n_new=n_new, n_src=n_src, cached=is_cached).total
        for is_cached in (True, False)
    )
    read = [say("{n} tokens in one forward pass", n=prediction.n_read)] if prediction.n_read > 1 else []
    read += [say("a batch of {n}", n=prediction.n_rows)] if prediction.n_rows > 1 else []
    facts = [
        (say("cache size"), _size(held.total)),
        *([(say("of which source (fixed)"), _size(held.cross_attn))] if n_src else []),
        (say("size per token"), _size(of_one.self_attn)),
        (say("step time"), f"{prediction.ms:.1f} ms" + (f" ({', '.join(read)})" if read else "")),
        (say("multiply-adds"), grouped(cached)),
        (
            say("without a cache"),
            say("{n:,} ({times:.1f}×)", n=uncached, times=uncached / cached),
        ),
    ]
    cells = "".join(f"<div><span>{html.escape(name)}</span>{html.escape(value)}</div>" for name, value in facts)
    st.html(f"<div class='hl-facts-list'>{cells}</div>")


def _costs(data: DecodingData, last: "DecodingStep") -> None:
    """Draw what the steps of this branch cost, with the cache and without."""
    from transformer_core.decoding.cost import step_costs

    start = data.tree.start.position
    given = {"n_given": start + 1, "n_src": len(data.source_labels)}
    at = last.position - start
    n_steps = max(len(data.branch), at + 1)
    cached, uncached = (
        np.array([step.total for step in step_costs(data.card.config, n_steps, cached=is_cached, **given)])
        for is_cached in (True, False)
    )
    figure = cost_lines(cached, uncached, at=at, theme=theme())
    name = data.file_name("cost")

    def files() -> Mapping[str, bytes]:
        keep = KEEP.format(title=say("Cost per step"), text=state.about(), file=f"{name}.html")
        return export.files(
            name=name,
            csv=lambda: matrix_csv(
                np.stack([cached, uncached], axis=1),
                "step",
                range(n_steps),
                "cache",
                ["with", "without"],
                "multiply-adds",
            ),
            arrays=lambda: {"cached": cached, "uncached": uncached},
            code=opening(data) + LINES.format(n_steps=n_steps, at=at, keep=keep, **given),
            state=state.in_words(),
            model=data.card.path,
        )

    figures.live_figure(figure, name=name, key="decoding-cost", files=files, height=int(figure.layout.height))


def _bytes_per_number(step: "DecodingStep") -> int:
    """Return how wide the numbers are that are stored."""
    return 4 if step.kept is None else step.kept.dtype.itemsize


def _size(n_bytes: int) -> str:
    """Return a number of bytes in words."""
    return f"{n_bytes / KIB:,.1f} KiB" if n_bytes < KIB * KIB else f"{n_bytes / KIB / KIB:,.1f} MiB"
