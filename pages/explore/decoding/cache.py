"""The KV cache at this step: what it holds, what this step computed, and what the step would cost without it."""

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.components import figures
from pages.explore.decoding.data import DecodingData
from pages.shared import export, prose
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Expression, Print, Unwritten, call, each, named, value_of
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


def show(data: DecodingData) -> None:
    """Draw what is stored and what was new, then what it costs."""
    last = _last(data)
    if last is None or last.prediction is None:
        return
    _grid(data, last, last.prediction)
    _facts(data, last, last.prediction)
    _costs(data, last)
    st.html(f"<p class='hl-small'>{html.escape(say(LOOK_FOR))}{prose.linked(definitions('kv-cache'))}</p>")


def code(data: DecodingData) -> list[Print]:
    """Return the lines that print how much is stored, and what this step and all others cost."""
    last = _last(data)
    if last is None or last.prediction is None:
        return []
    costs = Print(_step_costs(data, last, last.prediction), "multiply-adds with the cache and without")
    return [Print(_held(data, last, last.position + 1), "bytes"), costs, _print_costs(data, last)]


def _last(data: DecodingData) -> "DecodingStep | None":
    """Return the last token that was read: what ends a text is not."""
    return data.at if data.prediction is not None else data.at.parent


def _grid(data: DecodingData, last: "DecodingStep", prediction: "NextTokenPrediction") -> None:
    """Draw the keys and values of every layer and position."""
    n_read, n_cached = last.position + 1, prediction.n_cached
    title = say("Contents of the KV cache")
    recipe = named(
        "figure",
        call(
            kv_cache_grid,
            data.labels_recipe[:n_read],
            n_layers=data.recipe.model.config.n_decoder_layers,
            n_cached=n_cached,
            source_labels=data.recipe.given.labels if data.source_labels else (),
            title=title,
            theme=Unwritten(theme()),
        ),
    )
    figure, name = value_of(recipe), data.file_name("cache", f"step{data.n_written}")

    def files() -> Mapping[str, bytes]:
        labels = data.output_labels[:n_read]
        kinds = np.array([["stored" if place < n_cached else "new" for place in range(n_read)]]).T
        places = [f"{place} {label}" for place, label in enumerate(labels)]
        return export.files(
            name=name,
            csv=lambda: matrix_csv(kinds, "position", places, "of", ["keys and values"], "state"),
            arrays=lambda: {"state": kinds[:, 0], "tokens": np.array(labels)},
            code=export.script(recipe, Print(_held(data, last, n_read), "bytes"), title=title, name=name),
            state=state.in_words(),
            model=data.card.path,
        )

    figures.live_figure(figure, name=name, key="decoding-cache", files=files, height=int(figure.layout.height))


def _held(data: DecodingData, last: "DecodingStep", n_positions: int) -> Expression:
    """Return how much is stored of so many positions."""
    from transformer_core.decoding.cost import cache_bytes

    width = 4 if last.kept is None else last.kept.dtype.itemsize
    return call(cache_bytes, data.recipe.model.config, n_positions, len(data.source_labels), bytes_per_number=width)


def _step_costs(data: DecodingData, last: "DecodingStep", prediction: "NextTokenPrediction") -> Expression:
    """Return what this step costs with the cache, and what without."""
    from transformer_core.decoding.cost import step_cost

    of_step = {"n_new": last.position + 1 - prediction.n_cached, "n_src": len(data.source_labels)}
    config = data.recipe.model.config
    return each(
        "is_cached",
        (True, False),
        lambda is_cached: call(step_cost, config, prediction.n_cached, **of_step, cached=is_cached).total,
    )


def _facts(data: DecodingData, last: "DecodingStep", prediction: "NextTokenPrediction") -> None:
    """Tell how much is stored, and what this step cost with and without that."""
    held, of_one = (value_of(_held(data, last, n)) for n in (last.position + 1, 1))
    cached, uncached = value_of(_step_costs(data, last, prediction))
    read = [say("{n} tokens in one forward pass", n=prediction.n_read)] if prediction.n_read > 1 else []
    read += [say("a batch of {n}", n=prediction.n_rows)] if prediction.n_rows > 1 else []
    facts = [
        (say("cache size"), _size(held.total)),
        *([(say("of which source (fixed)"), _size(held.cross_attn))] if data.source_labels else []),
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
    cached, uncached = _costs_of_steps(data, last)
    title = say("Cost per step")
    at = last.position - data.tree.start.position
    recipe = named("figure", call(cost_lines, cached, uncached, at=at, title=title, theme=Unwritten(theme())))
    figure, name = value_of(recipe), data.file_name("cost")

    def files() -> Mapping[str, bytes]:
        arrays = {"cached": value_of(cached), "uncached": value_of(uncached)}
        matrix = np.stack([*arrays.values()], axis=1)
        return export.files(
            name=name,
            csv=lambda: matrix_csv(matrix, "step", range(len(matrix)), "cache", ["with", "without"], "multiply-adds"),
            arrays=lambda: arrays,
            code=export.script(recipe, _print_costs(data, last), title=title, name=name),
            state=state.in_words(),
            model=data.card.path,
        )

    figures.live_figure(figure, name=name, key="decoding-cost", files=files, height=int(figure.layout.height))


def _costs_of_steps(data: DecodingData, last: "DecodingStep") -> tuple[Expression, Expression]:
    """Return what each step of this branch costs with the cache, and what without."""
    from transformer_core.decoding.cost import step_costs

    start = data.tree.start.position
    n_steps = max(len(data.branch), last.position - start + 1)
    given = {"n_given": start + 1, "n_src": len(data.source_labels)}
    with_cache, without = (
        call(step_costs, data.recipe.model.config, n_steps, **given, cached=cached) for cached in (True, False)
    )
    cached, uncached = (call(np.array, each("step", costs, lambda step: step.total)) for costs in (with_cache, without))
    return named("cached", cached), named("uncached", uncached)


def _print_costs(data: DecodingData, last: "DecodingStep") -> Print:
    return Print(_costs_of_steps(data, last), "multiply-adds [step]")


def _size(n_bytes: int) -> str:
    """Return a number of bytes in words."""
    return f"{n_bytes / KIB:,.1f} KiB" if n_bytes < KIB * KIB else f"{n_bytes / KIB / KIB:,.1f} MiB"
