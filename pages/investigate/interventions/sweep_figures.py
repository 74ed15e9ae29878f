"""The figures of a sweep: a map for each attention or stack, and the estimates that were checked."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from headlight.analysis.heads.table import matrix_csv
from headlight.analysis.interventions.checking import side_of
from headlight.analysis.interventions.records import OF_STACK, Component
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures import TokenGrid
from headlight.figures.bars.label_bars import label_bars
from headlight.figures.heatmaps.number_panels import number_panels
from pages.investigate.interventions import words
from pages.investigate.interventions.data import InterventionsData
from pages.investigate.interventions.sweep_data import SweepProgress, found_by, recipes_of, settings_of
from pages.shared.drawing import looks
from pages.shared.recipe import call, named, value_of
from transformer_core.errors import mark
from transformer_core.language import say

if TYPE_CHECKING:
    from headlight.analysis.interventions.tables import SweepMap

BARS = 230  # px
COMPONENTS = {  # all of a kind
    "head": mark("Head outputs"),
    "query": mark("Queries"),
    "key": mark("Keys"),
    "value": mark("Values"),
    "pattern": mark("Attention patterns"),
    "attention": mark("Attention outputs"),
    "feed_forward": mark("Feed-forward outputs"),
    "resid_pre": mark("Residual stream"),
}
NAMES = {"encoder": mark("encoder"), "decoder": mark("decoder"), "cross": mark("cross")}  # of attentions
EXACT = {
    "change": mark("{components}, {where}: Δ logit difference"),
    "fraction": mark("{components}, {where}: fraction recovered"),
}
ESTIMATED = {
    "change": mark("{components}, {where}: estimated Δ logit difference"),
    "fraction": mark("{components}, {where}: estimated fraction recovered"),
}


def checked(data: InterventionsData, sweep: SweepProgress) -> None:
    """Draw the largest estimates beside the exact changes."""
    from headlight.analysis.interventions.tables import sieve_numbers

    estimates, results, divided = found_by(recipes_of(data), sweep)
    labels = [_label(data, result.component) for result in sweep.results]
    numbers = named("numbers", call(sieve_numbers, labels, estimates, results, **divided))
    title = say("The largest estimates, checked by exact runs")
    drawn = call(
        label_bars,
        {say("estimate"): numbers["estimate"], say("exact"): numbers["exact"]},
        labels,
        title=title,
        label_name=say("component"),
        value_name=say("change (nats)") if sweep.unit == "change" else say("fraction"),
        **looks(760, BARS),
    )
    data.draw(
        drawn,
        numbers,
        f"[component], {_of_unit(sweep)}",
        title=title,
        name="sieve",
        key="interventions-sieve",
        csv=lambda of: matrix_csv(
            np.stack([of["estimate"], of["exact"]]).T, "component", labels, "run", ("estimate", "exact"), sweep.unit
        ),
        state_of=partial(settings_of, data, sweep),
    )


def _of_unit(sweep: SweepProgress) -> str:
    return "nats" if sweep.unit == "change" else "fractions of the difference"


def _label(data: InterventionsData, component: Component) -> str:
    """Return a component in few letters; an axis cuts the end, which the hover text keeps."""
    head = f".H{component.heads[0]}" if component.heads else ""
    at = f", {component.positions[0]}" if component.positions else ""
    of = say(words.STACKS[component.attention]) if component.kind in OF_STACK else say(NAMES[component.attention])
    token = f" {_side(data, component)[component.positions[0]]}" if component.positions else ""
    return f"L{component.layer}{head}{at}{f' {of}' if len(data.card.attentions) > 1 else ''}{token}"


def _side(data: InterventionsData, component: Component) -> Sequence[str]:
    """Return the labels of the positions of a component."""
    labels: Sequence[str] = getattr(data.run, side_of(component))
    return labels


def picture(data: InterventionsData, sweep: SweepProgress) -> None:
    """Draw the change of the metric: by position a row for each head or layer, else a row for each layer."""
    from headlight.analysis.interventions.tables import sweep_maps

    recipes = recipes_of(data)
    estimates, results, divided = found_by(recipes, sweep)
    found = estimates if sweep.estimates else results
    maps = named("maps", call(sweep_maps, data.base_recipe, recipes.components, found, **divided))
    each_map: dict[str, SweepMap] = value_of(maps)
    most = max(float(np.nanmax(abs(each.values), initial=0.0)) for each in each_map.values()) or 1.0
    for attention, shown in each_map.items():
        where = words.STACKS[attention] if sweep.kind in OF_STACK else ATTENTIONS[attention].inline
        n = len(shown.rows)
        height = max(210, 110 + 15 * n) if sweep.by_position else 100 + 26 * n  # with room for numbers
        title = say(
            (ESTIMATED if sweep.estimates else EXACT)[sweep.unit],
            components=say(COMPONENTS[sweep.kind]),
            where=say(where),
        )
        drawn = call(
            number_panels,
            {"": maps[attention].values},
            call(
                TokenGrid,
                shown.rows,
                shown.columns,
                query_name="",
                key_name=say("position") if sweep.by_position else say("head"),
                **looks(760, height),
            ),
            title=title,
            diverging=True,
            limits=(-most, most),  # one range of colors, so that the maps can be compared
            with_numbers=not sweep.by_position,
            with_colors=sweep.by_position or n > 4,  # beside fewer, a bar's numbers would overlap
        )
        columns = "position" if sweep.by_position else "head"
        data.draw(
            drawn,
            maps[attention].arrays(),
            f"[row, column], {_of_unit(sweep)}",
            title=title,
            name=f"sweep-{attention}",
            key=f"interventions-sweep-{attention}",
            csv=partial(_map_csv, shown, columns, sweep.unit),
            state_of=partial(settings_of, data, sweep),
        )


def _map_csv(shown: "SweepMap", columns: str, unit: str, numbers: Mapping[str, np.ndarray]) -> str:
    return matrix_csv(numbers["values"], "row", shown.rows, columns, shown.columns, unit)
