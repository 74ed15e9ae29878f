"""Sweeps: one kind of component patched from the other text, exactly, one component after another."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages.components import figures
from pages.investigate.interventions import adding, words
from pages.investigate.interventions.data import InterventionsData
from pages.shared import forwards, models, prose, ticking
from pages.shared.recipe import Expression, Print, Unwritten, call, each, named, value_of
from pages.shared.style import theme
from pages.shared.view.fields import Kept
from transformer_core.analysis.heads.table import matrix_csv
from transformer_core.analysis.interventions.checking import side_of
from transformer_core.analysis.interventions.records import OF_HEADS, OF_STACK, Component, Kind, Patch
from transformer_core.analysis.trace.attentions import ATTENTIONS
from transformer_core.errors import HeadlightError, mark
from transformer_core.figures.bars.label_bars import label_bars
from transformer_core.figures.heatmaps.number_panels import number_panels
from transformer_core.figures.quantities import rounded
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.analysis.interventions.attributing import Estimate
    from transformer_core.analysis.interventions.sweeping import SweepResult

SLICE = 0.7  # s of one draw of the page that a sweep takes
SITES: tuple[tuple[Kind, bool], ...] = (  # which kinds of components are swept, and whether by position
    ("head", True),
    *((kind, False) for kind in OF_HEADS),
    ("attention", True),
    ("feed_forward", True),
    ("resid_pre", True),
)
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
BY_POSITION, BY_HEAD = mark("{components} × positions"), mark("{components}: layer × head")
ABOUT = mark(
    "Each cell is one exact run: one component takes its values from the other text (activation patching), all else "
    "stays. The metric is the logit difference of the two tokens; blue favors the first, orange the second."
)
WITH_STACK = mark("The stack stays active in every run: changes are relative to the model with the stack.")
WAYS = {  # how each component's effect is found
    "exact": mark("Exact, one by one"),
    "sieve": mark("Estimate, top {n} exact"),
}
ABOUT_SIEVE = mark(
    "Attribution patching (Nanda 2023) estimates all effects from one forward and one backward pass: the gradient "
    "times the difference of the two activations. It is a sieve, not a result, and misses heads whose softmax is "
    "saturated. The {n} largest estimates are then checked by exact runs."
)
UNITS = {"change": mark("Change in nats"), "fraction": mark("Fraction recovered")}
ABOUT_FRACTION = mark(
    "(patched − base) / (other text − base): 1 is all of the difference between the texts, {difference} nats."
)
NO_FRACTION = mark(
    "There is no fraction recovered here: at this output token, the other text has no matching token, or the same "
    "logit difference. Choose another output token, or another text."
)
N_TOP = 12  # estimates that are checked
_BARS = 230  # px
_SITE, _SWEEP = Kept("interventions-sites", SITES[0]), Kept("interventions-sweep")
_WAY = Kept("interventions-sweep-way", "exact")
_UNIT = Kept("interventions-sweep-unit", "change")


@dataclass(eq=False)
class Sweep:
    """A sweep that is at work, was cancelled or is finished."""

    of: tuple[object, ...]  # what it is a sweep of
    kind: Kind
    by_position: bool
    components: tuple[Component, ...]
    rest: "Iterator[SweepResult] | None"
    n_runs: int
    results: "list[SweepResult]" = field(default_factory=list)
    estimates: "tuple[Estimate, ...]" = ()  # of all components, where the way is the sieve
    difference: float | None = None  # nats between both texts; None: no fraction of it is defined
    note: str = ""  # why it could not go on

    @property
    def unit(self) -> str:
        """What is shown of each change."""
        return "change" if self.difference is None else str(_UNIT.value)

    def shown(self, result: "Estimate | SweepResult") -> float:
        """Return a change in the unit that is chosen."""
        return result.change / self.difference if self.difference and self.unit == "fraction" else result.change


def show(data: InterventionsData) -> None:
    """Go on with the sweep, and draw what is swept and its heat maps as far as they are; there is an output token."""
    sweep = _current(data)
    if sweep is not None:
        _advance(data, sweep)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        _SITE.selectbox(
            say("Component"), _sites(data), name=_in_words, shown=_site(data), label_visibility="visible", width=245
        )
        _WAY.selectbox(
            say("Method"),
            [*WAYS],
            name=lambda name: say(WAYS[name], n=N_TOP),
            label_visibility="visible",
            width=225,
        )
        _buttons(data, sweep)
    token, other = map(data.label, data.result.pairs[data.index])
    names = {"token": token, "other": other, "text": adding.other_text(data)}
    prose.small(say("Metric: logit of “{token}” − logit of “{other}”; values from “{text}”", **names))
    if data.stack.enabled:
        prose.small(say(WITH_STACK))
    if sweep is None:
        prose.small(say(ABOUT) if _WAY.value == "exact" else say(ABOUT_SIEVE, n=N_TOP))
        return
    if sweep.rest is not None:
        n, total = len(sweep.results), sweep.n_runs
        st.progress(n / total, prose.plain(say("{n} of {total} runs", n=n, total=total)))
    if sweep.note:
        prose.warning(sweep.note)
    if not (sweep.results or sweep.estimates):
        return
    _units(sweep)
    if sweep.estimates:
        _checked(data, sweep)
    _picture(data, sweep)


def _sites(data: InterventionsData) -> list[tuple[Kind, bool]]:
    """Return what the model has to sweep over."""
    return [site for site in SITES if site[0] != "feed_forward" or data.card.config.d_ff]


def _site(data: InterventionsData) -> tuple[Kind, bool]:
    """Return what is swept over."""
    sites = _sites(data)
    return _SITE.value if _SITE.value in sites else sites[0]


def _in_words(site: tuple[Kind, bool]) -> str:
    kind, by_position = site
    return say(BY_POSITION if by_position else BY_HEAD, components=say(COMPONENTS[kind]))


def _units(sweep: Sweep) -> None:
    """Draw the choice of the unit where there is one, and what it means."""
    if sweep.difference is None:
        prose.small(say(NO_FRACTION))
        return
    _UNIT.segmented(say("Unit"), [*UNITS], name=lambda name: say(UNITS[name]))
    if sweep.unit == "fraction":
        prose.small(say(ABOUT_FRACTION, difference=rounded(sweep.difference, 2)))


def _identity(data: InterventionsData) -> tuple[object, ...]:
    text = data.view.text, data.view.target, adding.other_text(data)
    return data.source, *text, _site(data), _WAY.value, data.metric, data.stack


def _current(data: InterventionsData) -> Sweep | None:
    sweep: Sweep | None = _SWEEP.value
    return sweep if sweep is not None and sweep.of == _identity(data) else None


def _buttons(data: InterventionsData, sweep: Sweep | None) -> None:
    if sweep is not None and sweep.rest is not None:
        st.button(say("Cancel"), key="interventions-cancel", icon=":material/stop:", on_click=_cancel, args=(sweep,))
    else:
        st.button(
            say("Run the sweep"),
            key="interventions-run-sweep",
            icon=":material/grid_on:",
            type="primary",
            on_click=_start,
            args=(data,),
        )


def _cancel(sweep: Sweep) -> None:
    sweep.rest = None


def _start(data: InterventionsData) -> None:
    """Begin a sweep; nothing is computed before the page is drawn."""
    kind, by_position = _site(data)
    runs, components, estimates, difference = _recipes(data)
    of_model: tuple[Component, ...] = value_of(components)
    is_sieve = _WAY.value == "sieve"

    def results() -> "Iterator[SweepResult]":
        sweep.difference = value_of(difference)
        if is_sieve:
            sweep.estimates = value_of(estimates)
        yield from value_of(runs)

    sweep = Sweep(
        of=_identity(data),
        kind=kind,
        by_position=by_position,
        components=of_model,
        rest=results(),
        n_runs=min(N_TOP, len(of_model)) if is_sieve else len(of_model),
    )
    _SWEEP.set(sweep)


def _recipes(data: InterventionsData) -> tuple[Expression, Expression, Expression, Expression]:
    """Return as code the exact runs, the components, their estimates, and the difference between both texts."""
    from transformer_core.analysis.interventions.attributing import attribution, exact_top
    from transformer_core.analysis.interventions.source_runs import SourceRuns
    from transformer_core.analysis.interventions.sweeping import source_difference, sweep_components
    from transformer_core.analysis.interventions.sweeping import sweep as sweep_over

    model, tokenizer = data.source.recipe()
    base, (kind, by_position) = data.base_recipe, _site(data)
    token, other = data.result.pairs[data.index]
    metric = named("metric", base.metric(index=data.index, token=token, other=other))
    swept = call(sweep_components, model.config, base, kind, metric, by_position=by_position)
    components = named("components", call(tuple, swept))
    template = call(Patch, component=components[0], text=adding.other_text(data), direction="denoising")
    sources = SourceRuns(*data.model(), max_tokens=data.base.max_tokens, max_new_tokens=data.base.max_new_tokens)
    of: dict[str, Any] = {"template": named("template", template), "metric": metric, "sources": Unwritten(sources)}
    if data.stack.enabled:
        of["given"] = data.stack
    estimates = named("estimates", call(attribution, model, tokenizer, base, components, **of))
    if _WAY.value == "sieve":
        runs = call(exact_top, model, tokenizer, base, estimates, N_TOP, **of)
    else:
        runs = call(sweep_over, model, tokenizer, base, components, **of)
    return runs, components, estimates, call(source_difference, model, tokenizer, base, **of)


def code(data: InterventionsData) -> list[Print]:
    """Return the lines that print the changes of the metric that the sweep finds."""
    runs, _, _, difference = _recipes(data)
    changes = each("result", runs, lambda result: (result.component, result.change))
    return [Print(changes, "nats"), Print(difference, "nats; a change divided by it is the fraction recovered")]


def _advance(data: InterventionsData, sweep: Sweep) -> None:
    """Compute some more cells, and have the page drawn again for the others."""
    end = time.monotonic() + SLICE
    try:
        with forwards.one_of_few(), models.on(data.source.device):
            while sweep.rest is not None and time.monotonic() < end:
                result = next(sweep.rest, None)
                if result is None:
                    sweep.rest = None
                else:
                    sweep.results.append(result)
    except HeadlightError as error:
        sweep.rest = None
        sweep.note = prose.sentence(error)
    if sweep.rest is not None:
        ticking.look_again(after=0.1)


EXACT = {
    "change": mark("{components}, {where}: Δ logit difference"),
    "fraction": mark("{components}, {where}: fraction recovered"),
}
ESTIMATED = {
    "change": mark("{components}, {where}: estimated Δ logit difference"),
    "fraction": mark("{components}, {where}: estimated fraction recovered"),
}


def _checked(data: InterventionsData, sweep: Sweep) -> None:
    """Draw the largest estimates beside the exact changes."""
    estimate_of = {estimate.component: sweep.shown(estimate) for estimate in sweep.estimates}
    labels = [_label(data, result.component) for result in sweep.results]
    figure = label_bars(
        {
            say("estimate"): np.array([estimate_of[result.component] for result in sweep.results]),
            say("exact"): np.array([sweep.shown(result) for result in sweep.results]),
        },
        labels,
        title=say("The largest estimates, checked by exact runs"),
        label_name=say("component"),
        value_name=say("change (nats)") if sweep.unit == "change" else say("fraction"),
        theme=theme(),
        width=760,
        height=_BARS,
    )
    figures.live_figure(figure, name=data.file_name("sieve"), key="interventions-sieve", height=_BARS)


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


def _picture(data: InterventionsData, sweep: Sweep) -> None:
    """Draw the change of the metric: by position a row for each head or layer, else a row for each layer."""
    values = {result.component: sweep.shown(result) for result in sweep.estimates or sweep.results}
    most = max(map(abs, values.values())) or 1.0  # one range of colors, so that the maps can be compared
    for attention in dict.fromkeys(component.attention for component in sweep.components):
        of_attention = [component for component in sweep.components if component.attention == attention]
        rows = [*dict.fromkeys(_row(component, sweep) for component in of_attention)]
        names = [f"L{layer}.H{heads[0]}" if heads else f"L{layer}" for layer, heads in rows]
        if sweep.by_position:
            columns, column_name = [*_side(data, of_attention[0])], say("position")
        else:
            columns, column_name = [f"H{head}" for head in range(len(of_attention) // len(rows))], say("head")
        table = np.zeros((len(rows), len(columns)))
        for component in of_attention:
            column = (component.positions if sweep.by_position else component.heads) or (0,)
            table[rows.index(_row(component, sweep)), column[0]] = values.get(component, np.nan)  # NaN: not yet run
        where = words.STACKS[attention] if sweep.kind in OF_STACK else ATTENTIONS[attention].inline
        height = max(210, 110 + 15 * len(rows)) if sweep.by_position else 100 + 26 * len(rows)  # with room for numbers
        figure = number_panels(
            {"": table},
            names,
            columns,
            title=say(
                (ESTIMATED if sweep.estimates else EXACT)[sweep.unit],
                components=say(COMPONENTS[sweep.kind]),
                where=say(where),
            ),
            row_name="",
            column_name=column_name,
            diverging=True,
            limits=(-most, most),
            with_numbers=not sweep.by_position,
            with_colors=sweep.by_position or len(rows) > 4,  # beside fewer, a bar's numbers would overlap
            theme=theme(),
            width=760,
            height=height,
        )
        figures.live_figure(
            figure,
            name=data.file_name(f"sweep-{attention}"),
            key=f"interventions-sweep-{attention}",
            csv=matrix_csv(table, "row", names, "position" if sweep.by_position else "head", columns, sweep.unit),
            height=height,
        )


def _row(component: Component, sweep: Sweep) -> tuple[int, tuple[int, ...] | None]:
    """Return the layer, and by position the head, that a row stands for."""
    return component.layer, component.heads if sweep.by_position else None
