"""The KV cache at this step: its contents, what this step computed, and the cost of the step without a cache."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headlight.analysis.heads.table import matrix_csv
from headlight.figures.heatmaps.kv_cache import cost_lines, kv_cache_grid
from headlight.language import localized, say
from pages.explore.decoding.data import DecodingData
from pages.shared import prose
from pages.shared.drawing import draw
from pages.shared.glossary.links import definitions
from pages.shared.recipe import Expression, Print, call, each, named, value_of
from transformer_core.errors import mark

if TYPE_CHECKING:
    from transformer_core.decoding.decoding_step import NextTokenPrediction

KIB = 1 << 10
LOOK_FOR = mark(
    "With the cache, each step processes one token, and only the cost of attention grows with the text. Without it, "
    "every step recomputes all tokens."
)


def show(data: DecodingData) -> None:
    """Draw the contents of the cache with the new entries marked, then the cost of the steps."""
    recipe = CacheRecipe.of(data)
    if recipe is None:
        return
    _grid(data, recipe)
    _facts(data, recipe)
    _costs(data, recipe)
    prose.small(say(LOOK_FOR), definitions("kv-cache"))


def code(data: DecodingData) -> list[Print]:
    """Return the lines that print the size of the cache, and the cost of this step and of all steps."""
    recipe = CacheRecipe.of(data)
    return [] if recipe is None else recipe.printed


@dataclass(frozen=True, kw_only=True, eq=False)
class CacheRecipe:
    """The size of the cache, and the multiply-adds of the steps, as code."""

    n_read: int  # number of tokens read so far
    prediction: "NextTokenPrediction"  # after the last token read
    held: Expression  # bytes
    of_step: Expression  # multiply-adds with the cache, and without
    cached: Expression  # multiply-adds of each step of the branch
    uncached: Expression

    @classmethod
    def of(cls, data: DecodingData) -> "CacheRecipe | None":
        """Return the cache after the last token read, and the cost of its step; None if no token was read."""
        from headlight.analysis.blueprint.cost import cache_bytes, step_cost, step_costs

        last = data.at if data.prediction is not None else data.at.parent  # an end-of-sequence token is not read
        if last is None or last.prediction is None:
            return None
        config, n_src = data.recipe.model.config, len(data.source_labels)
        n_read, n_cached = last.position + 1, last.prediction.n_cached
        n_given = data.tree.start.position + 1
        n_steps = max(len(data.branch), n_read - n_given + 1)
        width = 4 if last.kept is None else last.kept.dtype.itemsize

        def total(is_cached: Expression) -> Expression:
            return call(step_cost, config, n_cached, n_new=n_read - n_cached, n_src=n_src, cached=is_cached).total

        def totals(is_cached: Expression) -> Expression:
            costs = call(step_costs, config, n_steps, n_given=n_given, n_src=n_src, cached=is_cached)
            return call(np.array, each("step", costs, lambda step: step.total))

        cached, uncached = named("cached, uncached", each("is_cached", (True, False), totals))
        return cls(
            n_read=n_read,
            prediction=last.prediction,
            held=call(cache_bytes, config, n_read, n_src, bytes_per_number=width),
            of_step=each("is_cached", (True, False), total),
            cached=cached,
            uncached=uncached,
        )

    @property
    def printed(self) -> list[Print]:
        """The lines that print the sizes and costs."""
        with_and_without = "multiply-adds with the cache, and without"
        return [
            Print(self.held, "bytes"),
            Print(self.of_step, with_and_without),
            Print((self.cached, self.uncached), f"{with_and_without} [step]"),
        ]


def _grid(data: DecodingData, recipe: CacheRecipe) -> None:
    """Draw the keys and values of every layer and position."""
    title, n_read, n_cached = say("Contents of the KV cache"), recipe.n_read, recipe.prediction.n_cached
    figure = call(
        kv_cache_grid,
        data.labels_recipe[:n_read],
        n_layers=data.recipe.model.config.n_decoder_layers,
        n_cached=n_cached,
        source_labels=data.recipe.given.labels if data.source_labels else (),
        title=title,
    )
    kinds = np.array([["stored" if place < n_cached else "new"] for place in range(n_read)])
    labels = data.output_labels[:n_read]
    places = [f"{place} {label}" for place, label in enumerate(labels)]
    draw(
        figure,
        recipe.printed[0],
        title=title,
        name=data.file_name("cache", f"step{data.n_written}"),
        key="decoding-cache",
        csv=lambda: matrix_csv(kinds, "position", places, "of", ["keys and values"], "state"),
        arrays=lambda: {"state": kinds[:, 0], "tokens": np.array(labels)},
        model=data.card.path,
    )


def _facts(data: DecodingData, recipe: CacheRecipe) -> None:
    """Say how much is stored, and what this step costs with and without the cache."""
    held, (cached, uncached) = value_of((recipe.held, recipe.of_step))
    prediction = recipe.prediction
    read = [say("{n} tokens in one forward pass", n=prediction.n_read)] if prediction.n_read > 1 else []
    read += [say("a batch of {n}", n=prediction.n_rows)] if prediction.n_rows > 1 else []
    facts = [
        (say("cache size"), _size(held.total)),
        *([(say("of which source (fixed)"), _size(held.cross_attn))] if data.source_labels else []),
        (say("size per token"), _size(held.self_attn // recipe.n_read)),
        (say("step time"), f"{localized(prediction.ms, '.1f')} ms" + (f" ({', '.join(read)})" if read else "")),
        (say("multiply-adds"), localized(cached)),
        (say("without a cache"), say("{n:,} ({times:.1f}×)", n=uncached, times=uncached / cached)),
    ]
    prose.facts(facts)


def _costs(data: DecodingData, recipe: CacheRecipe) -> None:
    """Draw the cost of each step of this branch, with and without the cache."""
    title, at = say("Cost per step"), recipe.n_read - 1 - data.tree.start.position
    cached, uncached = value_of((recipe.cached, recipe.uncached))
    both = np.stack([cached, uncached], axis=1)
    draw(
        call(cost_lines, recipe.cached, recipe.uncached, at=at, title=title),
        recipe.printed[-1],
        title=title,
        name=data.file_name("cost"),
        key="decoding-cost",
        csv=lambda: matrix_csv(both, "step", range(len(both)), "cache", ["with", "without"], "multiply-adds"),
        arrays=lambda: {"cached": cached, "uncached": uncached},
        model=data.card.path,
    )


def _size(n_bytes: int) -> str:
    size, unit = (n_bytes / KIB, "KiB") if n_bytes < KIB * KIB else (n_bytes / KIB / KIB, "MiB")
    return f"{localized(size, ',.1f')} {unit}"
