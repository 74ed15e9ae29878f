"""A training to watch: how far it is, what it says, where its heads look, and what to do with it."""

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.shared import components, overviews, prose, run_readings, run_state, runs
from pages.shared.runs import Run
from pages.shared.style import theme
from pages.train import doctor, keep
from pages.train.look import Sample, look_at
from pages.train.rest import rested
from pages.train.words import MEASURES, UNIT, UNITS, duration
from transformer_core.errors import HeadlightError
from transformer_core.language import language, mark, say

if TYPE_CHECKING:
    from transformer_core.analysis import Reading
    from transformer_core.analysis.head_history import Appearance, HeadHistory
    from transformer_core.figures import Figure

_AT_WORK = "train-at-work"  # session key: the run that is looked at each second
TICK = 1.0  # seconds between two looks at a run that is trained
NARROWEST = (350, 480)  # px: the two columns, where the window is as narrow as two have room in
FACTORS = {"× 0.1": 0.1, "× 0.3": 0.3, "× 0.5": 0.5, "× 1": 1.0, "× 2": 2.0, "× 3": 3.0}
WRITES = {
    "encoder_decoder": mark("What it writes after step {step:,}"),
    "decoder_only": mark("What it goes on after step {step:,}"),
    "encoder_only": mark("What it fills in after step {step:,}"),
}
LOOK_FOR = mark(
    "At first every head spreads its attention evenly: gray pictures. Then some sharpen, often all at once, and the "
    "loss falls with them. Attention shows where a head looks, not yet what it is good for."
)


def page(run: Run) -> None:
    """Draw one training; while a process works on it, each second anew."""
    st.session_state[_AT_WORK] = run.name if run.is_at_work else ""
    st.fragment(_live, run_every=TICK if run.is_at_work else None)(run.name)


def _live(name: str) -> None:
    run = runs.find(name)
    if run is None:
        st.rerun()
    _head(run)
    if run.request is None or run.state == "queued":
        if not run.is_at_work:
            keep.put_away(run)
        _follow(run)
        return
    try:
        run_state.fit(runs.configurations(run)[0])
    except HeadlightError as error:
        st.warning(say("This training cannot be read: {error}.", error=error))
        keep.put_away(run)
        return
    with st.container(key="hl-train-stage"):
        left, right = st.columns([5, 7], gap="medium")
    with left:
        _curves(run)
    with right:
        samples = _attention(run)
        _heads_over_time(run)
    with left:
        doctor.show(run, samples)
        if run.state == "finished":
            keep.offer(run)
        if not run.is_at_work:
            keep.put_away(run)
    run_state.publish()
    _follow(run)


def _follow(run: Run) -> None:
    """Begin to look each second, or end it, when the run's process begins or ends."""
    was_at_work = st.session_state.get(_AT_WORK) == run.name
    st.session_state[_AT_WORK] = run.name if run.is_at_work else ""
    if was_at_work != run.is_at_work:
        st.rerun()


def _head(run: Run) -> None:
    """Say how the run stands, how far it is and how long it will take, and offer what can be asked of it."""
    words, color = runs.STATES[run.state]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="hl-train-head"):
        st.html(f"<div class='hl-model'>{html.escape(run.name)}</div>", width="content")
        st.badge(say(words), color=color)  # type: ignore[arg-type]  # one of Streamlit's colors
        st.html(f"<p class='hl-small'>{html.escape(_how_far(run))}</p>", width="stretch")
        with st.container(horizontal=True, gap="small", width="content", key="hl-train-controls"):
            _controls(run)
    if run.n_steps:
        st.progress(min(1.0, run.step / run.n_steps))
    if run.state in ("failed", "stopped", "queued") and run.reason:
        said = f"{run.reason[:1].upper()}{run.reason[1:]}."
        (st.warning if run.state == "failed" else st.info)(said.replace("..", "."))
    elif run.request is None:
        st.caption(say("The process begins, reads the corpus and makes the first weights."))


def _how_far(run: Run) -> str:
    if not run.n_steps:
        return ""
    far = say("step {step:,} of {n:,}", step=run.step, n=run.n_steps)
    timed = [record for record in _records(run) if "seconds" in record]
    if run.state == "running" and run.reason:
        return f"{far}, {run.reason}"
    if not timed:
        return far
    last = timed[-1]
    far = say("{far}, loss {loss:.2f}", far=far, loss=last["loss"])
    if len(timed) < 2 or run.state != "running":
        return say("{far}, {time} of training", far=far, time=duration(last["seconds"]))
    first = timed[max(0, len(timed) - max(5, len(timed) // 4))]
    if last["step"] <= first["step"]:
        return far
    seconds_a_step = (last["seconds"] - first["seconds"]) / (last["step"] - first["step"])
    left = seconds_a_step * (run.n_steps - run.step)
    return say(
        "{far}, {rate:,.0f} tokens/s, about {time} left", far=far, rate=last["tokens_per_second"], time=duration(left)
    )


def _controls(run: Run) -> None:
    """Offer what can be asked of the run as it stands."""
    if run.state in ("running", "queued"):
        if run.state == "running":
            _ask(run, mark("Pause"), "pause", ":material/pause:")
            _ask(run, mark("Snapshot"), "snapshot", ":material/photo_camera:", mark("Add this moment to the film"))
            _rate(run)
        _ask(run, mark("Stop"), "stop", ":material/stop:", mark("Save and end; it can go on later"))
    elif run.state == "paused":
        _ask(run, mark("Resume"), "resume", ":material/play_arrow:")
        _ask(run, mark("Step"), "step", ":material/skip_next:", mark("Do one step"))
        _ask(run, mark("Snapshot"), "snapshot", ":material/photo_camera:", mark("Add this moment to the film"))
        _rate(run)
        _ask(run, mark("Stop"), "stop", ":material/stop:", mark("Save and end; it can go on later"))
    elif run.state in ("stopped", "failed") and run.request is not None:
        st.button(say("Go on"), key="run-go-on", icon=":material/play_arrow:", on_click=_go_on, args=(run,))


def _ask(run: Run, label: str, command: str, icon: str, tip: str | None = None) -> None:
    tip = None if tip is None else say(tip)
    st.button(say(label), key=f"run-{command}", icon=icon, help=tip, on_click=_tell, args=(run, command))


def _rate(run: Run) -> None:
    with st.popover(say("Learning rate"), key="run-rate", icon=":material/speed:"):
        st.caption(say("Multiply what the schedule says, from the next step on. The command of the run remembers it."))
        factor = st.segmented_control(say("Times"), [*FACTORS], default="× 1", key="run-rate-factor", required=True)
        st.button(say("Change it"), key="run-rate-change", on_click=_tell, args=(run, "learning-rate", FACTORS[factor]))


def _tell(run: Run, command: str, value: float = 1.0) -> None:
    try:
        runs.ask(run, command, value)
    except HeadlightError as error:
        st.session_state[run_state.NOTE] = say("That did not reach the training: {error}.", error=error)


def _go_on(run: Run) -> None:
    try:
        runs.resume(run)
    except HeadlightError as error:
        st.session_state[run_state.NOTE] = say("The training did not go on: {error}.", error=error)


def _records(run: Run) -> list[dict[str, Any]]:
    try:
        return runs.records(run)
    except HeadlightError:
        return []


def _curves(run: Run) -> None:
    """Draw loss, accuracy, learning rate and gradient."""
    from transformer_core.analysis.curves import curves_of
    from transformer_core.figures.training import training_curves

    def drawn() -> tuple["Figure", str]:
        curves = curves_of(runs.records(run))
        figure = training_curves(
            {name: curve for name, curve in curves.items() if name not in ("seconds", "tokens_per_second")},
            references=doctor.references(run),
            n_steps=run.n_steps,
            theme=theme(),
            width=NARROWEST[0],
        )
        return figure, _csv(curves)

    try:
        figure, csv = rested("train-curves", _seen_of(run), drawn)
    except HeadlightError as error:
        st.warning(say("The measurements cannot be read: {error}.", error=error))
        return
    smoothing = runs.configurations(run)[1].label_smoothing
    smoothed = (
        say("; training smooths its targets by {smoothing:g}, so its loss is higher", smoothing=smoothing)
        if smoothing
        else ""
    )
    prose.subheading(say("Learning"), say("hover for the numbers{smoothed}", smoothed=smoothed))
    components.live_figure(
        figure, name=f"{run.name}-curves", csv=csv, key=run_state.CURVES, height=figure.layout.height
    )


def _csv(curves: Any) -> str:
    """Return all curves as a table, a line a step."""
    import pandas as pd

    table = pd.DataFrame({name: pd.Series(curve.values, index=curve.steps) for name, curve in curves.items()})
    return str(table.rename_axis("step").to_csv())


def _attention(run: Run) -> list[Sample]:
    """Draw all heads on a text by the newest weights; return what the model says to it, and to some others."""
    try:
        examples = run_readings.examples(str(run.path))
    except HeadlightError:
        st.caption(say("The first weights come in a moment."))
        return []
    if not st.session_state[run_state.TEXT] and examples:
        st.session_state[run_state.TEXT] = examples[0]
    st.text_input(
        say("A text of yours"),
        key=run_state.TEXT,
        on_change=run_state.on_text,
        placeholder=say("Type a text, then press Enter"),
        autocomplete="off",
        persist_state="session",
    )
    text = run_state.current().text
    try:
        look = rested("train-look", (*_seen_of(run), text), lambda: look_at(run, text, examples))
    except HeadlightError as error:
        st.caption(say("The model cannot be looked at yet: {error}.", error=error))
        return []
    if look.problem:
        st.warning(say("This text cannot be read: {error}.", error=look.problem))
    _says(run, look.step, look.samples)
    if look.reading is not None:
        _overview(run, look.step, text, look.reading)
    return look.samples


def _says(run: Run, step: int, samples: Sequence[Sample]) -> None:
    rows = "".join(
        f"<tr><td><bdi>{html.escape(given)}</bdi></td><td>→</td><td><bdi>{html.escape(output) or '∅'}</bdi></td></tr>"
        for given, output, _ in samples
    )
    label = say(WRITES[run.architecture], step=step)
    st.html(f"<div class='hl-label'>{label}</div><table class='hl-samples'>{rows}</table>")


def _overview(run: Run, step: int, text: str, reading: "Reading") -> None:
    groups, levels = overviews.of(reading)
    view = run_state.current()
    with st.container(key="hl-train-overview"):
        components.head_overview(
            groups=groups,
            levels=levels,
            chosen={"attention": view.attention, "layer": view.layer, "head": view.head},
            version=f"{run.name} {step} {text}",
            key=run_state.OVERVIEW,
            on_chosen=run_state.on_head,
        )
    st.html(f"<p class='hl-small'>{html.escape(say(LOOK_FOR))}</p>")


def _heads_over_time(run: Run) -> None:
    """Draw one measure of every head over the steps, with the moments at which heads took up habits."""
    from transformer_core.analysis.head_history import HABITS, LEAST_SHARE
    from transformer_core.figures.heads_over_time import heads_over_time

    try:
        history, found = rested("train-history", _seen_of(run), lambda: _history(run))
    except HeadlightError as error:
        st.caption(say("What was measured of the heads cannot be read: {error}.", error=error))
        return
    measures = [measure for measure in MEASURES if history.heads and history.by_attention(measure)]
    if not measures:
        return
    prose.subheading(say("Heads over time"), say("one line a head"))
    measure = st.segmented_control(
        say("Measure"),
        measures,
        default=measures[0],
        required=True,
        format_func=lambda name: say(MEASURES[name]),
        key="run-measure",
        label_visibility="collapsed",
    )
    view = run_state.current()
    chosen = (view.attention, view.layer, view.head) if view.attention else None

    def drawn() -> tuple["Figure", str]:
        figure = heads_over_time(
            history.steps,
            history.by_attention(measure),
            chances=history.by_attention(measure, "chance") if measure in HABITS else None,
            unit=UNITS.get(measure, UNIT),
            threshold=LEAST_SHARE if measure in HABITS else None,
            chosen=chosen,
            appearances=[
                ((a.name.attention, a.name.layer, a.name.head), a.step, a.in_words())
                for a in found
                if a.measure == measure
            ],
            n_steps=run.n_steps,
            theme=theme(),
            width=NARROWEST[1],
        )
        return figure, _heads_csv(history, measure)

    figure, csv = rested("train-heads", (*_seen_of(run), measure, chosen), drawn)
    components.live_figure(
        figure,
        name=f"{run.name}-heads-{measure}",
        csv=csv,
        key=run_state.HEADS_FIGURE,
        height=figure.layout.height,
    )
    _appeared([appearance.in_words() for appearance in found])


def _history(run: Run) -> "tuple[HeadHistory, list[Appearance]]":
    """Return what was measured of the heads, and which of them took up a habit."""
    from transformer_core.analysis.head_history import HeadHistory, appearances

    history = HeadHistory.from_records(runs.head_records(run))
    return history, appearances(history)


def _appeared(sentences: Sequence[str]) -> None:
    if sentences:
        items = "".join(f"<div>{html.escape(sentence)}</div>" for sentence in sentences)
        st.html(f"<div class='hl-findings hl-appeared'>{items}</div>")


def _heads_csv(history: "HeadHistory", measure: str) -> str:
    """Return one measure of all heads as a table, a line a moment."""
    import pandas as pd

    columns = {
        f"{attention} layer {layer} head {head}": heads[layer, head]
        for attention, heads in history.by_attention(measure).items()
        for layer in range(heads.shape[0])
        for head in range(heads.shape[1])
    }
    return str(pd.DataFrame(columns, index=pd.Index(history.steps, name="step")).to_csv())


def _seen_of(run: Run) -> tuple[object, ...]:
    """Return what tells two views of a training apart, but for the steps that go by while it runs."""
    step = run.step if run.state != "running" else None
    return run_readings.version(run), run.state, step, st.context.theme.type, language()
