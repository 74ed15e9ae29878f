"""Sweeps: one kind of component patched from the other text, exactly, one component after another."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import streamlit as st

from headlight.analysis.interventions.records import Component, ComponentKind
from headlight.figures.quantities import rounded
from headlight.language import say
from pages.investigate.interventions import adding, sweep_figures
from pages.investigate.interventions.data import STORE, InterventionsData
from pages.investigate.interventions.sweep_figures import (
    N_TOP,
    SITE,
    SWEEP,
    UNIT,
    WAY,
    SweepProgress,
    recipes_of,
    site_of,
    sites_of,
)
from pages.shared import cache, devices, forwards, prose, ticking
from pages.shared.recipe import Print, each, value_of
from transformer_core.errors import HeadlightError, mark
from transformer_core.text.interface import in_one_line

if TYPE_CHECKING:
    from headlight.analysis.interventions.sweeping import SweepResult

SLICE = 0.7  # seconds of each draw of the page that a sweep may take
BY_POSITION, BY_HEAD = mark("{components} × positions"), mark("{components}: layer × head")
ABOUT = mark(
    "Each cell is one exact run: one component takes its values from the other text (activation patching), and "
    "everything else is unchanged. The metric is the logit difference of the two tokens; blue favors the first, "
    "orange the second."
)
WITH_STACK = mark("The stack stays active in every run: changes are relative to the model with the stack.")
WAYS = {  # how each component's effect is found
    "exact": mark("Exact, one by one"),
    "sieve": mark("Estimate, top {n} exact"),
}
ABOUT_SIEVE = mark(
    "Attribution patching (Nanda 2023) estimates all effects from one forward and one backward pass: the gradient "
    "times the difference of the two activations. It only selects candidates, and misses heads whose softmax is "
    "saturated. The {n} largest estimates are then checked by exact runs."
)
UNITS = {"change": mark("Change in nats"), "fraction": mark("Fraction recovered")}
ABOUT_FRACTION = mark(
    "(patched − base) / (other text − base): 1 is the full difference between the texts, {difference} nats."
)
NO_FRACTION = mark(
    "There is no fraction recovered here: at this output token, the other text has no matching token, or the same "
    "logit difference. Choose another output token, or another text."
)


def show(data: InterventionsData) -> list[Print]:
    """Continue the sweep, and draw its choices and its results so far; there is an output token.

    Returns:
        the lines that print the changes of the metric that the sweep finds.
    """
    recipes = recipes_of(data)
    changes = each("result", recipes.runs, lambda result: (result.component, result.change))
    about = "nats; a change divided by it is the fraction recovered"
    lines = [Print(changes, "nats"), Print(recipes.difference, about)]
    sweep: SweepProgress | None = SWEEP.value
    if sweep is not None and sweep.of != _identity(data):
        sweep = None
    if sweep is not None:
        _advance(data, sweep)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        SITE.selectbox(
            say("Component"), sites_of(data), name=_in_words, shown=site_of(data), label_visibility="visible", width=245
        )
        WAY.selectbox(
            say("Method"),
            [*WAYS],
            name=lambda name: say(WAYS[name], n=N_TOP),
            label_visibility="visible",
            width=225,
        )
        _buttons(data, sweep)
    token, other = map(data.label, data.result.pairs[data.index])
    names = {"token": token, "other": other, "text": in_one_line(adding.other_text(data))}
    prose.small(say("Metric: logit of “{token}” − logit of “{other}”; values from “{text}”", **names))
    if data.stack.enabled:
        prose.small(say(WITH_STACK))
    if sweep is None:
        prose.small(say(ABOUT) if WAY.value == "exact" else say(ABOUT_SIEVE, n=N_TOP))
        return lines
    if sweep.rest is not None:
        n, total = len(sweep.results), sweep.n_runs
        st.progress(n / total, prose.plain(say("{n} of {total} runs", n=n, total=total)))
    if sweep.note:
        prose.warning(sweep.note)
    if sweep.results or sweep.estimates:
        _units(sweep)
        if sweep.estimates:
            sweep_figures.checked(data, sweep)
        sweep_figures.picture(data, sweep)
    return lines


def _in_words(site: tuple[ComponentKind, bool]) -> str:
    kind, by_position = site
    return say(BY_POSITION if by_position else BY_HEAD, components=say(sweep_figures.COMPONENTS[kind]))


def _units(sweep: SweepProgress) -> None:
    if sweep.difference is None:
        prose.small(say(NO_FRACTION))
        return
    UNIT.segmented(say("Unit"), [*UNITS], name=lambda name: say(UNITS[name]))
    if sweep.unit == "fraction":
        prose.small(say(ABOUT_FRACTION, difference=rounded(sweep.difference, 2)))


def _identity(data: InterventionsData) -> tuple[object, ...]:
    text = data.view.text, data.view.target, adding.other_text(data)
    return data.source, *text, site_of(data), WAY.value, data.metric, data.stack


def _buttons(data: InterventionsData, sweep: SweepProgress | None) -> None:
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


def _cancel(sweep: SweepProgress) -> None:
    sweep.rest = None


def _start(data: InterventionsData) -> None:
    """Begin a sweep; nothing is computed before the page is drawn."""
    recipes = recipes_of(data)
    of_model: tuple[Component, ...] = value_of(recipes.components)
    is_sieve = WAY.value == "sieve"

    def results() -> "Iterator[SweepResult]":
        sweep.difference = value_of(recipes.difference)
        if is_sieve:
            sweep.estimates = value_of(recipes.estimates)
        yield from value_of(recipes.runs)

    sweep = SweepProgress(
        of=_identity(data),
        site=site_of(data),
        rest=results(),
        n_runs=min(N_TOP, len(of_model)) if is_sieve else len(of_model),
    )
    SWEEP.set(sweep)


def _advance(data: InterventionsData, sweep: SweepProgress) -> None:
    """Compute some more cells, and request another draw of the page for the others."""
    end = time.monotonic() + SLICE
    try:
        with forwards.one_of_few(), devices.on(data.source.device):
            while sweep.rest is not None and time.monotonic() < end:
                result = next(sweep.rest, None)
                if result is None:
                    sweep.rest = None
                else:
                    sweep.results.append(result)
    except HeadlightError as error:
        sweep.rest = None
        sweep.note = prose.sentence(error)
    cache.measure(STORE, data.base_recipe)  # more source runs are stored in it
    if sweep.rest is not None:
        ticking.look_again(after=0.1)
