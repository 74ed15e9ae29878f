"""A sweep: what is swept over, what it has found so far, and the same as code."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from headlight.analysis.interventions.records import OF_HEADS, ComponentKind, Patch
from pages.investigate.interventions import adding
from pages.investigate.interventions.data import InterventionsData
from pages.shared.recipe import Expression, Unwritten, call, named, through
from pages.shared.view.fields import Kept

if TYPE_CHECKING:
    from headlight.analysis.interventions.attributing import Estimate
    from headlight.analysis.interventions.sweeping import SweepResult

SITES: tuple[tuple[ComponentKind, bool], ...] = (  # which kinds of components are swept, and whether by position
    ("head", True),
    *((kind, False) for kind in OF_HEADS),
    ("attention", True),
    ("feed_forward", True),
    ("resid_pre", True),
)
N_TOP = 12  # estimates that are checked
SITE, SWEEP = Kept("interventions-sites", SITES[0]), Kept("interventions-sweep")
WAY = Kept("interventions-sweep-way", "exact")
UNIT = Kept("interventions-sweep-unit", "change")


@dataclass(eq=False)
class SweepProgress:
    """A sweep that is at work, was cancelled or is finished."""

    of: tuple[object, ...]  # what it is a sweep of
    kind: ComponentKind
    by_position: bool
    rest: "Iterator[SweepResult] | None"
    n_runs: int
    results: "list[SweepResult]" = field(default_factory=list)
    estimates: "tuple[Estimate, ...]" = ()  # of all components, where the way is the sieve
    difference: float | None = None  # nats between both texts; None: no fraction of it is defined
    note: str = ""  # why it could not go on

    @property
    def unit(self) -> str:
        """What is shown of each change."""
        return "change" if self.difference is None else str(UNIT.value)


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
    """Return the sweep that is chosen as code."""
    from headlight.analysis.interventions.attributing import attribution, exact_top
    from headlight.analysis.interventions.source_runs import SourceRuns
    from headlight.analysis.interventions.sweeping import Sweep, sweep_components

    model, tokenizer = data.source.recipe()
    base, (kind, by_position) = data.base_recipe, site_of(data)
    token, other = data.result.pairs[data.index]
    metric = named("metric", base.metric(index=data.index, token=token, other=other))
    swept = call(sweep_components, model.config, base, kind, metric, by_position=by_position)
    components = named("components", call(tuple, swept))
    template = call(Patch, component=components[0], text=adding.other_text(data), direction="denoising")
    sources = SourceRuns(*data.model(), max_tokens=data.base.max_tokens, max_new_tokens=data.base.max_new_tokens)
    given = {"given": data.stack} if data.stack.enabled else {}
    of = call(Sweep, model, tokenizer, base, template, metric=metric, sources=Unwritten(sources), **given)
    sweep = named("sweep", of)
    estimates = named("estimates", call(attribution, sweep, components))
    runs = call(exact_top, sweep, estimates, N_TOP) if WAY.value == "sieve" else sweep.exact(components)
    difference = named("difference", sweep.difference())
    return SweepRecipes(components=components, runs=runs, estimates=estimates, difference=difference)


def found_by(recipes: SweepRecipes, sweep: SweepProgress) -> tuple[Expression, Expression, dict[str, Expression]]:
    """Return as code what a sweep has found so far: estimates, exact results, and what changes are divided by."""
    some = recipes.runs if len(sweep.results) == sweep.n_runs else call(islice, recipes.runs, len(sweep.results))
    results = named("results", through(call(tuple, some), lambda _: tuple(sweep.results)))
    estimates = through(recipes.estimates, lambda _: sweep.estimates)
    is_fraction = sweep.unit == "fraction"
    divided = {"difference": through(recipes.difference, lambda _: sweep.difference)} if is_fraction else {}
    return estimates, results, divided


def settings_of(data: InterventionsData, sweep: SweepProgress) -> dict[str, Any]:
    """Return the settings of a sweep, for the state file of its figures."""
    token, other = data.result.pairs[data.index]
    return {
        "sweep": {
            "kind": sweep.kind,
            "by_position": sweep.by_position,
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
