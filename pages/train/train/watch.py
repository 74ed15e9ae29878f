"""The view of a training: its progress, its output, the attention of its heads, and its commands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from headlight.language import language, say
from pages.components.overview import Pictures, head_overview
from pages.explore import overviews
from pages.shared import presenter, prose, readings, run_readings, runs
from pages.shared.glossary.links import definitions
from pages.shared.lines import in_a_line, output_in_a_line
from pages.shared.recipe import call
from pages.shared.run_figures import draw_curves, records_of, weights_folder
from pages.shared.runs import Run
from pages.shared.ticking import throttled
from pages.shared.view import run_state
from pages.shared.view.fields import Kept
from pages.train import heads_over_time
from pages.train.train import doctor, keep, run_head
from transformer_core.errors import NO_MESSAGE, CheckpointError, HeadlightError, Message, mark

if TYPE_CHECKING:
    from headlight.analysis.trace.model_run import ModelRun
    from headlight.analysis.training.curves import Curve
    from headlight.figures import Figure

_TITLE = Kept("train-title")  # state of the run in the list, which is not redrawn each second
TICK = 1.0  # seconds between two redraws of an active run
NARROWEST = (350, 480)  # px: widths of the two columns in the narrowest window that has two
RESTING = ("paused", "stopped", "finished", "failed")  # states in which no process trains the model
N_SAMPLES = 4  # texts that the newest weights read
Sample = tuple[str, str]
"""A text, and the model's output for it."""

OUTPUTS = {  # the newest weights' outputs for some texts, and their step if it differs from the header's
    "encoder_decoder": (mark("Output"), mark("Output at step {step:,}")),
    "decoder_only": (
        mark("Continuations, sampled at temperature 0.8"),
        mark("Continuations at step {step:,}, sampled at temperature 0.8"),
    ),
    "encoder_only": (mark("Filled masks"), mark("Filled masks at step {step:,}")),
}
LOOK_FOR = mark(
    "At first every head’s attention is nearly uniform. Then some heads sharpen, often suddenly, and the loss falls "
    "with them. Attention shows what a head attends to, not what it contributes to the output."
)


def page(run: Run) -> None:
    """Draw one training, and redraw it each second while a process works on it."""
    _TITLE.set(run.title)
    st.fragment(_live, run_every=TICK if run.is_at_work else None)(run.name)


def _live(name: str) -> None:
    run = runs.find(name)
    if run is None:
        st.rerun()
    run_head.show(run)
    if run.request is None or run.state == "queued":
        if not run.is_at_work:
            keep.put_away(run)
        _follow(run)
        return
    try:
        run_state.SHOWN_HEAD.fit(runs.configurations(run)[0])
    except HeadlightError as error:
        prose.warning(say("This training cannot be read: {error}.", error=error))
        keep.put_away(run)
        return
    if run.state == "failed":
        doctor.show(run)  # the cause of the failure comes first
    with st.container(key="hl-train-stage"):
        if presenter.PRESENTER.value:  # the heads come first, which are above the curves where there is one column
            right, left = st.columns([7, 5], gap="medium")
        else:
            left, right = st.columns([5, 7], gap="medium")
    with left:
        _curves(run)
    with right:
        _attention(run)
        _heads_over_time(run)
    with left:
        if run.state != "failed":
            doctor.show(run)
        saved = runs.saved_step(run)
        if saved is not None and run.state in RESTING:
            keep.offer(run, saved)
        if not run.is_at_work:
            keep.put_away(run)
    run_state.publish()
    _follow(run)


def _follow(run: Run) -> None:
    """Redraw the whole page when the run's process begins, pauses or ends, since the list shows its state, too."""
    if _TITLE.value != run.title:
        _TITLE.set(run.title)
        st.rerun()


def _curves(run: Run) -> None:
    from headlight.analysis.training.curves import curves_of
    from headlight.figures.curves.training import training_curves

    def drawn() -> "tuple[Figure, Mapping[str, Curve]]":
        curves = curves_of(runs.records(run))
        figure = training_curves(
            {name: curve for name, curve in curves.items() if name not in ("seconds", "tokens_per_second")},
            references=doctor.references(run),
            n_steps=run.n_steps,
            width=NARROWEST[0],
        )
        return figure, curves

    try:
        figure, curves = throttled("train-curves", _seen_of(run), drawn)
    except HeadlightError as error:
        prose.warning(say("The measurements cannot be read: {error}.", error=error))
        return
    smoothing = runs.configurations(run)[1].label_smoothing
    smoothed = (
        say("; training smooths its targets by {smoothing:g}, so its loss is higher", smoothing=smoothing)
        if smoothing
        else ""
    )
    prose.subheading(say("Learning"), say("hover for the numbers{smoothed}", smoothed=smoothed))
    draw_curves(
        figure,
        curves,
        call(curves_of, records_of(run.path, "metrics.jsonl")),
        name=f"{run.name}-curves",
        key=run_state.CURVES,
        view=run_state.in_words,
        model=weights_folder(run.path),
    )
    of_pairs = ("exact-match",) if run.architecture == "encoder_decoder" else ()
    prose.small("", definitions("cross-entropy", "unigram-baseline", "bigram-baseline", "accuracy", *of_pairs))


def _attention(run: Run) -> None:
    """Draw the attention of all heads at the newest weights on a text, and the outputs for it and some others."""
    try:
        examples = run_readings.examples(run)
    except HeadlightError:
        prose.caption(say("The first weights will be available in a moment."))
        return
    if not run_state.TEXT.value and examples:
        run_state.TEXT.set(examples[0])
    run_state.TEXT.text_line(say("Your text"), placeholder=say("Type a text, then press Enter"))
    text = run_state.TEXT.value
    try:
        look = throttled("train-look", (*_seen_of(run), text), lambda: look_at(run, text, examples))
    except HeadlightError as error:
        prose.caption(say("The model is not available yet: {error}.", error=error))
        return
    if look.problem:
        prose.warning(say("This text cannot be read: {error}.", error=look.problem))
    _says(run, look.step, look.samples)
    if look.model_run is not None:
        _overview(run, look.step, text, look.model_run)


@dataclass(frozen=True, kw_only=True)
class Look:
    """The output and the attention of a model after a step."""

    step: int
    samples: list[Sample]
    model_run: "ModelRun | None"  # of the text that a person chose; None where it cannot be read
    problem: Message  # why not


def look_at(run: Run, text: str, examples: Sequence[str]) -> Look:
    """Run the newest weights on a text and on examples; the continuations of a decoder are sampled.

    Raises:
        HeadlightError: there are none.
    """
    from headlight.analysis.training.samples import continuation

    step, is_continued = _newest_loaded(run), run.architecture == "decoder_only"
    source, samples = run_readings.source(run, step), list[Sample]()
    model_run, problem = None, NO_MESSAGE
    for given in dict.fromkeys(filter(None, (text, *examples[: N_SAMPLES - 1]))):
        try:
            read = None if is_continued and given != text else readings.read(source, given)
            output = continuation(*source.load(), given) if is_continued or not read else read.output
        except HeadlightError as error:
            problem = error.message if given == text else problem
            continue
        samples.append((given, output))
        model_run = read if given == text else model_run
    return Look(step=step, samples=samples, model_run=model_run, problem=problem)


def _newest_loaded(run: Run) -> int:
    """Load the newest weights and return their step; another viewer's request may replace them at any time.

    Raises:
        HeadlightError: there are none.
    """
    for is_last in (False, False, True):
        step = run_readings.newest_step(run)
        if step is None:
            break
        try:
            run_readings.source(run, step).load()
            return step
        except HeadlightError:
            if is_last:
                raise
    raise CheckpointError("the first weights will be available in a moment")


def _says(run: Run, step: int, samples: Sequence[Sample]) -> None:
    rows = prose.each(
        "<tr><td><bdi>{}</bdi></td><td>→</td><td><bdi>{}</bdi></td></tr>",
        ((in_a_line(given), output_in_a_line(output) or "∅") for given, output in samples),
    )
    now, then = OUTPUTS[run.architecture]
    label = say(now) if step >= run.step else say(then, step=step)
    prose.html("<div class='hl-label'>{}</div><table class='hl-samples'>{}</table>", label, rows)


def _overview(run: Run, step: int, text: str, model_run: "ModelRun") -> None:
    groups, levels = overviews.of(model_run)
    with st.container(key="hl-train-overview"):
        head_overview(
            Pictures(groups=groups, levels=levels, version=repr((run.name, run_readings.version(run), step, text))),
            run_state.SHOWN_HEAD,
            key=run_state.OVERVIEW,
        )
    prose.small(say(LOOK_FOR))


def _heads_over_time(run: Run) -> None:
    """Draw one measure of every head over the steps, and say which heads specialized."""
    try:
        history, events = throttled("train-history", _seen_of(run), lambda: heads_over_time.history_of(run))
    except HeadlightError as error:
        prose.caption(say("The head measurements cannot be read: {error}.", error=error))
        return
    heads_over_time.draw(
        run,
        history,
        events,
        page="run",
        about=say("one line per head"),
        key=run_state.HEADS_FIGURE,
        chosen=run_state.SHOWN_HEAD.value if run_state.ATTENTION.value else None,
        width=NARROWEST[1],
        seen=_seen_of(run),
    )
    if events:
        sentences = prose.each("<div>{}</div>", map(heads_over_time.appeared, events))
        prose.html("<div class='hl-findings hl-appeared'>{}</div>", sentences)


def _seen_of(run: Run) -> tuple[object, ...]:
    """Return a key that distinguishes views of a training, regardless of its steps."""
    step = run.step if run.state != "running" else None
    return run_readings.version(run), run.state, step, st.context.theme.type, language()
