"""Sweeps: every head or the residual stream, position by position, replaced exactly, one after another."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from pages.components import figures
from pages.investigate.interventions import adding, words
from pages.investigate.interventions.data import InterventionsData
from pages.shared import forwards, models, prose, ticking
from pages.shared.style import theme
from pages.shared.view.fields import Kept
from transformer_core.analysis import ATTENTIONS
from transformer_core.analysis.heads.table import matrix_csv
from transformer_core.analysis.interventions import Component
from transformer_core.errors import HeadlightError, mark
from transformer_core.figures.bars.label_bars import label_bars
from transformer_core.figures.heatmaps.number_panels import number_panels
from transformer_core.language import say

if TYPE_CHECKING:
    from transformer_core.analysis.interventions import Estimate, SweepResult

SLICE = 0.7  # s of one draw of the page that a sweep takes
SITES = {"heads": mark("Heads × positions"), "residual": mark("Residual stream × positions")}
ABOUT = mark(
    "Each cell is one exact run: the component takes its values from the other text (resampled), all else stays. The "
    "metric is the logit difference of the two tokens; blue favors the first, orange the second."
)
WITH_STACK = mark("The stack stays active in every run: changes are relative to the model with the stack.")
WAYS = {  # how each component's effect is found
    "exact": mark("Exact, one by one"),
    "sieve": mark("Estimate, then the top {n} exact"),
}
ABOUT_SIEVE = mark(
    "Attribution patching (Nanda 2023) estimates all effects from one forward and one backward pass: the gradient "
    "times the difference of the two activations. It is a sieve, not a result, and misses heads whose softmax is "
    "saturated. The {n} largest estimates are then checked by exact runs."
)
N_TOP = 12  # estimates that are checked
_ROW = 15  # px of a head
_BARS = 230  # px
_SITE, _SWEEP = Kept("interventions-sites", "heads"), Kept("interventions-sweep")
_WAY = Kept("interventions-sweep-way", "exact")


@dataclass(eq=False)
class Sweep:
    """A sweep that is at work, was cancelled or is finished."""

    of: tuple[object, ...]  # what it is a sweep of
    components: tuple[Component, ...]
    rest: "Iterator[SweepResult] | None"
    n_runs: int
    results: "list[SweepResult]" = field(default_factory=list)
    estimates: "tuple[Estimate, ...]" = ()  # of all components, where the way is the sieve


def show(data: InterventionsData) -> None:
    """Draw what is swept, and the heat map as far as it is filled; there is an output token."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        _SITE.selectbox(
            say("Component"), [*SITES], name=lambda name: say(SITES[name]), label_visibility="visible", width=230
        )
        _WAY.selectbox(
            say("Method"),
            [*WAYS],
            name=lambda name: say(WAYS[name], n=N_TOP),
            label_visibility="visible",
            width=250,
        )
        _buttons(data)
    sweep = _current(data)
    token, other = map(data.label, data.result.pairs[data.index])
    names = {"token": token, "other": other, "text": adding.other_text(data)}
    prose.small(say("Metric: logit of “{token}” − logit of “{other}”; values from “{text}”", **names))
    if data.stack.enabled:
        prose.small(say(WITH_STACK))
    if sweep is None:
        prose.small(say(ABOUT) if _WAY.value == "exact" else say(ABOUT_SIEVE, n=N_TOP))
        return
    _advance(data, sweep)
    if sweep.estimates:
        _checked(data, sweep)
    _picture(data, sweep)


def _identity(data: InterventionsData) -> tuple[object, ...]:
    text = data.view.text, data.view.target, adding.other_text(data)
    return data.source, *text, _SITE.value, _WAY.value, data.metric, data.stack


def _current(data: InterventionsData) -> Sweep | None:
    sweep: Sweep | None = _SWEEP.value
    return sweep if sweep is not None and sweep.of == _identity(data) else None


def _buttons(data: InterventionsData) -> None:
    sweep = _current(data)
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
    from transformer_core.analysis.interventions import (
        Ablation,
        attribution,
        exact_top,
        head_components,
        residual_components,
    )
    from transformer_core.analysis.interventions import sweep as sweep_over

    model, tokenizer = data.model()
    metric = data.metric
    components_of = head_components if _SITE.value == "heads" else residual_components
    components = tuple(components_of(model.config, data.base, metric))
    template = Ablation(component=components[0], method="resample", texts=(adding.other_text(data),))
    of: dict[str, Any] = {"template": template, "metric": metric, "given": data.stack}
    sweep = Sweep(of=_identity(data), components=components, rest=None, n_runs=len(components))

    def sieve() -> "Iterator[SweepResult]":
        sweep.estimates = attribution(model, tokenizer, data.base, components, **of)
        yield from exact_top(model, tokenizer, data.base, sweep.estimates, N_TOP, **of)

    if _WAY.value == "sieve":
        sweep.n_runs, sweep.rest = min(N_TOP, len(components)), sieve()
    else:
        sweep.rest = sweep_over(model, tokenizer, data.base, components, **of)
    _SWEEP.set(sweep)


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
        prose.warning(prose.sentence(error))
    if sweep.rest is not None:
        ticking.look_again(after=0.1)
        n, total = len(sweep.results), sweep.n_runs
        st.progress(n / total, prose.plain(say("{n} of {total} runs", n=n, total=total)))


EXACT = mark("{where}: change of the logit difference")
ESTIMATED = mark("{where}: estimated change of the logit difference")


def _checked(data: InterventionsData, sweep: Sweep) -> None:
    """Draw the largest estimates beside the exact changes."""
    estimate_of = {estimate.component: estimate.change for estimate in sweep.estimates}
    labels = [_label(data, result.component) for result in sweep.results]
    figure = label_bars(
        {
            say("estimate"): np.array([estimate_of[result.component] for result in sweep.results]),
            say("exact"): np.array([result.change for result in sweep.results]),
        },
        labels,
        title=say("The largest estimates, checked by exact runs"),
        label_name=say("component"),
        value_name=say("change (nats)"),
        theme=theme(),
        width=760,
        height=_BARS,
    )
    figures.live_figure(figure, name=data.file_name("sieve"), key="interventions-sieve", height=_BARS)


def _label(data: InterventionsData, component: Component) -> str:
    """Return a component in few letters."""
    side = data.run.source if component.attention == "encoder" else data.run.target
    head = f".H{component.heads[0]}" if component.heads else ""
    at = f" {side[component.positions[0]]}" if component.positions else ""
    return f"{component.attention[0]}{component.layer}{head}{at}"


def _picture(data: InterventionsData, sweep: Sweep) -> None:
    """Draw the change of the metric: a row for each head or layer, a column for each position."""
    for attention in dict.fromkeys(component.attention for component in sweep.components):
        of_attention = [component for component in sweep.components if component.attention == attention]
        rows = [*dict.fromkeys((component.layer, component.heads) for component in of_attention)]
        side = "source" if attention == "encoder" else "target"
        labels = getattr(data.run, side)
        table = np.zeros((len(rows), len(labels)))
        for result in sweep.estimates or sweep.results:
            at = result.component
            if at.attention == attention and at.positions:
                table[rows.index((at.layer, at.heads)), at.positions[0]] = result.change
        names = [f"L{layer}.H{heads[0]}" if heads else f"L{layer}" for layer, heads in rows]
        where = say(ATTENTIONS[attention].title) if _SITE.value == "heads" else say(words.STACKS[attention])
        height = max(150, 110 + _ROW * len(rows))
        figure = number_panels(
            {"": table},
            names,
            labels,
            title=say(ESTIMATED if sweep.estimates else EXACT, where=where),
            row_name=say("head") if _SITE.value == "heads" else say("layer"),
            column_name=say("position"),
            diverging=True,
            with_numbers=False,
            theme=theme(),
            width=760,
            height=height,
        )
        figures.live_figure(
            figure,
            name=data.file_name(f"sweep-{attention}"),
            key=f"interventions-sweep-{attention}",
            csv=matrix_csv(table, "row", names, "position", labels, "change"),
            height=height,
        )
