"""A sweep as code, its progress, and its figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from headlight.analysis.heads.table import matrix_csv
from headlight.analysis.interventions.records import OF_HEADS, OF_STACK, Component, ComponentKind, Patch
from headlight.analysis.interventions.stacks import side_of
from headlight.analysis.trace.attentions import ATTENTIONS
from headlight.figures import TokenGrid
from headlight.figures.bars.label_bars import label_bars
from headlight.figures.heatmaps.number_panels import number_panels
from headlight.language import say
from pages.investigate.interventions import adding, words
from pages.investigate.interventions.data import InterventionsData
from pages.shared.drawing import looks
from pages.shared.recipe import Expression, call, named, through, value_of
from pages.shared.view.fields import Kept
from transformer_core.errors import mark

if TYPE_CHECKING:
    from headlight.analysis.interventions.sweeping import Estimate, SweepMap, SweepResult

SITES: tuple[tuple[ComponentKind, bool], ...] = (  # which kinds of components are swept, and whether by position
    ("head", True),
    *((kind, False) for kind in OF_HEADS),
    ("attention", True),
    ("feed_forward", True),
    ("resid_pre", True),
)
N_TOP = 12  # number of the largest estimates that are checked exactly
SITE, SWEEP = Kept("interventions-sites", SITES[0]), Kept("interventions-sweep")
WAY = Kept("interventions-sweep-way", "exact")
UNIT = Kept("interventions-sweep-unit", "change")


def sites_of(data: InterventionsData) -> list[tuple[ComponentKind, bool]]:
    """Return the kinds of components of the model that a sweep can cover."""
    return [site for site in SITES if site[0] != "feed_forward" or data.card.config.d_ff]


def site_of(data: InterventionsData) -> tuple[ComponentKind, bool]:
    """Return the chosen kind of component."""
    sites = sites_of(data)
    return SITE.value if SITE.value in sites else sites[0]


@dataclass(frozen=True, kw_only=True, eq=False)
class SweepRecipes:
    """A sweep as code."""

    components: Expression
    runs: Expression  # exact
    estimates: Expression
    difference: Expression  # between both texts


def recipes_of(data: InterventionsData) -> SweepRecipes:
    """Return the chosen sweep as code."""
    from headlight.analysis.interventions.attributing import attribution, exact_top
    from headlight.analysis.interventions.sweeping import Sweep, sweep_components

    model, tokenizer = data.source.recipe()
    base, (kind, by_position) = data.base_recipe, site_of(data)
    token, other = data.result.pairs[data.index]
    metric = named("metric", base.metric(index=data.index, token=token, other=other))
    swept = call(sweep_components, model.config, base, kind, metric, by_position=by_position)
    components = named("components", call(tuple, swept))
    template = call(Patch, component=components[0], text=adding.other_text(data), direction="denoising")
    given = {"given": data.stack} if data.stack.enabled else {}
    of = call(Sweep, model, tokenizer, base, template, metric=metric, **given)
    sweep = named("sweep", of)
    estimates = named("estimates", call(attribution, sweep, components))
    runs = call(exact_top, sweep, estimates, N_TOP) if WAY.value == "sieve" else sweep.exact(components)
    difference = named("difference", sweep.difference())
    return SweepRecipes(components=components, runs=runs, estimates=estimates, difference=difference)


@dataclass(eq=False)
class SweepProgress:
    """A sweep that is running, cancelled or finished."""

    of: tuple[object, ...]  # identifies what is swept
    site: tuple[ComponentKind, bool]  # kind of components, and whether by position
    rest: "Iterator[SweepResult] | None"
    n_runs: int
    results: "list[SweepResult]" = field(default_factory=list)
    estimates: "tuple[Estimate, ...]" = ()  # of all components, if the way is "sieve"
    difference: float | None = None  # nats between the two texts; None: fractions of it are undefined
    note: str = ""  # why it stopped

    @property
    def unit(self) -> str:
        """How each change is displayed: "change" or "fraction"."""
        return "change" if self.difference is None else str(UNIT.value)

    def found(self, recipes: SweepRecipes) -> tuple[Expression, Expression, dict[str, Expression]]:
        """Return as code the estimates and exact results so far, and the number that changes are divided by."""
        n = len(self.results)
        some = recipes.runs if n == self.n_runs else call(islice, recipes.runs, n)
        results = named("results", through(call(tuple, some), lambda _: tuple(self.results)))
        estimates = through(recipes.estimates, lambda _: self.estimates)
        is_fraction = self.unit == "fraction"
        divided = {"difference": through(recipes.difference, lambda _: self.difference)} if is_fraction else {}
        return estimates, results, divided


def settings_of(data: InterventionsData, sweep: SweepProgress) -> dict[str, Any]:
    """Return the settings of a sweep, for the state file of its figures."""
    token, other = data.result.pairs[data.index]
    return {
        "sweep": {
            "kind": sweep.site[0],
            "by_position": sweep.site[1],
            "method": WAY.value,
            "unit": sweep.unit,
            "other_text": adding.other_text(data),
            "output_token": data.index,
            "logit_difference": [token, other],
            "difference": sweep.difference,
            "exact_runs": len(sweep.results),
            "of_exact_runs": sweep.n_runs,
        }
    }


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
    from headlight.analysis.interventions.attributing import sieve_numbers

    estimates, results, divided = sweep.found(recipes_of(data))
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
    """Return a short label of a component; an axis truncates its end, which the hover text keeps."""
    head = f".H{component.heads[0]}" if component.heads else ""
    at = f", {component.positions[0]}" if component.positions else ""
    of = say(words.STACKS[component.attention]) if component.kind in OF_STACK else say(NAMES[component.attention])
    token = f" {_side(data, component)[component.positions[0]]}" if component.positions else ""
    return f"L{component.layer}{head}{at}{f' {of}' if len(data.card.attentions) > 1 else ''}{token}"


def _side(data: InterventionsData, component: Component) -> Sequence[str]:
    """Return the labels of the positions of a component."""
    return getattr(data.run, side_of(component))


def picture(data: InterventionsData, sweep: SweepProgress) -> None:
    """Draw the change of the metric: by position a row for each head or layer, else a row for each layer."""
    from headlight.analysis.interventions.sweeping import sweep_maps

    (kind, by_position), recipes = sweep.site, recipes_of(data)
    estimates, results, divided = sweep.found(recipes)
    changes = estimates if sweep.estimates else results
    maps = named("maps", call(sweep_maps, data.base_recipe, recipes.components, changes, **divided))
    each_map: dict[str, SweepMap] = value_of(maps)
    most = max(float(np.nanmax(abs(each.values), initial=0.0)) for each in each_map.values()) or 1.0
    for attention, shown in each_map.items():
        where = words.STACKS[attention] if kind in OF_STACK else ATTENTIONS[attention].inline
        n = len(shown.rows)
        height = max(210, 110 + 15 * n) if by_position else 100 + 26 * n  # with room for numbers
        title = say(
            (ESTIMATED if sweep.estimates else EXACT)[sweep.unit],
            components=say(COMPONENTS[kind]),
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
                key_name=say("position") if by_position else say("head"),
                **looks(760, height),
            ),
            title=title,
            diverging=True,
            limits=(-most, most),  # one range of colors, so that the maps can be compared
            with_numbers=not by_position,
            with_colors=by_position or n > 4,  # beside fewer, a bar's numbers would overlap
        )
        columns = "position" if by_position else "head"
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
