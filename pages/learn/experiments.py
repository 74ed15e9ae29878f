"""The shared part of the pages with an experiment: choose it, start it, and watch its curves grow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from headlight.experiments.experiment import (
    FEWEST_STEPS,
    MOST_STEPS,
    MOST_VARIANTS,
    TASKS,
    USUAL_STEPS,
    USUAL_VARIANTS,
    ExperimentKind,
    ExperimentRequest,
)
from headlight.language import say, say_message, say_number
from pages.learn import experiment_runs
from pages.learn.experiment_runs import Experiment
from pages.shared import code_expander, owners, prose, runs, ticking
from pages.shared.recipe import Expression
from pages.shared.run_figures import draw_curves
from pages.shared.view.fields import Kept
from transformer_core.errors import HeadlightError, mark
from transformer_core.training.config import MOST_SEED

if TYPE_CHECKING:
    from headlight.analysis.training.curves import Curve, ExperimentReading

_STEPS_OF_A_CLICK = 20
TICK = 1.0  # seconds between updates while an experiment runs
NOTE = Kept("experiment-note", "")  # the error of a click, shown at the next rerun
TASK_NAMES = {
    "reverse": mark("Reverse letters"),
    "copy": mark("Copy letters"),
    "sort": mark("Sort letters"),
    "dates": mark("Reformat dates"),
}


@dataclass(frozen=True, kw_only=True)
class Laboratory:
    """The experiment of one page: its variants, and how to draw the results."""

    kind: ExperimentKind
    variants: Mapping[str, str]  # all possible variants, with their titles
    variants_title: str
    draw: Callable[[Experiment, "ExperimentReading"], None]  # drawn beside the curves
    look_for: Callable[[ExperimentRequest], str]
    remarks: Callable[[ExperimentRequest], str]  # what a reader must know to interpret the numbers
    has_held_out_losses: bool = False

    def names(self, request: ExperimentRequest) -> dict[str, str]:
        """Return the names of an experiment's variants, in their order, in the reader's language."""
        return {variant: say(self.variants[variant]) for variant in request.variants}


def _watch(laboratory: Laboratory, experiment: Experiment) -> None:
    """Draw the current state of an experiment; while it is at work, redraw every `TICK` seconds."""
    from headlight.analysis.training.curves import read_experiment

    if experiment.is_at_work:
        ticking.look_again(after=TICK)
    with st.container():
        _head(laboratory, experiment)
    request = experiment.request
    if request is not None:
        try:
            reading = read_experiment(experiment_runs.records(experiment), request.variants)
        except HeadlightError as error:
            prose.warning(say("The measurements of this experiment cannot be read: {reason}.", reason=error))
            return
        if reading.held_out:
            _draw(laboratory, experiment, request, reading)


def _head(laboratory: Laboratory, experiment: Experiment) -> None:
    """Draw the title, the state and the progress of an experiment."""
    words, color = runs.STATES[experiment.state]
    request, is_chosen = experiment.request, experiment_runs.FIELDS[laboratory.kind].value == experiment.name
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key=f"hl-experiment-head-{laboratory.kind}"
    ):
        prose.badge(say(words), color)
        far = "" if request is None else _how_far(experiment, request, is_chosen=is_chosen)
        prose.html("<p class='hl-small hl-experiment-far'>{}</p>", far)
        if experiment.is_at_work and is_chosen and owners.is_mine(experiment.path):
            st.button(
                say("Stop"),
                key=f"{laboratory.kind}-experiment-stop",
                icon=":material/stop:",
                disabled=experiment.state == "starting",
                on_click=_stop,
                args=(experiment,),
            )
    if request is not None and experiment.state == "running":
        st.progress(experiment.step / request.steps)
    if text := _what_happens(experiment):
        prose.note(text)


def _how_far(experiment: Experiment, request: ExperimentRequest, *, is_chosen: bool) -> str:
    """Return an experiment's title and progress; one that was not chosen is marked as the latest."""
    far = mark("{task}, seed {seed}: step {step:,} of {steps:,} each")
    if not is_chosen:
        far = mark("Latest on this machine: {task}, seed {seed}, step {step:,} of {steps:,} each")
    task = say(TASK_NAMES[request.task])
    return say(far, task=task, seed=request.seed, step=experiment.step, steps=request.steps)


def _what_happens(experiment: Experiment) -> str:
    """Return the note on an experiment that draws nothing new; "" if there is none."""
    match experiment.state:
        case "starting":
            return say("Starting: loading libraries. The first points appear in a few seconds.")
        case "queued":
            n_before = int(str(experiment.reason)) if str(experiment.reason).isdecimal() else 0
            if not n_before:
                return say("Another experiment is running on this machine; this one starts when it has finished.")
            return say_number(
                n_before,
                "Another experiment is running on this machine, and one more is queued before this one.",
                "Another experiment is running on this machine, and {n} more are queued before this one.",
            )
        case "running" if not experiment.step:
            return say("Generating the task and building the models. The first points appear in a few seconds.")
        case "stopped":
            if experiment.step:
                return say("Stopped early; results so far are below.")
            return say("Stopped before it started.")
        case "failed":
            return say("This experiment failed: {reason}.", reason=say_message(experiment.reason).removesuffix("."))
    return ""


def _stop(experiment: Experiment) -> None:
    try:
        experiment_runs.stop(experiment)
    except HeadlightError as error:
        NOTE.set(say("The command did not reach the experiment: {reason}.", reason=error))


def _draw(
    laboratory: Laboratory, experiment: Experiment, request: ExperimentRequest, reading: "ExperimentReading"
) -> None:
    with st.container(key=f"hl-experiment-stage-{laboratory.kind}"):
        left, right = st.columns(2, gap="medium")
    with left:
        _curves(laboratory, experiment, request, reading)
    with right:
        laboratory.draw(experiment, reading)
    for variant, reason in reading.ended.items():
        prose.note(say("{variant} stopped: {reason}.", variant=say(laboratory.variants[variant]), reason=reason))
    prose.look_for(laboratory.look_for(request))
    prose.small(laboratory.remarks(request))
    text = say("Run in a shell at the project root; gives the same numbers.")
    code_expander.command(say("Show the command"), lambda: request.command, text)


def _curves(
    laboratory: Laboratory, experiment: Experiment, request: ExperimentRequest, reading: "ExperimentReading"
) -> None:
    from headlight.figures.curves.experiment import experiment_curves

    figure = experiment_curves(
        laboratory.names(request),
        reading.smoothed_losses(),
        held_out_losses=reading.held_out["loss"] if laboratory.has_held_out_losses else None,
        shares=reading.held_out["exact_match"],
        n_steps=request.steps,
    )
    recipe, name = experiment_runs.reading_recipe(experiment), f"experiment-{laboratory.kind}"
    curves: dict[str, tuple[Curve, Expression]] = {}
    for kind, own, of in (
        ("loss", reading.losses, recipe.losses),
        *((f"held_out_{kind}", own, recipe.held_out[kind]) for kind, own in reading.held_out.items()),
    ):
        curves |= {f"{kind} {variant}": (curve, of[variant]) for variant, curve in own.items()}
    drawn, as_code = {of: curve for of, (curve, _) in curves.items()}, {of: code for of, (_, code) in curves.items()}
    draw_curves(
        figure,
        drawn,
        as_code,
        name=name,
        view=partial(experiment_runs.in_words, experiment),
        model=None,
        key=f"{laboratory.kind}-experiment-curves",
        about="",  # of small models that are trained here
    )


def show(laboratory: Laboratory) -> None:
    """Draw the controls, and the experiment in the address or else the newest."""
    runs.launcher().warm_up()
    with st.container():  # one container each: the figures stay in place when content appears or disappears
        request = _choose(laboratory)
        _start(laboratory, request)
    wanted, experiment = experiment_runs.FIELDS[laboratory.kind].value, experiment_runs.shown(laboratory.kind)
    with st.container():
        if note := NOTE.pop():
            prose.info(note)
        if experiment is None and wanted:
            prose.note(say("The experiment “{name}” no longer exists; start your own.", name=wanted))
    if experiment is not None:
        _watch(laboratory, experiment)


def _choose(laboratory: Laboratory) -> ExperimentRequest | None:
    """Draw the choices; return the request, or None if it is invalid."""
    kind = laboratory.kind
    usual: dict[str, Any] = {
        "task": TASKS[kind][0],
        "variants": [*USUAL_VARIANTS[kind]],
        "seed": 0,
        "steps": USUAL_STEPS[kind],
    }
    keys = {name: Kept(f"{kind}-experiment-{name}", value) for name, value in usual.items()}
    for choice in keys.values():
        choice.set(choice.value)
    kept: dict[str, Any] = {name: {"key": choice.key, "persist_state": "session"} for name, choice in keys.items()}
    with st.container(key=f"hl-experiment-choices-{kind}", horizontal=True, gap="medium", vertical_alignment="top"):
        task = st.segmented_control(
            say("Task"),
            TASKS[kind],
            format_func=lambda name: say(TASK_NAMES[name]),
            required=True,
            width="content",
            **kept["task"],
        )
        steps = st.number_input(
            say("Steps per run"), FEWEST_STEPS, MOST_STEPS, step=_STEPS_OF_A_CLICK, width=130, **kept["steps"]
        )
        seed = st.number_input(say("Seed"), 0, MOST_SEED, width=130, **kept["seed"])
    variants = st.pills(
        prose.plain(say(laboratory.variants_title)),
        [*laboratory.variants],
        selection_mode="multi",
        format_func=lambda variant: prose.plain(say(laboratory.variants[variant])),
        **kept["variants"],
    )
    in_order = tuple(variant for variant in laboratory.variants if variant in variants)
    try:
        return ExperimentRequest(kind=kind, task=cast(str, task), variants=in_order, seed=int(seed), steps=int(steps))
    except HeadlightError:
        prose.note(
            say("Choose at most {most}: they train in turn, and more would take too long.", most=MOST_VARIANTS)
            if in_order
            else say("Choose at least one to train.")
        )
        return None


def _start(laboratory: Laboratory, request: ExperimentRequest | None) -> None:
    own = experiment_runs.find(experiment_runs.FIELDS[laboratory.kind].value)
    is_own_at_work = own is not None and own.is_at_work
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key=f"hl-experiment-start-{laboratory.kind}"
    ):
        st.button(
            say("Train now"),
            key=f"{laboratory.kind}-experiment-start",
            type="primary",
            icon=":material/play_arrow:",
            disabled=request is None or is_own_at_work,
            on_click=_begin,
            args=(request,),
        )
        if request is not None:
            seconds = 5 * max(1, round(experiment_runs.seconds_for(request) / 5))
            promise = say_number(
                len(request.variants),
                "Trains one small encoder-decoder for {steps} steps; about {seconds} seconds on this machine. Its "
                "curve appears below.",
                "Trains {n} small encoder-decoders in turn, {steps} steps each; about {seconds} seconds on this "
                "machine. Their curves appear below.",
                steps=request.steps,
                seconds=seconds,
            )
            prose.html("<p class='hl-small hl-experiment-promise'>{}</p>", promise)


def _begin(request: ExperimentRequest) -> None:
    try:
        experiment_runs.start(request)
    except HeadlightError as error:
        NOTE.set(say("The experiment did not start: {reason}.", reason=error))
