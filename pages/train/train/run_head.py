"""The header of a training: its state, its progress, the time left, and its commands."""

import math
from typing import Any

import streamlit as st

from headlight.language import localized, say, say_message
from pages.shared import owners, prose, run_commands, runs
from pages.shared.runs import Run
from pages.shared.view import run_state
from pages.shared.view.fields import Kept
from transformer_core.errors import HeadlightError, mark

FACTORS = {"× 0.1": 0.1, "× 0.3": 0.3, "× 0.5": 0.5, "× 1": 1.0, "× 2": 2.0, "× 3": 3.0}
_FACTOR = Kept("run-rate-factor", "× 1")


def show(run: Run) -> None:
    """Draw the header."""
    words, color = runs.STATES[run.state]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="hl-train-head"):
        prose.html("<div class='hl-model'>{}</div>", run.name, width="content")
        prose.badge(say(words), color)
        prose.small(_how_far(run))
        with st.container(horizontal=True, gap="small", width="content", key="hl-train-controls"):
            _controls(run)
    if run.n_steps:
        st.progress(min(1.0, run.step / run.n_steps))
    if run.state == "failed" and run.request is None:  # otherwise the diagnosis reports it
        prose.warning(prose.sentence(run.reason))
    elif run.state == "failed" and runs.saved_step(run) is None:
        prose.caption(say("Nothing was saved, so this training cannot be resumed; start a new one."))
    elif run.state == "stopped":
        stopped = say("Stopped at step {step:,}. Resume it, or save its model below.", step=run.step)
        prose.info(stopped if run.step else say("Stopped before the first step."))
    elif run.state == "queued" and run.reason:
        prose.info(prose.sentence(run.reason))
    elif run.request is None:
        prose.caption(say("Starting: reading the corpus and initializing the weights."))


def _how_far(run: Run) -> str:
    if not run.n_steps:
        return ""
    far = run.far
    if run.state == "running" and run.reason:
        return f"{far}, {say_message(run.reason)}"
    records = _records(run)
    last = next((record for record in reversed(records) if "seconds" in record), None)
    if last is None:
        return far
    far = say("{far}, loss {loss}", far=far, loss=loss_in_digits(last["loss"]))
    recent = records[-max(5, len(records) // 4) :]
    first = next((record for record in recent if "seconds" in record), last)
    if run.state != "running":
        return say("{far}, {time} of training", far=far, time=prose.duration(last["seconds"]))
    if last["step"] <= first["step"]:
        return far
    seconds_a_step = (last["seconds"] - first["seconds"]) / (last["step"] - first["step"])
    left = seconds_a_step * (run.n_steps - run.step)
    return say(
        "{far}, {rate:,.0f} tokens/s, about {time} left at the current load",
        far=far,
        rate=last["tokens_per_second"],
        time=prose.duration(left),
    )


def _records(run: Run) -> list[dict[str, Any]]:
    try:
        return runs.records(run)
    except HeadlightError:
        return []


def _controls(run: Run) -> None:
    """Draw the commands for the run in its current state, at positions that stay the same on pausing and resuming."""
    if not owners.is_mine(run.path):
        prose.small(say("Another visitor made this; on this shared server, only they can change it."))
        return
    is_paused = run.state == "paused"
    if run.state == "running" or is_paused:
        if is_paused:
            _ask(run, mark("Resume"), "resume", ":material/play_arrow:")
        else:
            _ask(run, mark("Pause"), "pause", ":material/pause:")
        _ask(
            run,
            mark("Step"),
            "step",
            ":material/skip_next:",
            mark("Run one step (pause first)"),
            disabled=not is_paused,
        )
        _ask(run, mark("Snapshot"), "snapshot", ":material/photo_camera:", mark("Save a snapshot now"))
        _rate(run)
    if run.state in ("running", "paused", "queued"):
        _ask(run, mark("Stop"), "stop", ":material/stop:", mark("Save and stop; can be resumed later"))
    elif run.state in ("stopped", "failed") and (
        run.arguments or (run.request is not None and (run.state == "stopped" or runs.saved_step(run) is not None))
    ):
        st.button(say("Resume"), key="ask-go-on", icon=":material/play_arrow:", on_click=_go_on, args=(run,))


def _ask(run: Run, label: str, command: str, icon: str, tip: str | None = None, *, disabled: bool = False) -> None:
    st.button(
        prose.plain(say(label)),
        key=f"ask-{command}",
        icon=icon,
        help=prose.plain(say(tip)) if tip else None,
        disabled=disabled,
        on_click=_tell,
        args=(run, command),
    )


def _rate(run: Run) -> None:
    with st.popover(say("Learning rate"), key="run-rate", icon=":material/speed:"):
        prose.caption(
            say("Multiplies the scheduled learning rate from the next step on. Recorded in the run’s command.")
        )
        _FACTOR.segmented(say("Factor"), [*FACTORS], label_visibility="visible")
        args = (run, "learning-rate", FACTORS[_FACTOR.value])
        if st.button(say("Apply"), key="run-rate-change", on_click=_tell, args=args):
            _FACTOR.pop()  # or it would be applied again to the changed rate, and offered to another training


def _tell(run: Run, command: str, value: float = 1.0) -> None:
    try:
        run_commands.ask(run, command, value)
    except HeadlightError as error:
        run_state.NOTE.set(say("The command did not reach the training: {error}.", error=error))


def _go_on(run: Run) -> None:
    try:
        run_commands.resume(run)
    except HeadlightError as error:
        run_state.NOTE.set(say("The training did not resume: {error}.", error=error))


def loss_in_digits(nats: float) -> str:
    """Format a loss with three significant digits: "12.3", "1.69", "0.00213"."""
    if not 1e-6 <= nats < 1e6:
        return localized(nats, ".2g")
    return f"{nats:,.{max(0, 2 - math.floor(math.log10(nats)))}f}"
