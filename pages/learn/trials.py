"""What the pages with a trial share: what is tried is chosen and started, then watched while its curves grow."""

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from pages.explore.heads_scene import theme
from pages.shared import components, runs, trials
from pages.shared.trials import Trial
from transformer_core.errors import HeadlightError
from transformer_core.language import mark, say, say_number
from transformer_core.training.trial import (
    FEWEST_STEPS,
    MOST_ARMS,
    MOST_SEED,
    MOST_STEPS,
    TASKS,
    USUAL_ARMS,
    USUAL_STEPS,
    TrialKind,
    TrialRequest,
)

if TYPE_CHECKING:
    from transformer_core.analysis.curves import Curve
    from transformer_core.analysis.trial_reading import TrialReading

TICK = 1.0  # seconds between two looks at a trial that is at work
TASK_NAMES = {
    "reverse": mark("Reverse letters"),
    "copy": mark("Copy letters"),
    "sort": mark("Sort letters"),
    "dates": mark("Write dates anew"),
}
STATES = {  # in words, and the color of the badge
    "starting": (mark("starting"), "gray"),
    "queued": (mark("waiting"), "gray"),
    "running": (mark("training"), "primary"),
    "stopped": (mark("stopped"), "orange"),
    "finished": (mark("finished"), "green"),
    "failed": (mark("failed"), "red"),
}
_NOTE = "trial-note"  # session key: what went wrong at a click, to be said at the next run
_STEPS_OF_A_CLICK = 20


@dataclass(frozen=True, kw_only=True)
class Laboratory:
    """What one page tries."""

    kind: TrialKind
    arms: Mapping[str, str]  # all that may be tried, as they are called
    arms_title: str
    draw: Callable[["Trial", "TrialReading"], None]  # what stands beside the curves
    look_for: Callable[[TrialRequest], str]
    remarks: Callable[[TrialRequest], str]  # what must be known to read the numbers right
    has_held_out_losses: bool = False

    def names(self, request: TrialRequest) -> dict[str, str]:
        """Return the names of a trial's arms, in their order, in the reader's language."""
        return {arm: say(self.arms[arm]) for arm in request.arms}


def show(laboratory: Laboratory) -> None:
    """Draw what is to be tried, and the trial of the address, or the last one that is here."""
    runs.launcher().warm_up()
    with st.container():  # each of these keeps to a place of its own: whatever comes and goes there, figures stay
        request = _choose(laboratory)
        _start(laboratory, request)
    wanted, trial = trials.FIELDS[laboratory.kind].value, trials.shown(laboratory.kind)
    with st.container():
        if note := st.session_state.pop(_NOTE, ""):
            st.info(note)
        if trial is None and wanted:
            said = say("There is no trial “{name}” here any more; start one of your own.", name=wanted)
            st.html(f"<p class='hl-note'>{html.escape(said)}</p>")
    if trial is not None:
        st.session_state[_at_work_key(laboratory)] = trial.is_at_work
        st.fragment(_live, run_every=TICK if trial.is_at_work else None)(laboratory, trial.name)


def _choose(laboratory: Laboratory) -> TrialRequest | None:
    """Draw the choices; return what they ask for, None where that makes no sense."""
    kind = laboratory.kind
    usual: dict[str, Any] = {
        "task": TASKS[kind][0],
        "arms": [*USUAL_ARMS[kind]],
        "seed": 0,
        "steps": USUAL_STEPS[kind],
    }
    keys = {name: f"{kind}-trial-{name}" for name in usual}
    for name, value in usual.items():
        st.session_state.setdefault(keys[name], value)
    kept: dict[str, Any] = {"persist_state": "session"}
    with st.container(key=f"hl-trial-choices-{kind}", horizontal=True, gap="medium", vertical_alignment="bottom"):
        task = st.segmented_control(
            say("Task"),
            TASKS[kind],
            format_func=lambda name: say(TASK_NAMES[name]),
            required=True,
            key=keys["task"],
            width="content",
            **kept,
        )
        steps = st.number_input(
            say("Steps of each"),
            FEWEST_STEPS,
            MOST_STEPS,
            step=_STEPS_OF_A_CLICK,
            key=keys["steps"],
            width=130,
            **kept,
        )
        seed = st.number_input(say("Seed"), 0, MOST_SEED, key=keys["seed"], width=130, **kept)
    arms = st.pills(
        say(laboratory.arms_title),
        [*laboratory.arms],
        selection_mode="multi",
        format_func=lambda arm: say(laboratory.arms[arm]),
        key=keys["arms"],
        **kept,
    )
    in_order = tuple(arm for arm in laboratory.arms if arm in arms)
    try:
        return TrialRequest(kind=kind, task=cast(str, task), arms=in_order, seed=int(seed), steps=int(steps))
    except HeadlightError:
        said = say("Choose {most} at most: they take turns, and more would take too long.", most=MOST_ARMS)
        if not in_order:
            said = say("Choose what to train, one at least.")
        st.html(f"<p class='hl-note'>{html.escape(said)}</p>")
        return None


def _start(laboratory: Laboratory, request: TrialRequest | None) -> None:
    """Draw the button, and say what it will do and how long that takes."""
    own = trials.find(trials.FIELDS[laboratory.kind].value)
    is_own_at_work = own is not None and own.is_at_work
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key=f"hl-trial-start-{laboratory.kind}"
    ):
        st.button(
            say("Train them now"),
            key=f"{laboratory.kind}-trial-start",
            type="primary",
            icon=":material/play_arrow:",
            disabled=request is None or is_own_at_work,
            on_click=_begin,
            args=(request,),
        )
        if request is not None:
            seconds = 5 * max(1, round(trials.seconds_for(request) / 5))
            promise = say_number(
                len(request.arms),
                "One small encoder-decoder is trained for {steps} steps; on this machine that takes about {seconds} "
                "seconds. Its curve grows below meanwhile.",
                "{n} small encoder-decoders take turns, {steps} steps each; on this machine that takes about {seconds} "
                "seconds. Their curves grow below meanwhile.",
                steps=request.steps,
                seconds=seconds,
            )
            st.html(f"<p class='hl-small hl-trial-promise'>{html.escape(promise)}</p>", width="stretch")


def _begin(request: TrialRequest) -> None:
    try:
        trials.start(request)
    except HeadlightError as error:
        st.session_state[_NOTE] = say("The trial did not begin: {reason}.", reason=error)


def _live(laboratory: Laboratory, name: str) -> None:
    """Draw a trial; while it is at work, each second anew."""
    from transformer_core.analysis.trial_reading import read_trial

    trial = trials.find(name)
    if trial is None:  # deleted meanwhile
        st.rerun()
    with st.container():
        _head(laboratory, trial)
    request = trial.request
    if request is not None:
        try:
            reading = read_trial(trials.records(trial), request.arms)
        except HeadlightError as error:
            st.warning(say("The measurements of this trial cannot be read: {reason}.", reason=error))
            return
        if reading.held_out:
            _draw(laboratory, trial, request, reading)
    if st.session_state.get(_at_work_key(laboratory)) and not trial.is_at_work:
        st.session_state[_at_work_key(laboratory)] = False
        st.rerun()  # to look no more


def _head(laboratory: Laboratory, trial: Trial) -> None:
    """Say which trial it is, how it stands and how far it is."""
    words, color = STATES[trial.state]
    request, is_chosen = trial.request, trials.FIELDS[laboratory.kind].value == trial.name
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key=f"hl-trial-head-{laboratory.kind}"
    ):
        st.badge(say(words), color=color)  # type: ignore[arg-type]  # one of Streamlit's colors
        far = "" if request is None else _how_far(trial, request, is_chosen=is_chosen)
        st.html(f"<p class='hl-small hl-trial-far'>{html.escape(far)}</p>", width="stretch")
        if trial.is_at_work and is_chosen:
            st.button(
                say("Stop"),
                key=f"{laboratory.kind}-trial-stop",
                icon=":material/stop:",
                disabled=trial.state == "starting",
                on_click=_stop,
                args=(trial,),
            )
    if request is not None and trial.state == "running":
        st.progress(trial.step / request.steps)
    if said := _what_happens(trial):
        st.html(f"<p class='hl-note'>{html.escape(said)}</p>")


def _how_far(trial: Trial, request: TrialRequest, *, is_chosen: bool) -> str:
    """Return what a trial is of, and how far it is; of one that nobody chose, that it is the last one."""
    far = mark("{task}, seed {seed}: step {step:,} of {steps:,} of each")
    if not is_chosen:
        far = mark("The last one on this machine: {task}, seed {seed}, step {step:,} of {steps:,} of each")
    return say(
        far,
        task=say(TASK_NAMES[request.task]),
        seed=request.seed,
        step=trial.step,
        steps=request.steps,
    )


def _what_happens(trial: Trial) -> str:
    """Return what a person should know of a trial that draws nothing new; "" where there is nothing to say."""
    match trial.state:
        case "starting":
            return say("Its process begins: it loads what training takes. The first points come in a few seconds.")
        case "queued":
            n_before = int(trial.reason) if trial.reason.isdecimal() else 0
            if not n_before:
                return say("Another trial is at work on this machine; this one begins when that has ended.")
            return say_number(
                n_before,
                "Another trial is at work on this machine, and one more waits before this one.",
                "Another trial is at work on this machine, and {n} more wait before this one.",
            )
        case "running" if not trial.step:
            return say("It reads the task and makes the models. The first points come in a few seconds.")
        case "stopped":
            return (
                say("It was stopped on the way; what it had learned by then is below.")
                if trial.step
                else say("It was stopped before it began.")
            )
        case "failed":
            return say("This trial could not go on: {reason}.", reason=trial.reason.removesuffix("."))
    return ""


def _stop(trial: Trial) -> None:
    try:
        trials.stop(trial)
    except HeadlightError as error:
        st.session_state[_NOTE] = say("That did not reach the trial: {reason}.", reason=error)


def _draw(laboratory: Laboratory, trial: Trial, request: TrialRequest, reading: "TrialReading") -> None:
    """Draw what was measured so far."""
    with st.container(key=f"hl-trial-stage-{laboratory.kind}"):
        left, right = st.columns(2, gap="medium")
    with left:
        _curves(laboratory, request, reading)
    with right:
        laboratory.draw(trial, reading)
    for arm, reason in reading.ended.items():
        ended = say("{arm} could go no further: {reason}.", arm=say(laboratory.arms[arm]), reason=reason)
        st.html(f"<p class='hl-note'>{html.escape(ended)}</p>")
    look = html.escape(laboratory.look_for(request))
    st.html(f"<p class='hl-look'><b>{html.escape(say('What to look for:'))}</b> {look}</p>")
    st.html(f"<p class='hl-small'>{html.escape(laboratory.remarks(request))}</p>")
    with st.expander(say("Show the command"), icon=":material/terminal:"):
        said = say("In a shell at the project’s root; it gives the same numbers.")
        st.html(f"<p class='hl-small'>{html.escape(said)}</p>")
        st.code(request.command, language="bash")


def _curves(laboratory: Laboratory, request: TrialRequest, reading: "TrialReading") -> None:
    """Draw losses and shares over the steps."""
    from transformer_core.figures.trial_curves import trial_curves

    figure = trial_curves(
        laboratory.names(request),
        reading.smoothed_losses(),
        held_out_losses=reading.held_out["loss"] if laboratory.has_held_out_losses else None,
        shares=reading.held_out["exact_match"],
        n_steps=request.steps,
        theme=theme(),
    )
    measured = {f"held_out_{name}": curves for name, curves in reading.held_out.items()}
    components.live_figure(
        figure,
        name=f"trial-{laboratory.kind}",
        csv=_csv({"loss": reading.losses, **measured}),
        key=f"{laboratory.kind}-trial-curves",
        height=figure.layout.height,
    )


def _csv(curves: "Mapping[str, Mapping[str, Curve]]") -> str:
    """Return all curves as a table, a line a step and a column for each measure of each arm."""
    import pandas as pd

    columns = {
        f"{name} {arm}": pd.Series(curve.values, index=curve.steps)
        for name, of_arms in curves.items()
        for arm, curve in of_arms.items()
    }
    return str(pd.DataFrame(columns).rename_axis("step").to_csv())


def _at_work_key(laboratory: Laboratory) -> str:
    """Return the session key that says whether the shown trial was at work when it was last drawn."""
    return f"{laboratory.kind}-trial-at-work"
