"""What the pages with an experiment share: what is tried is chosen and started, then watched while its curves grow."""

from typing import Any, cast

import streamlit as st

from headlight.experiments.experiment import (
    FEWEST_STEPS,
    MOST_STEPS,
    MOST_VARIANTS,
    TASKS,
    USUAL_STEPS,
    USUAL_VARIANTS,
    ExperimentRequest,
)
from headlight.language import say, say_number
from pages.learn import experiment_runs, experiment_watch
from pages.learn.experiment_watch import NOTE, TASK_NAMES, Laboratory
from pages.shared import prose, runs
from pages.shared.view.fields import Kept
from transformer_core.errors import HeadlightError
from transformer_core.training.config import MOST_SEED

_STEPS_OF_A_CLICK = 20


def show(laboratory: Laboratory) -> None:
    """Draw what is to be tried, and the experiment of the address, or the last one that is here."""
    runs.launcher().warm_up()
    with st.container():  # each of these keeps to its own place: whatever comes and goes there, figures stay
        request = _choose(laboratory)
        _start(laboratory, request)
    wanted, experiment = experiment_runs.FIELDS[laboratory.kind].value, experiment_runs.shown(laboratory.kind)
    with st.container():
        if note := NOTE.pop():
            prose.info(note)
        if experiment is None and wanted:
            text = say("The experiment “{name}” no longer exists; start your own.", name=wanted)
            prose.note(text)
    if experiment is not None:
        experiment_watch.watch(laboratory, experiment)


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
    kept: dict[str, Any] = {"persist_state": "session"}
    with st.container(key=f"hl-experiment-choices-{kind}", horizontal=True, gap="medium", vertical_alignment="top"):
        task = st.segmented_control(
            say("Task"),
            TASKS[kind],
            format_func=lambda name: say(TASK_NAMES[name]),
            required=True,
            key=keys["task"].key,
            width="content",
            **kept,
        )
        steps = st.number_input(
            say("Steps per run"),
            FEWEST_STEPS,
            MOST_STEPS,
            step=_STEPS_OF_A_CLICK,
            key=keys["steps"].key,
            width=130,
            **kept,
        )
        seed = st.number_input(say("Seed"), 0, MOST_SEED, key=keys["seed"].key, width=130, **kept)
    variants = st.pills(
        prose.plain(say(laboratory.variants_title)),
        [*laboratory.variants],
        selection_mode="multi",
        format_func=lambda variant: prose.plain(say(laboratory.variants[variant])),
        key=keys["variants"].key,
        **kept,
    )
    in_order = tuple(variant for variant in laboratory.variants if variant in variants)
    try:
        return ExperimentRequest(kind=kind, task=cast(str, task), variants=in_order, seed=int(seed), steps=int(steps))
    except HeadlightError:
        text = say("Choose at most {most}: they train in turn, and more would take too long.", most=MOST_VARIANTS)
        if not in_order:
            text = say("Choose at least one to train.")
        prose.note(text)
        return None


def _start(laboratory: Laboratory, request: ExperimentRequest | None) -> None:
    """Draw the button, and say what it will do and how long that takes."""
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
