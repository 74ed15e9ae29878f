"""The cost of the whole model by text length: reading, writing with and without a cache, and memory."""

from collections.abc import Mapping
from operator import attrgetter

import numpy as np
import streamlit as st

from headlight.analysis.blueprint.cost import (
    PARTS,
    crossing,
    memory,
    reading_cost,
    reading_costs,
    several_lengths,
    writing_cost,
)
from headlight.analysis.blueprint.plan import n_parameters
from headlight.analysis.heads.table import matrix_csv
from headlight.figures import Figure
from headlight.figures.architecture.sizes import cost_curves, share_areas
from headlight.figures.theme import COST_HUES, FAINT, STRONG, WARM
from headlight.language import localized, percent, say
from pages.learn.architecture.data import ArchitectureData
from pages.shared import prose
from pages.shared.drawing import draw_figure
from pages.shared.recipe import Print, call, each, named, script
from transformer_core.errors import mark

NAMES = {
    "projections": mark("projections"),
    "attention": mark("attention itself"),
    "feed_forward": mark("feed-forward"),
    "unembedding": mark("last layer"),
}
COUNTED = mark(
    "Only matrix products are counted: “projections” compute queries, keys, values and the attention output; "
    "“attention itself” is queries times keys and weights times values. One multiply-add is two floating-point "
    "operations."
)
BOTH = mark("Source and target have the length on the axis.")
CROSSES = mark(
    "From {n} tokens on, attention itself costs more than the feed-forward networks: it grows quadratically with the "
    "length, everything else linearly."
)
BEYOND = mark("This model takes at most {most} tokens, so this never happens.")
NEVER = mark("Attention itself never costs more than the feed-forward networks here.")
NO_FEED_FORWARD = mark("This model has no feed-forward networks.")
ONE_TEXT = mark("All shapes are for one of the {n} texts in the batch.")
SPARES = mark("When generating {n} tokens, the KV cache saves {share} of the multiply-adds.")


def show(data: ArchitectureData) -> None:
    """Draw four figures: operations for reading, their shares, operations for writing, and memory."""
    config = data.card.config
    here = max(data.shape_lengths.values())
    lengths = several_lengths(max(config.max_seq_len, here))
    crossed = crossing(config, "attention", "feed_forward") if config.d_ff else None
    marks = {_here(data): here} | ({say("attention dominates"): crossed} if crossed and crossed > 1 else {})
    with st.container(key="hl-arch-cost"):
        left, right = st.columns(2, gap="medium")
    costs = reading_costs(config, lengths)
    shown = {say(NAMES[part]): costs[part] for part in PARTS if costs[part].any()}
    hues = [COST_HUES[part] for part in PARTS if costs[part].any()]
    with left:
        of_forward = {say("total"): costs["total"]} | shown
        figure = cost_curves(
            lengths,
            of_forward,
            hues=[FAINT, *hues],
            title=say("One forward pass"),
            unit=say("multiply-adds"),
            marks=marks,
            dashed=[say("total")],
        )
        parts = named("costs", call(reading_costs, data.config_recipe, lengths))
        _figure(data, figure, "reading", lengths, of_forward, Print(parts, "multiply-adds by part: [length]"))
        if config.has_decoder:
            _writing(data, lengths, here)
    with right:
        figure = share_areas(lengths, shown, hues=hues, title=say("Share of each part"), marks=marks)
        _figure(data, figure, "shares", lengths, shown, Print(parts, "multiply-adds by part: [length]"))
        _memory(data, lengths, here)
    prose.paragraph(" ".join(_sentences(data, crossed, here)))


def _here(data: ArchitectureData) -> str:
    return say("as entered") if data.has_typed_shapes else say("this text")


def _writing(data: ArchitectureData, lengths: list[int], here: int) -> None:
    """Draw the cost of writing a text token by token, with and without the cache."""
    config = data.card.config
    curves = {
        say("without a cache"): np.array([writing_cost(config, n, cached=False) for n in lengths], dtype=np.float64),
        say("with the cache"): np.array([writing_cost(config, n, cached=True) for n in lengths], dtype=np.float64),
    }
    figure = cost_curves(
        lengths,
        curves,
        hues=[WARM, STRONG],
        title=say("Generating a text token by token, all steps"),
        unit=say("multiply-adds"),
        marks={_here(data): here},
    )

    def written(cached: bool) -> Print:
        costs = each("n", lengths, lambda n: call(writing_cost, data.config_recipe, n, cached=cached))
        return Print(costs, "multiply-adds: [length]")

    _figure(data, figure, "writing", lengths, curves, written(False), written(True))


def _memory(data: ArchitectureData, lengths: list[int], here: int) -> None:
    config = data.card.config
    n, width = n_parameters(config), _bytes_per_number(data)
    held = [memory(config, length, n_parameters=n, bytes_per_number=width) for length in lengths]
    curves = {
        say("weights"): np.array([one.weights for one in held], dtype=np.float64),
        say("all attention patterns"): np.array([one.patterns for one in held], dtype=np.float64),
    }
    hues = [FAINT, COST_HUES["attention"]]
    if config.has_decoder:
        curves[say("KV cache")] = np.array([one.cache for one in held], dtype=np.float64)
        hues.append(STRONG)
    figure = cost_curves(
        lengths,
        curves,
        hues=hues,
        title=say("Memory"),
        unit="",
        marks={_here(data): here},
        in_bytes=True,
    )
    payload = {"n_parameters": call(n_parameters, data.config_recipe), "bytes_per_number": width}
    kept = named("held", each("n", lengths, lambda n: call(memory, data.config_recipe, n, **payload)))
    columns = (each("one", kept, attrgetter(name)) for name in ("weights", "patterns", "cache"))
    _figure(data, figure, "memory", lengths, curves, *(Print(column, "bytes: [length]") for column in columns))


def code(data: ArchitectureData) -> str:
    """Return the code that computes the costs at this length."""
    config, length = data.config_recipe, max(data.shape_lengths.values())
    cost = named("cost", call(reading_cost, config, length))
    held = {"n_parameters": call(n_parameters, config), "bytes_per_number": _bytes_per_number(data)}
    ways = (True, False) if data.card.config.has_decoder else ()
    writing = [call(writing_cost, config, length, cached=is_cached) for is_cached in ways]
    return script(
        Print((cost, cost.total), "multiply-adds of one forward pass"),
        *([Print(writing, "to generate all of it, with the KV cache and without")] if writing else []),
        Print(call(crossing, config, "attention", "feed_forward"), "tokens"),
        Print(call(memory, config, length, **held)),
    )


def _bytes_per_number(data: ArchitectureData) -> int:
    return 2 if data.source.precision == "bfloat16" else 4


def _figure(
    data: ArchitectureData,
    figure: Figure,
    of: str,
    lengths: list[int],
    curves: Mapping[str, np.ndarray],
    *printed: Print,
) -> None:
    values = np.stack([*curves.values()], axis=1)
    draw_figure(
        figure,
        name=data.file_name(of),
        key=f"architecture-cost-{of}",
        csv=lambda: matrix_csv(values, "tokens", lengths, "of", [*curves], "cost"),
        arrays=lambda: {"lengths": np.array(lengths), "costs": values, "names": np.array([*curves])},
        code=lambda: script(Print(lengths, "tokens"), *printed),
        model=data.card.path,
    )


def _sentences(data: ArchitectureData, crossed: int | None, here: int) -> list[str]:
    config = data.card.config
    result = [say(BOTH)] if config.architecture == "encoder_decoder" else []
    if not config.d_ff:
        result.append(say(NO_FEED_FORWARD))
    elif crossed is None:
        result.append(say(NEVER))
    else:
        result.append(say(CROSSES, n=localized(crossed)))
        result += [say(BEYOND, most=localized(config.max_seq_len))] if crossed > config.max_seq_len else []
    if config.has_decoder:
        cached, uncached = (writing_cost(config, here, cached=is_cached) for is_cached in (True, False))
        result.append(say(SPARES, n=here, share=percent(1 - cached / uncached)))
    result += [say(ONE_TEXT, n=localized(data.batch))] if data.batch > 1 else []
    return [*result, say(COUNTED)]
